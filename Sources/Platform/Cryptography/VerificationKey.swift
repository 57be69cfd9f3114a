import COpenSSL

/// A public key that checks signatures of exactly one algorithm: what is signed never chooses (RFC
/// 8725 section 3.1).
///
/// `@unchecked`: an EVP_PKEY is not written to after construction, and OpenSSL counts its
/// references atomically.
package final class VerificationKey: @unchecked Sendable {
    package enum Algorithm: String, Sendable {
        case es256 = "ES256"
        case rs256 = "RS256"
        /// Ed25519; passkeys alone use it.
        case eddsa = "EdDSA"
    }

    /// The algorithms of id tokens.
    package static let ofTokens: [Algorithm] = [.es256, .rs256]

    package let algorithm: Algorithm
    private let key: OpaquePointer

    deinit { EVP_PKEY_free(key) }

    /// RS256 from `n` and `e`, big-endian. Refuses moduli below 2048 or above 8192 bits and even
    /// or tiny exponents.
    package init(n: [UInt8], e: [UInt8]) throws(CryptographyError) {
        let modulus = Array(n.drop { $0 == 0 })
        guard let first = modulus.first, let last = e.last, last & 1 == 1, e.count <= 8,
            e.drop(while: { $0 == 0 }) != [1]
        else { throw .badKey }
        let bits = modulus.count * 8 - first.leadingZeroBitCount
        guard (2048...8192).contains(bits) else { throw .badKey }
        key = try PublicKeyData.make(
            "RSA",
            numbers: [("n", modulus), ("e", e)])
        algorithm = .rs256
    }

    /// ES256 from the point's coordinates, 32 bytes each. Refuses a point off the curve.
    package init(x: [UInt8], y: [UInt8]) throws(CryptographyError) {
        guard x.count == 32, y.count == 32 else { throw .badKey }
        key = try PublicKeyData.make("EC", group: "prime256v1", point: [0x04] + x + y)
        algorithm = .es256
    }

    /// Ed25519 (RFC 8032) from the point's 32 bytes.
    package init(ed25519 point: [UInt8]) throws(CryptographyError) {
        guard point.count == 32 else { throw .badKey }
        guard let made = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, point, point.count)
        else {
            ERR_clear_error()
            throw .badKey
        }
        key = made
        algorithm = .eddsa
    }

    /// In the form of JOSE, where an ES256 signature is `r || s`.
    package func isValid(signature: [UInt8], over message: [UInt8]) -> Bool {
        guard algorithm == .es256 else { return isValid(derSignature: signature, over: message) }
        return ECDSASignature.der(fromRaw: signature)
            .map { isValid(derSignature: $0, over: message) } ?? false
    }

    /// In the form of X.509 and WebAuthn, where an ES256 signature is DER: OpenSSL refuses another
    /// spelling of it and bytes after it.
    package func isValid(derSignature form: [UInt8], over message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        // Ed25519 hashes by itself.
        let digest = algorithm == .eddsa ? nil : EVP_sha256()
        return EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1
            && EVP_DigestVerify(context, form, form.count, message, message.count) == 1
    }
}
