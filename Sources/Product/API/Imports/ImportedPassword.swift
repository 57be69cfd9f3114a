import Cryptography
import JSON
import Text

/// A password's hash as an export has it.
enum ImportedPassword: Sendable, Equatable {
    case none
    /// As `users.password_hash` keeps it.
    case kept(String)
    /// For people.
    case refused(String)

    private static func read(
        _ parse: () throws(ForeignPasswordHash.Refusal) -> ForeignPasswordHash
    ) -> ImportedPassword {
        do throws(ForeignPasswordHash.Refusal) {
            return .kept(try parse().text)
        } catch {
            switch error {
            case .unknown: return .refused("an unknown kind of hash")
            case .malformed: return .refused("a malformed hash")
            case .tooCostly: return .refused("a hash beyond the bounds")
            case .tooWeak: return .refused("a hash that is too weak")
            }
        }
    }

    /// A crypt or PHC string.
    static func reading(_ text: String) -> ImportedPassword {
        read { () throws(ForeignPasswordHash.Refusal) in try ForeignPasswordHash.parse(text) }
    }

    static func clerk(_ digest: String, hasher: String) -> ImportedPassword {
        read { () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.clerk(digest: digest, hasher: hasher)
        }
    }

    /// Auth0's `custom_password_hash`.
    static func auth0(_ fields: ImportFields) -> ImportedPassword {
        func text(_ name: String) -> Auth0PasswordHash.Text? {
            guard let part = fields.fields(name), let value = part.text("value") else { return nil }
            return Auth0PasswordHash.Text(value, encoding: part.text("encoding"))
        }
        guard let algorithm = fields.text("algorithm"), let hash = text("hash") else {
            return .refused("a malformed hash")
        }
        var custom = Auth0PasswordHash(algorithm: algorithm, hash: hash, salt: text("salt"))
        custom.passwordEncoding = fields.fields("password")?.text("encoding")
        func number(_ name: String) -> Int? { fields.text(name).flatMap { Int($0) } }
        custom.keyLength = number("keylen")
        custom.cost = number("cost")
        custom.blockSize = number("blockSize")
        custom.parallelization = number("parallelization")
        return read { [custom] () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.auth0(custom)
        }
    }

    /// A credential of Keycloak, whose data are JSON texts.
    static func keycloak(_ credential: ImportFields) -> ImportedPassword {
        guard let secret = credential.fields("secretData"),
            let data = credential.fields("credentialData"), let value = secret.text("value"),
            let iterations = data.text("hashIterations").flatMap({ Int($0) }),
            let algorithm = data.text("algorithm")
        else { return .refused("a malformed hash") }
        let more = data.object("additionalParameters").map { member in
            (member.name, member.value.array?.compactMap(\.string) ?? [])
        }
        let parameters = Dictionary(more) { first, _ in first }
        return read { () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.keycloak(
                KeycloakPasswordHash(
                    value: value, salt: secret.text("salt") ?? "", hashIterations: iterations,
                    algorithm: algorithm, additionalParameters: parameters))
        }
    }

    /// `project` nil: the import came without the project's parameters.
    static func firebase(
        _ hash: String, salt: String, _ project: FirebaseProject?
    ) -> ImportedPassword {
        guard let project else { return .refused("the parameters of the project are missing") }
        return read { () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.firebase(hash: hash, salt: salt, of: project)
        }
    }
}
