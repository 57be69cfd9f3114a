import JSON
import Storage
import Text

extension TenantRow {
    /// The tenant as `/v1` shows it.
    var json: JSONValue {
        .object([
            .init("id", .string(id.description)), .init("slug", .string(slug)),
            .init("name", .string(name)), .init("status", .string(status)),
            .init("created_at", .string(createdAt.description)),
            .init("updated_at", .string(updatedAt.description)),
        ])
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "Tenant",
        [
            .readOnly("id", .uuid),
            FieldShape(
                "slug", .string(min: 2, max: 63, rule: .slug),
                "Its name in addresses; never given again.", example: .string("acme")),
            FieldShape("name", .string(min: 1, max: 200), example: .string("Acme")),
            .readOnly("status", .enumeration(["active", "suspended", "deleted"])),
            .readOnly("created_at", .timestamp),
            .readOnly("updated_at", .timestamp),
        ])
}
