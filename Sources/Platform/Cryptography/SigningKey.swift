import COpenSSL

/// An EC P-256 private key that signs with ES256 (RFC 7518 section 3.4).
///
/// `@unchecked`: nothing writes to an EVP_PKEY after its construction, and OpenSSL counts
/// references to it atomically.
package final class SigningKey: @unchecked Sendable {
    private let key: OpaquePointer
    /// The affine coordinates of the public point, 32 bytes each: the members `x` and `y` of its
    /// JWK.
    package let x: [UInt8]
    package let y: [UInt8]

    private init(owning key: OpaquePointer) throws(CryptographyError) {
        guard EVP_PKEY_is_a(key, "EC") == 1,
            let group = PublicKeyData.text(key, OSSL_PKEY_PARAM_GROUP_NAME), group == "prime256v1",
            let x = PublicKeyData.number(key, OSSL_PKEY_PARAM_EC_PUB_X, length: 32),
            let y = PublicKeyData.number(key, OSSL_PKEY_PARAM_EC_PUB_Y, length: 32)
        else {
            EVP_PKEY_free(key)
            throw .badKey
        }
        self.key = key
        self.x = x
        self.y = y
    }

    deinit { EVP_PKEY_free(key) }

    /// Makes a new random key.
    package convenience init() throws(CryptographyError) {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .libraryFailed }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw .libraryFailed }
        try self.init(owning: key)
    }

    /// Reads a private key in PEM without a passphrase, in the form of PKCS #8 or SEC 1.
    package convenience init(pem: String) throws(CryptographyError) {
        let bytes = Array(pem.utf8)
        guard let memory = BIO_new_mem_buf(bytes, Int32(bytes.count)) else { throw .libraryFailed }
        defer { BIO_free(memory) }
        // Without this callback, OpenSSL would ask for a passphrase on the terminal.
        let none:
            @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) ->
                Int32 = {
                    _, _, _, _ in -1
                }
        guard let key = PEM_read_bio_PrivateKey(memory, nil, none, nil) else {
            ERR_clear_error()
            throw .badKey
        }
        try self.init(owning: key)
    }

    /// Returns the signature of the message: 64 bytes, `r || s`.
    package func sign(_ message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .libraryFailed }
        defer { EVP_MD_CTX_free(context) }
        var length = 0
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, nil, &length, message, message.count) == 1
        else { throw .libraryFailed }
        var der = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &der, &length, message, message.count) == 1,
            let raw = ECDSASignature.raw(fromDER: Array(der.prefix(length)))
        else { throw .libraryFailed }
        return raw
    }

    /// Returns the private key as PKCS #8 in PEM. Write it only to a file that no one but its owner
    /// may read.
    package func privatePEM() throws(CryptographyError) -> String {
        try Self.pem { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 }
    }

    /// The key id: the RFC 7638 thumbprint of the public key in base64url.
    package var thumbprint: String {
        let text =
            "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(Base64URL.encode(x))\","
            + "\"y\":\"\(Base64URL.encode(y))\"}"
        return Base64URL.encode(SHA256.hash(Array(text.utf8)))
    }

    /// Returns the public key as a JWK (RFC 7517) with `kid`, `alg` and `use`, and with no private
    /// member.
    package func publicJWK() -> String {
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(Base64URL.encode(x))\","
            + "\"y\":\"\(Base64URL.encode(y))\",\"kid\":\"\(thumbprint)\","
            + "\"alg\":\"ES256\",\"use\":\"sig\"}"
    }

    private static func pem(_ write: (OpaquePointer) -> Bool) throws(CryptographyError) -> String {
        guard let memory = BIO_new(BIO_s_mem()) else { throw .libraryFailed }
        defer { BIO_free(memory) }
        guard write(memory) else { throw .libraryFailed }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = BIO_read(memory, &bytes, Int32(bytes.count))
        guard count > 0 else { throw .libraryFailed }
        return String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
    }
}

/// A signed token in the compact serialization of RFC 7515: three base64url parts with dots between
/// them. The header and the payload are only decoded here; the caller must verify and interpret
/// them.
package struct JWS: Sendable {
    /// The most bytes of a token. A longer one is refused before it is decoded.
    static let lengthLimit = 16 * 1024

    /// The decoded header: JSON text that is not parsed yet.
    package let header: [UInt8]
    package let payload: [UInt8]
    private let signature: [UInt8]
    private let signed: [UInt8]

    /// Decodes a token; `nil` if the text is not in compact form. The signature is not verified.
    package init?(compact text: [UInt8]) {
        guard text.count <= Self.lengthLimit else { return nil }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(Array(parts[0])),
            let payload = Base64URL.decode(Array(parts[1])),
            let signature = Base64URL.decode(Array(parts[2]))
        else { return nil }
        self.header = header
        self.payload = payload
        self.signature = signature
        signed = Array(text[..<(parts[2].startIndex - 1)])
    }

    package func isSigned(by key: VerificationKey) -> Bool {
        key.isValid(signature: signature, over: signed)
    }

    /// Makes an ES256 token. `header` must name `alg` ES256 and the key's `kid`.
    package static func sign(
        header: [UInt8], payload: [UInt8], with key: SigningKey
    ) throws(CryptographyError) -> String {
        let signed = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
    }
}
