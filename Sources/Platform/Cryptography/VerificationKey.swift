import COpenSSL

/// A public key of a JWK that checks signatures of exactly one algorithm: the token's `alg` never
/// chooses (RFC 8725 section 3.1).
///
/// `@unchecked`: an EVP_PKEY is not written to after construction, and OpenSSL counts its
/// references atomically.
package final class VerificationKey: @unchecked Sendable {
    package enum Algorithm: String, Sendable {
        case es256 = "ES256"
        case rs256 = "RS256"
    }

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

    package func isValid(signature: [UInt8], over message: [UInt8]) -> Bool {
        let form: [UInt8]?
        switch algorithm {
        case .es256: form = ECDSASignature.der(fromRaw: signature)
        case .rs256: form = signature
        }
        guard let form, let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, form, form.count, message, message.count) == 1
    }
}
