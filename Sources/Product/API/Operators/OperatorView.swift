import JSON
import Storage
import Text

extension OperatorRow {
    var json: JSONValue {
        .object([
            .init("id", .uuid(id)), .init("email", .string(email)), .init("name", .text(name)),
            .init("role", .string(role)),
            .init("scope", .object([.init("tenant_id", .uuid(tenant))])),
            .init("status", .string(status)), .init("created_at", .time(createdAt)),
            .init("updated_at", .time(updatedAt)), .init("last_sign_in_at", .time(lastSignInAt)),
        ])
    }

    var etag: String { ETag.version(version) }

    static let roles = ["owner", "admin", "developer", "support", "auditor"]

    static let shape = ObjectShape(
        "Operator",
        [
            .readOnly("id", .uuid), FieldShape("email", .email),
            FieldShape("name", .string(min: 1, max: 200), nullable: true),
            FieldShape("role", .enumeration(roles)),
            FieldShape(
                "scope",
                .object(ObjectShape("OperatorScope", [.nullable("tenant_id", .uuid)])),
                "One tenant, or null for the platform."),
            .readOnly("status", .enumeration(["pending", "active", "suspended"])),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
            .readOnly("last_sign_in_at", .timestamp, nullable: true),
        ])
}
