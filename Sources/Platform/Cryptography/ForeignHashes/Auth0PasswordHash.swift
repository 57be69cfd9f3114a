/// Auth0's `custom_password_hash`. Its `passwordHash` and `password_hash` are read by `parse`.
package struct Auth0PasswordHash: Sendable {
    /// `hash` or `salt`: its `value` and `encoding` (utf8, base64, hex).
    package struct Text: Sendable {
        package var value: String
        package var encoding: String

        package init(_ value: String, encoding: String?) {
            self.value = value
            self.encoding = encoding ?? "utf8"
        }

        func bytes() throws(ForeignPasswordHash.Refusal) -> [UInt8] {
            switch encoding {
            case "utf8": return Array(value.utf8)
            case "base64": return try ForeignHashReader.bytes(value)
            case "hex": return try ForeignHashReader.hexBytes(value)
            default: throw .unknown
            }
        }
    }

    package var algorithm: String
    package var hash: Text
    package var salt: Text?
    /// `password.encoding`.
    package var passwordEncoding: String?
    /// Of scrypt alone: `keylen`, `cost`, `blockSize`, `parallelization`.
    package var keyLength: Int?
    package var cost: Int?
    package var blockSize: Int?
    package var parallelization: Int?

    package init(algorithm: String, hash: Text, salt: Text?) {
        self.algorithm = algorithm
        self.hash = hash
        self.salt = salt
    }
}

extension ForeignPasswordHash {
    /// argon2 and pbkdf2 as PHC strings, bcrypt as a crypt string, and scrypt with its parameters
    /// beside it. A salt of the first three would be part of the password, which is not done here.
    package static func auth0(
        _ custom: Auth0PasswordHash
    ) throws(Refusal) -> ForeignPasswordHash {
        guard ["utf8", "ascii", nil].contains(custom.passwordEncoding) else { throw .unknown }
        let prefixes: [String]
        switch custom.algorithm {
        case "argon2": prefixes = ["$argon2i$", "$argon2id$"]
        case "bcrypt": prefixes = Libcrypt.bcryptPrefixes
        case "pbkdf2": prefixes = ["$pbkdf2"]
        case "scrypt": return try auth0Scrypt(custom)
        default: throw .unknown
        }
        guard custom.salt == nil, custom.hash.encoding == "utf8" else { throw .unknown }
        guard prefixes.contains(where: { custom.hash.value.hasPrefix($0) }) else {
            throw .malformed
        }
        return try parse(custom.hash.value)
    }

    /// Auth0's defaults are those of Node.
    private static func auth0Scrypt(
        _ custom: Auth0PasswordHash
    ) throws(Refusal) -> ForeignPasswordHash {
        let hash = try custom.hash.bytes()
        guard let salt = custom.salt, custom.hash.encoding != "utf8",
            custom.keyLength == nil || custom.keyLength == hash.count
        else { throw .malformed }
        return try scrypt(
            custom.cost ?? 16384, custom.blockSize ?? 8, custom.parallelization ?? 1, salt.bytes(),
            hash)
    }
}
