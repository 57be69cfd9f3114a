/// Auth0's `custom_password_hash`. `ForeignPasswordHash.parse` reads the hashes in Auth0's two
/// other fields, `passwordHash` and `password_hash`.
package struct Auth0PasswordHash: Sendable {
    /// The member `hash` or `salt`, with its `value` and its `encoding` (utf8, base64 or hex).
    package struct Text: Sendable {
        package var value: String
        var encoding: String

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

    var algorithm: String
    package var hash: Text
    package var salt: Text?
    /// The member `password.encoding`.
    package var passwordEncoding: String?
    /// `keylen`. This and the three properties that follow (`cost`, `blockSize`, `parallelization`)
    /// are for scrypt only.
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
    /// Reads argon2 and pbkdf2 as PHC strings, bcrypt as a crypt string, and scrypt with separate
    /// parameters. A text of argon2, pbkdf2 or bcrypt contains its salt. If there is a separate
    /// salt as well, that salt was added to the password, so the hash is refused.
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

    /// Reads scrypt. Missing parameters get Auth0's defaults, which are the defaults of Node.js.
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

/// A credential of type `password` in Keycloak's realm export. The export has `secretData` and
/// `credentialData` as JSON texts.
package struct KeycloakPasswordHash: Sendable {
    /// `secretData.value` in base64. The next property, `salt`, is `secretData.salt` in base64.
    package var value: String
    var salt: String
    /// `credentialData.hashIterations`; the properties that follow are from `credentialData` too.
    var hashIterations: Int
    package var algorithm: String
    package var additionalParameters: [String: [String]]

    package init(
        value: String, salt: String, hashIterations: Int, algorithm: String,
        additionalParameters: [String: [String]] = [:]
    ) {
        self.value = value
        self.salt = salt
        self.hashIterations = hashIterations
        self.algorithm = algorithm
        self.additionalParameters = additionalParameters
    }
}

extension ForeignPasswordHash {
    /// Reads a credential whose algorithm is `pbkdf2` (SHA-1), `pbkdf2-sha256`, `pbkdf2-sha512` or
    /// `argon2`. The parameters of `argon2` are `type` (id, i), `version` (1.3, 1.0), `memory` in
    /// KiB and `parallelism`.
    package static func keycloak(
        _ credential: KeycloakPasswordHash
    ) throws(Refusal) -> ForeignPasswordHash {
        let digests: [String: PBKDF2Parameters.Digest] = [
            "pbkdf2": .sha1, "pbkdf2-sha256": .sha256, "pbkdf2-sha512": .sha512,
        ]
        let function: Function
        if credential.algorithm == "argon2" {
            function = .argon2(try argon2(credential))
        } else if let digest = digests[credential.algorithm] {
            function = .pbkdf2(
                PBKDF2Parameters(digest: digest, iterations: credential.hashIterations))
        } else {
            throw .unknown
        }
        return try ForeignPasswordHash(
            function, salt: ForeignHashReader.bytes(credential.salt),
            hash: ForeignHashReader.bytes(credential.value))
    }

    private static func argon2(
        _ credential: KeycloakPasswordHash
    ) throws(Refusal) -> Argon2Parameters {
        func parameter(_ name: String) throws(Refusal) -> String {
            guard let values = credential.additionalParameters[name], values.count == 1 else {
                throw .malformed
            }
            return values[0]
        }
        let (type, version) = (try parameter("type"), try parameter("version"))
        guard ["id", "i"].contains(type), ["1.3", "1.0"].contains(version) else { throw .unknown }
        guard let kibibytes = ForeignHashReader.number(try parameter("memory")),
            let lanes = ForeignHashReader.number(try parameter("parallelism"))
        else { throw .malformed }
        return Argon2Parameters(
            isHybrid: type == "id", version: version == "1.3" ? 19 : 16, kibibytes: kibibytes,
            passes: credential.hashIterations, lanes: lanes)
    }
}

/// The password hash parameters of a project in Firebase's console. The signer key is a secret of
/// the project. It is used while an import is read, and is not stored.
package struct FirebaseProject: Sendable {
    let signerKey: [UInt8]
    let saltSeparator: [UInt8]
    let parameters: ScryptParameters

    /// Makes the parameters from the values that Firebase's console shows. The signer key and the
    /// salt separator are in base64.
    package init(
        signerKey: String, saltSeparator: String, rounds: Int, memoryCost: Int
    ) throws(ForeignPasswordHash.Refusal) {
        self.signerKey = try ForeignHashReader.bytes(signerKey)
        self.saltSeparator = try ForeignHashReader.bytes(saltSeparator)
        parameters = ScryptParameters(log: memoryCost, blocks: rounds, lanes: 1)
        try parameters.check()
        guard self.signerKey.count >= ForeignHashBounds.leastSignerKey else { throw .tooWeak }
    }
}

extension ForeignPasswordHash {
    /// Reads Firebase's `passwordHash` and `salt`, in the standard or the URL alphabet of base64.
    ///
    /// The hash is the signer key, encrypted with a key that scrypt derives from the password. The
    /// stored text has only the digest of the signer key. To check a password, the hash is
    /// decrypted; the digest shows whether the result is the signer key. The digest of 32 or more
    /// random bytes reveals nothing about them. The stored text depends on none of our keys, so a
    /// rotation of the secret key does not affect it.
    package static func firebase(
        hash: String, salt: String, of project: FirebaseProject
    ) throws(Refusal) -> ForeignPasswordHash {
        let hash = try ForeignHashReader.bytes(hash)
        guard hash.count == project.signerKey.count else { throw .malformed }
        return try ForeignPasswordHash(
            .firebase(project.parameters, digest: SHA256.hash(project.signerKey)),
            salt: ForeignHashReader.bytes(salt) + project.saltSeparator, hash: hash)
    }
}
