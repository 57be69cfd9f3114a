import Domain
import JSON
import Storage
import Text

extension UserRow {
    /// The user as `/v1` shows it.
    var json: JSONValue {
        .object([
            .init("id", .uuid(id)), .init("tenant_id", .uuid(tenant)),
            .init("email", .string(email)), .init("email_verified_at", .time(emailVerifiedAt)),
            .init("name", .text(name)), .init("role", .string(role)),
            .init("status", .string(status)), .init("source", .string(source)),
            .init("identities", .array(identities.map(\.json))),
            .init("created_at", .time(createdAt)), .init("updated_at", .time(updatedAt)),
            .init("last_sign_in_at", .time(lastSignInAt)),
        ])
    }

    var etag: String { ETag.version(version) }

    static let roles = UserRole.allCases.map(\.rawValue)
    static let statuses = User.Status.allCases.map(\.rawValue)

    static let shape = ObjectShape(
        "User",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid),
            FieldShape("email", .email, "As it was typed.", example: .string("ada@example.com")),
            .readOnly("email_verified_at", .timestamp, nullable: true),
            FieldShape(
                "name", .string(min: 1, max: 200), nullable: true, example: .string("Ada")),
            .optional("role", .enumeration(roles), "`member` when absent."),
            .readOnly("status", .enumeration(statuses)),
            .readOnly("source", .enumeration(User.Source.allCases.map(\.rawValue))),
            .readOnly("identities", .array(of: .object(IdentityRow.shape))),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
            .readOnly("last_sign_in_at", .timestamp, nullable: true),
        ])

    /// The address does not change here: another one has to be proved first.
    static let change: ObjectShape = {
        var shape = UserRow.shape
        for index in shape.fields.indices where shape.fields[index].name == "email" {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("UserChange")
    }()
}

extension IdentityRow {
    var json: JSONValue {
        .object([
            .init("id", .uuid(id)), .init("provider", .string(provider)),
            .init("issuer", .string(issuer)), .init("subject", .string(subject)),
            .init("email", .text(email)), .init("created_at", .time(createdAt)),
            .init("last_used_at", .time(lastUsedAt)),
        ])
    }

    static let providers = ProviderKind.allCases.map(\.rawValue)

    static let shape = ObjectShape(
        "Identity",
        [
            .readOnly("id", .uuid),
            FieldShape("provider", .enumeration(providers), "The provider's kind."),
            FieldShape(
                "issuer", .string(min: 1, max: 512),
                example: .string("https://accounts.google.com")),
            FieldShape(
                "subject", .string(min: 1, max: 255), "The provider's own name of the person.",
                example: .string("110169484474386276334")),
            .nullable("email", .email),
            .readOnly("created_at", .timestamp),
            .readOnly("last_used_at", .timestamp, nullable: true),
        ])
}

extension UserSessionRow {
    /// `current`: the session that asks, if one does.
    func json(current: UUID?) -> JSONValue {
        .object([
            .init("id", .uuid(id)), .init("user_id", .uuid(user)),
            .init("client", .string(client)), .init("device", .text(device)),
            .init("created_at", .time(createdAt)), .init("last_seen_at", .time(lastSeenAt)),
            .init("ip", .text(ip)), .init("user_agent", .text(userAgent)),
            .init("current", .bool(id == current)),
        ])
    }

    static let shape = ObjectShape(
        "UserSession",
        [
            .readOnly("id", .uuid), .readOnly("user_id", .uuid),
            .readOnly("client", .string()), .readOnly("device", .string(), nullable: true),
            .readOnly("created_at", .timestamp), .readOnly("last_seen_at", .timestamp),
            .readOnly("ip", .string(), nullable: true),
            .readOnly("user_agent", .string(max: 1024), nullable: true),
            .readOnly("current", .bool, "Whether it is the one that asks."),
        ])
}
