import COpenSSL
import Synchronization

/// The server's secret key and, during a rotation, the previous one. Both can open sealed texts;
/// only one of them seals new texts.
package final class SecretKeys: Sendable {
    /// A key and its name, which is stored beside everything made with the key.
    package struct Key: Sendable {
        /// The key's name: 4 bytes that are derived from the key, so that the same key has the same
        /// name on every replica.
        package let id: [UInt8]
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            id = SHA256.derive(from: bytes, info: Array("key id".utf8), count: SecretKeys.idLength)
        }
    }

    package static let idLength = 4

    package let current: Key
    package let previous: Key?
    private let previousSeals = Atomic<Bool>(false)

    /// Takes keys of at least 32 bytes each. Returns `nil` if the two keys have the same name,
    /// because they are equal or their names collide by chance (once in 2^32). Another key must
    /// then be chosen.
    package init?(_ current: [UInt8], previous: [UInt8]?) {
        self.current = Key(current)
        self.previous = previous.map(Key.init)
        guard self.previous?.id != self.current.id else { return nil }
    }

    package init(_ current: [UInt8]) {
        self.current = Key(current)
        previous = nil
    }

    /// The key that new texts are sealed with.
    package var sealing: Key { all[0] }

    /// Every key that can open a sealed text. The key that seals new texts is first.
    package var all: [Key] {
        guard let previous else { return [current] }
        return previousSeals.load(ordering: .acquiring)
            ? [previous, current] : [current, previous]
    }

    /// Seals new texts with the key of this name from now on. Returns false if no key has this
    /// name.
    package func seal(with id: [UInt8]) -> Bool {
        guard all.contains(where: { $0.id == id }) else { return false }
        previousSeals.store(id != current.id, ordering: .releasing)
        return true
    }

    /// Derives 32 bytes for one purpose from each key.
    package func derive(_ purpose: String) -> DerivedKeys {
        DerivedKeys(
            secrets: self,
            bytes: Self.each(of: self) {
                SHA256.derive(from: $0, info: Array(purpose.utf8))
            })
    }

    private static func each(
        of keys: SecretKeys, _ derive: ([UInt8]) -> [UInt8]
    ) -> [[UInt8]: [UInt8]] {
        var bytes: [[UInt8]: [UInt8]] = [:]
        for key in keys.all { bytes[key.id] = derive(key.bytes) }
        return bytes
    }
}

/// The keys of one purpose, by the names of the secret keys from which they are derived.
package struct DerivedKeys: Sendable {
    let secrets: SecretKeys
    let bytes: [[UInt8]: [UInt8]]

    /// Derives, from each of the keys here, another key for a narrower purpose or for a single
    /// text.
    package func derive(salt: [UInt8], _ purpose: String) -> DerivedKeys {
        DerivedKeys(
            secrets: secrets,
            bytes: bytes.mapValues {
                SHA256.derive(from: $0, salt: salt, info: Array(purpose.utf8))
            })
    }

    package var sealing: [UInt8] { bytes[secrets.sealing.id] ?? [] }

    package subscript(id: [UInt8]) -> [UInt8]? { bytes[id] }

    /// Returns the HMAC-SHA256 of the message (32 bytes) under the key that seals new texts.
    package func authenticate(_ message: [UInt8]) -> [UInt8] {
        SHA256.authenticate(message, key: sealing)
    }

    /// Returns, for each key, its name (4 bytes) followed by its HMAC of the message (32 bytes).
    /// The sealing key comes first.
    package func named(_ message: [UInt8]) -> [UInt8] {
        secrets.all.flatMap { $0.id + SHA256.authenticate(message, key: bytes[$0.id] ?? []) }
    }

    /// Whether `code` is the first `length` bytes of the HMAC of the message under one of the keys.
    package func made(_ code: [UInt8], of message: [UInt8], length: Int = 32) -> Bool {
        bytes.values.contains {
            constantTimeEqual(code, Array(SHA256.authenticate(message, key: $0).prefix(length)))
        }
    }
}

/// Encrypts secrets that are stored in the database, with AES-256-GCM. A sealed text consists of
/// the name of the secret key (4 bytes), a random nonce (12), the cipher text and the tag (16).
/// Since the name is stored, old texts can still be opened after the key is replaced. One key must
/// not seal more than 2^32 texts (NIST SP 800-38D section 8.3).
package struct Sealer: Sendable {
    private static let nonceLength = 12
    private static let tagLength = 16
    private static let headerLength = SecretKeys.idLength + nonceLength

    private let keys: DerivedKeys

    package init(_ keys: DerivedKeys) { self.keys = keys }

    /// Encrypts a secret. `context` identifies the place where the secret is stored (tenant,
    /// column). To open the sealed text, pass the same context to `open`.
    package func seal(_ plain: [UInt8], context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try seal(plain, with: keys.secrets.sealing, context: context)
    }

    package func seal(
        _ plain: [UInt8], with secret: SecretKeys.Key, context: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        let nonce = RandomBytes.make(Self.nonceLength)
        guard let key = keys[secret.id] else { throw .badKey }
        let text = try Self.seal(plain, key: key, nonce: nonce, associated: context)
        return secret.id + nonce + text
    }

    package func open(_ sealed: [UInt8], context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard sealed.count >= Self.headerLength + Self.tagLength,
            let key = keys[Array(sealed.prefix(SecretKeys.idLength))]
        else { throw .notAuthentic }
        return try Self.open(
            Array(sealed[Self.headerLength...]), key: key,
            nonce: Array(sealed[SecretKeys.idLength..<Self.headerLength]), associated: context)
    }

    /// Returns the cipher text followed by the tag.
    static func seal(
        _ plain: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_CIPHER_CTX_new() else { throw .libraryFailed }
        defer { EVP_CIPHER_CTX_free(context) }
        var out = [UInt8](repeating: 0, count: plain.count + tagLength)
        var count: Int32 = 0
        var written: Int32 = 0
        guard EVP_EncryptInit_ex2(context, EVP_aes_256_gcm(), key, nonce, nil) == 1,
            EVP_EncryptUpdate(context, nil, &count, associated, Int32(associated.count)) == 1,
            EVP_EncryptUpdate(context, &out, &written, plain, Int32(plain.count)) == 1
        else { throw .libraryFailed }
        let finished = out.withUnsafeMutableBufferPointer { buffer in
            let tag = buffer.baseAddress.map { $0 + plain.count }
            return EVP_EncryptFinal_ex(context, tag, &count) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), tag) == 1
        }
        guard finished, written == Int32(plain.count) else { throw .libraryFailed }
        return out
    }

    static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        guard sealed.count >= tagLength else { throw .notAuthentic }
        guard let context = EVP_CIPHER_CTX_new() else { throw .libraryFailed }
        defer { EVP_CIPHER_CTX_free(context) }
        let length = sealed.count - tagLength
        var tag = Array(sealed[length...])
        // The buffer has one byte more than needed, so that it has an address when the text is
        // empty.
        var out = [UInt8](repeating: 0, count: length + 1)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex2(context, EVP_aes_256_gcm(), key, nonce, nil) == 1,
            EVP_DecryptUpdate(context, nil, &count, associated, Int32(associated.count)) == 1,
            EVP_DecryptUpdate(context, &out, &count, sealed, Int32(length)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagLength), &tag) == 1
        else { throw .libraryFailed }
        var last = [UInt8](repeating: 0, count: 16)
        guard EVP_DecryptFinal_ex(context, &last, &count) == 1 else { throw .notAuthentic }
        return Array(out.prefix(length))
    }
}
