import COpenSSL

/// A public key that verifies signatures of exactly one algorithm. The signed data never chooses
/// the algorithm (RFC 8725 section 3.1).
///
/// `@unchecked`: nothing writes to an EVP_PKEY after its construction, and OpenSSL counts
/// references to it atomically.
package final class VerificationKey: @unchecked Sendable {
    /// The accepted algorithms (RFC 7518 sections 3.3 to 3.5, RFC 8037). `none` and HMAC are not
    /// accepted, because they do not prove who signed.
    package enum Algorithm: String, Sendable, CaseIterable {
        case rs256 = "RS256"
        case rs384 = "RS384"
        case rs512 = "RS512"
        case ps256 = "PS256"
        case ps384 = "PS384"
        case ps512 = "PS512"
        case es256 = "ES256"
        case es384 = "ES384"
        case es512 = "ES512"
        /// EdDSA, with Ed25519 only.
        case eddsa = "EdDSA"

        fileprivate var family: Family {
            switch self {
            case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa
            case .es256: .elliptic(.p256)
            case .es384: .elliptic(.p384)
            case .es512: .elliptic(.p521)
            case .eddsa: .edwards
            }
        }

        /// The digest that the algorithm applies first; `nil` for Ed25519, which hashes by itself.
        fileprivate var digest: OpaquePointer? {
            switch self {
            case .rs256, .ps256, .es256: EVP_sha256()
            case .rs384, .ps384, .es384: EVP_sha384()
            case .rs512, .ps512, .es512: EVP_sha512()
            case .eddsa: nil
            }
        }

        fileprivate var isPSS: Bool { self == .ps256 || self == .ps384 || self == .ps512 }
    }

    /// The elliptic curves of RFC 7518, section 6.2.1.1. Each raw value is the curve's name in that
    /// section.
    package enum Curve: String, Sendable, CaseIterable {
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"

        /// The length of a coordinate in bytes.
        var size: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }

        fileprivate var group: String {
            switch self {
            case .p256: "prime256v1"
            case .p384: "secp384r1"
            case .p521: "secp521r1"
            }
        }

        fileprivate var algorithm: Algorithm {
            switch self {
            case .p256: .es256
            case .p384: .es384
            case .p521: .es512
            }
        }
    }

    fileprivate enum Family: Equatable {
        case rsa, edwards
        case elliptic(Curve)
    }

    let algorithm: Algorithm
    private let key: OpaquePointer

    deinit { EVP_PKEY_free(key) }

    private init(owning key: OpaquePointer, _ algorithm: Algorithm) {
        self.key = key
        self.algorithm = algorithm
    }

    /// Makes an RS256 key from `n` and `e`, both big-endian. Refuses a modulus below 2048 or above
    /// 8192 bits, and an exponent that is even or too small.
    package convenience init(n: [UInt8], e: [UInt8]) throws(CryptographyError) {
        let modulus = Array(n.drop { $0 == 0 })
        guard let first = modulus.first, let last = e.last, last & 1 == 1, e.count <= 8,
            e.drop(while: { $0 == 0 }) != [1]
        else { throw .badKey }
        let bits = modulus.count * 8 - first.leadingZeroBitCount
        guard (2048...8192).contains(bits) else { throw .badKey }
        self.init(
            owning: try PublicKeyData.make("RSA", numbers: [("n", modulus), ("e", e)]), .rs256)
    }

    /// Makes an ES256, ES384 or ES512 key from the point's coordinates, each as long as the curve's
    /// `size`. Refuses a point that is not on the curve.
    package convenience init(
        x: [UInt8], y: [UInt8], on curve: Curve = .p256
    ) throws(CryptographyError) {
        guard x.count == curve.size, y.count == curve.size else { throw .badKey }
        self.init(
            owning: try PublicKeyData.make("EC", group: curve.group, point: [0x04] + x + y),
            curve.algorithm)
    }

    /// Makes an Ed25519 key (RFC 8032) from the point's 32 bytes.
    package convenience init(ed25519 point: [UInt8]) throws(CryptographyError) {
        guard point.count == 32 else { throw .badKey }
        guard let made = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, point, point.count)
        else {
            ERR_clear_error()
            throw .badKey
        }
        self.init(owning: made, .eddsa)
    }

    /// Returns the same key for another algorithm of its key type: an RSA key, for example, can be
    /// used with six algorithms. Returns `nil` for an algorithm of another key type.
    package func checking(_ other: Algorithm) -> VerificationKey? {
        guard other.family == algorithm.family else { return nil }
        guard other != algorithm else { return self }
        guard EVP_PKEY_up_ref(key) == 1 else { return nil }
        return VerificationKey(owning: key, other)
    }

    /// Whether a signature is valid. The signature must have the form that JOSE prescribes, which
    /// is `r || s` for ECDSA.
    package func isValid(signature: [UInt8], over message: [UInt8]) -> Bool {
        guard case .elliptic(let curve) = algorithm.family else {
            return isValid(derSignature: signature, over: message)
        }
        return ECDSASignature.der(fromRaw: signature, half: curve.size)
            .map { isValid(derSignature: $0, over: message) } ?? false
    }

    /// Whether a signature is valid. The signature must have the form that X.509 and WebAuthn
    /// prescribe, which is DER for ECDSA. OpenSSL refuses DER with any other spelling, or with
    /// bytes after its end.
    package func isValid(derSignature form: [UInt8], over message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        var options: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &options, algorithm.digest, nil, key) == 1 else {
            return false
        }
        if algorithm.isPSS {
            // The salt is as long as the hash (RFC 7518 section 3.5).
            guard EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        return EVP_DigestVerify(context, form, form.count, message, message.count) == 1
    }
}

/// Makes OpenSSL's public keys from their numbers, and reads the numbers of a key. Both use the
/// parameter lists of OpenSSL 3.
enum PublicKeyData {
    static func make(
        _ kind: String, numbers: [(name: StaticString, value: [UInt8])] = [], group: String? = nil,
        point: [UInt8] = []
    ) throws(CryptographyError) -> OpaquePointer {
        guard let builder = OSSL_PARAM_BLD_new() else { throw .libraryFailed }
        defer { OSSL_PARAM_BLD_free(builder) }
        // The builder keeps only pointers to the numbers. It copies the numbers when it makes the
        // parameter list, so they must not be freed earlier.
        var held: [OpaquePointer?] = []
        defer { for number in held { BN_free(number) } }
        var built = true
        for (name, value) in numbers {
            let number = BN_bin2bn(value, Int32(value.count), nil)
            held.append(number)
            built = built && OSSL_PARAM_BLD_push_BN(builder, keyName(name), number) == 1
        }
        let parameters = point.withUnsafeBufferPointer { buffer in
            (group ?? "").withCString { text -> UnsafeMutablePointer<OSSL_PARAM>? in
                if group != nil {
                    built =
                        built
                        && OSSL_PARAM_BLD_push_utf8_string(
                            builder, keyName("group"), text, 0) == 1
                        && OSSL_PARAM_BLD_push_octet_string(
                            builder, keyName("pub"), buffer.baseAddress, buffer.count)
                            == 1
                }
                return built ? OSSL_PARAM_BLD_to_param(builder) : nil
            }
        }
        guard let parameters else { throw .libraryFailed }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil) else { throw .libraryFailed }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, Int32(GH_PKEY_PUBLIC_KEY), parameters) == 1,
            let key
        else {
            ERR_clear_error()
            throw .badKey
        }
        return key
    }

    /// Returns a pointer to the name of a parameter. OpenSSL keeps the pointer, so it must stay
    /// valid: the bytes of a Swift String would be freed when the call returns.
    private static func keyName(_ name: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    static func number(_ key: OpaquePointer, _ name: String, length: Int) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else { return nil }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: length)
        return BN_bn2binpad(number, &bytes, Int32(length)) == Int32(length) ? bytes : nil
    }

    static func text(_ key: OpaquePointer, _ name: String) -> String? {
        var text = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_utf8_string_param(key, name, &text, text.count, &length) == 1 else {
            return nil
        }
        return String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// An ECDSA signature in its two forms: DER, which OpenSSL uses, and `r || s`, which JWS uses.
enum ECDSASignature {
    private static let half = 32

    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        var raw = [UInt8](repeating: 0, count: 2 * half)
        let signature = der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_ECDSA_SIG(nil, &cursor, buffer.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let written = raw.withUnsafeMutableBufferPointer { out in
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), out.baseAddress, Int32(half)) > 0
                && BN_bn2binpad(
                    ECDSA_SIG_get0_s(signature), out.baseAddress.map { $0 + half }, Int32(half))
                    > 0
        }
        return written ? raw : nil
    }

    /// Converts `r || s` to DER. `half` is the length of each number in bytes, which depends on the
    /// curve.
    static func der(fromRaw raw: [UInt8], half: Int = half) -> [UInt8]? {
        guard raw.count == 2 * half, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = BN_bin2bn(Array(raw[..<half]), Int32(half), nil)
        let s = BN_bin2bn(Array(raw[half...]), Int32(half), nil)
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        let length = i2d_ECDSA_SIG(signature, nil)
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(length)) { out, count in
            var cursor = out.baseAddress
            count = Int(i2d_ECDSA_SIG(signature, &cursor))
        }
    }
}
