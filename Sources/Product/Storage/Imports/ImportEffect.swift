import Domain
import JSON
import Postgres
import Text

/// What an import set that a known user did not have.
struct ImportedSecrets: Sendable {
    var password = false
    var proof = false
    /// The user waited for a first sign-in.
    var activation = false
}

/// What an undo of one row needs.
enum ImportEffect: Sendable {
    case created
    /// The user before the import; what it set; the identities that it linked; the user's version
    /// after it.
    case updated(UserRow, secrets: ImportedSecrets, identities: [UUID], version: Int)

    var document: JSONValue {
        switch self {
        case .created: .object([.init("created", .bool(true))])
        case .updated(let user, let secrets, let identities, let version):
            .object([
                .init("version", .int(version)),
                .init("name", user.name.map(JSONValue.string) ?? .null),
                .init("role", .string(user.role.rawValue)),
                .init("keep", .bool(user.isKept)),
                .init("external_id", user.externalID.map(JSONValue.string) ?? .null),
                .init("public_attributes", .string(user.attributes.public.text)),
                .init("private_attributes", .string(user.attributes.private.text)),
                .init("password", .bool(secrets.password)), .init("proof", .bool(secrets.proof)),
                .init("activation", .bool(secrets.activation)),
                .init("signed_in", user.lastSignInAt.map { .string($0.description) } ?? .null),
                .init("identities", .array(identities.map { .string($0.description) })),
            ])
        }
    }
}
