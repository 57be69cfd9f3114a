import CArgon2
import COpenSSL
import Text

extension ForeignPasswordHash {
    /// bcrypt reads no more of a password.
    package static let longestOfBcrypt = 72
    /// libcrypt's limit.
    private static let longestOfSHA512 = 511

    /// False for a password that this hash is not tried with: C's functions stop at a NUL, and HMAC
    /// takes trailing ones for nothing, so that such a password would match the hash of another. The
    /// hash of an empty password admits no one.
    func mayBe(of password: [UInt8]) -> Bool {
        guard !password.isEmpty, !password.contains(0) else { return false }
        switch function {
        case .sha512crypt: return password.count <= Self.longestOfSHA512
        case .bcrypt, .argon2, .scrypt, .pbkdf2, .firebase: return true
        }
    }

    /// Whether the hash knows of this password its first 72 bytes alone: longer ones with the same
    /// beginning are the same to it.
    func isCut(_ password: [UInt8]) -> Bool {
        if case .bcrypt(.none) = function { return password.count >= Self.longestOfBcrypt }
        return false
    }

    /// Whether it is the password's hash; `mayBe` is true. Occupies a core.
    func matches(_ password: [UInt8]) -> Result<Bool, PasswordFault> {
        var derived: [UInt8]?
        switch function {
        case .sha512crypt: return Libcrypt.matches(password, text)
        case .bcrypt(let prehash):
            guard let input = Self.prehashed(password, prehash) else {
                return .failure(.libraryFailed)
            }
            return Libcrypt.matches(input, String(text.dropFirst(prehash.rawValue.count)))
        case .argon2(let parameters): derived = argon2(password, parameters)
        case .scrypt(let parameters): derived = scrypt(password, parameters, count: hash.count)
        case .pbkdf2(let parameters): derived = pbkdf2(password, parameters)
        case .firebase(let parameters, let digest):
            guard let key = scrypt(password, parameters, count: 32), let signer = decrypt(hash, key)
            else { return .failure(.libraryFailed) }
            return .success(constantTimeEqual(SHA256.hash(signer), digest))
        }
        guard let derived else { return .failure(.libraryFailed) }
        return .success(constantTimeEqual(derived, hash))
    }

    private static func prehashed(_ password: [UInt8], _ prehash: Prehash) -> [UInt8]? {
        switch prehash {
        case .none: return Array(password.prefix(longestOfBcrypt))
        case .djangoSHA256: return Array(Hex.encode(SHA256.hash(password)).utf8)
        case .wordpress:
            let key = Array("wp-sha384".utf8)
            var out = [UInt8](repeating: 0, count: 48)
            var count = 0
            guard
                EVP_Q_mac(
                    nil, "HMAC", nil, "SHA384", nil, key, key.count, password, password.count, &out,
                    out.count, &count) != nil, count == out.count
            else { return nil }
            // 48 bytes need no padding.
            return Array(PasswordHash.base64(out).utf8)
        }
    }

    private func argon2(_ password: [UInt8], _ parameters: Argon2Parameters) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: hash.count)
        var (password, salt) = (password, salt)
        let status = out.withUnsafeMutableBufferPointer { out in
            password.withUnsafeMutableBufferPointer { password in
                salt.withUnsafeMutableBufferPointer { salt in
                    var context = argon2_context()
                    context.out = out.baseAddress
                    context.outlen = UInt32(out.count)
                    context.pwd = password.baseAddress
                    context.pwdlen = UInt32(password.count)
                    context.salt = salt.baseAddress
                    context.saltlen = UInt32(salt.count)
                    context.t_cost = UInt32(parameters.passes)
                    context.m_cost = UInt32(parameters.kibibytes)
                    context.lanes = UInt32(parameters.lanes)
                    // One after another: a hash occupies one core, however many lanes it has.
                    context.threads = 1
                    context.version = UInt32(parameters.version)
                    return argon2_ctx(&context, parameters.isHybrid ? Argon2_id : Argon2_i)
                }
            }
        }
        return status == ARGON2_OK.rawValue ? out : nil
    }

    private func scrypt(
        _ password: [UInt8], _ parameters: ScryptParameters, count: Int
    ) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: count)
        // OpenSSL counts its buffers too: r · p · 128 bytes and one block more.
        let most = parameters.memory + parameters.blocks * (parameters.lanes + 2) * 128
        let status = EVP_PBE_scrypt(
            password.map { CChar(bitPattern: $0) }, password.count, salt, salt.count,
            1 << UInt64(parameters.log), UInt64(parameters.blocks), UInt64(parameters.lanes),
            UInt64(most), &out, count)
        return status == 1 ? out : nil
    }

    private func pbkdf2(_ password: [UInt8], _ parameters: PBKDF2Parameters) -> [UInt8]? {
        let digest =
            switch parameters.digest {
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            case .sha512: EVP_sha512()
            }
        var out = [UInt8](repeating: 0, count: hash.count)
        let status = PKCS5_PBKDF2_HMAC(
            password.map { CChar(bitPattern: $0) }, Int32(password.count), salt, Int32(salt.count),
            Int32(parameters.iterations), digest, Int32(out.count), &out)
        return status == 1 ? out : nil
    }

    /// AES-256-CTR from a counter of zero, as Firebase encrypts.
    private func decrypt(_ text: [UInt8], _ key: [UInt8]) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let counter = [UInt8](repeating: 0, count: 16)
        var out = [UInt8](repeating: 0, count: text.count)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex2(context, EVP_aes_256_ctr(), key, counter, nil) == 1,
            EVP_DecryptUpdate(context, &out, &count, text, Int32(text.count)) == 1,
            count == Int32(text.count)
        else { return nil }
        return out
    }
}
