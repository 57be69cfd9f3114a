import COpenSSL

/// AES-256-GCM for secrets at rest. A sealed text is the name of the secret key (4 bytes), a random
/// nonce (12), the cipher text, the tag (16). The name lets a key be replaced while old texts open.
/// One key must not seal more than 2^32 texts (NIST SP 800-38D section 8.3).
package struct Sealer: Sendable {
    private static let nonceLength = 12
    private static let tagLength = 16
    private static let headerLength = SecretKeys.idLength + nonceLength

    private let keys: DerivedKeys

    package init(_ keys: DerivedKeys) { self.keys = keys }

    /// `context` identifies the secret's row (tenant, column); `open` needs the same.
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

    /// The cipher text followed by the tag.
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
        // One byte more than needed, so that the buffer has an address when the text is empty.
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
