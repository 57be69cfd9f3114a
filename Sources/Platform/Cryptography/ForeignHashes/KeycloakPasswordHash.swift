/// A credential of type `password` in Keycloak's realm export. `secretData` and `credentialData`
/// are JSON texts there.
package struct KeycloakPasswordHash: Sendable {
    /// `secretData.value` and `.salt`, in base64.
    package var value: String
    package var salt: String
    /// `credentialData`.
    package var hashIterations: Int
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
    /// `pbkdf2` (SHA-1), `pbkdf2-sha256`, `pbkdf2-sha512`, and `argon2` with the parameters `type`
    /// (id, i), `version` (1.3, 1.0), `memory` in KiB and `parallelism`.
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
