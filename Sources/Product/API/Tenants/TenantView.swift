import Domain
import JSON
import Storage
import Text

extension TenantRow: JSONView {
    /// The tenant as `/v1` shows it.
    func write(to json: inout JSONWriter) { write(to: &json, users: nil) }

    func write(to json: inout JSONWriter, users: ListTotal?) {
        json.object {
            $0.member("id", id)
            $0.member("slug", slug)
            $0.member("name", name)
            $0.member("status", status)
            $0.member("external_id", externalID)
            $0.member("appearance", appearance.json)
            $0.member("public_attributes", stored: attributes.public)
            if !hidesPrivate { $0.member("private_attributes", stored: attributes.private) }
            $0.member("created_at", createdAt)
            $0.member("updated_at", updatedAt)
            guard let users else { return }
            $0.object("users") {
                $0.member("value", users.value)
                $0.member("exact", users.exact)
            }
        }
    }

    var etag: String { ETag.version(version) }

    /// As people, their apps and hooks see it.
    var withoutPrivate: TenantRow {
        var row = self
        row.hidesPrivate = true
        return row
    }

    /// As this caller may see it.
    func seen(by call: Call) -> TenantRow {
        var row = self
        row.hidesPrivate = call.bound(.readTenant) != nil
        return row
    }

    static let shape = ObjectShape("Tenant", fields)
    /// Only the platform's list counts the users.
    static let listedShape = ObjectShape(
        "ListedTenant",
        fields + [
            .readOnly(
                "users",
                .object(
                    ObjectShape([
                        .readOnly("value", .integer(0...Int.max)), .readOnly("exact", .bool),
                    ])), always: false, "For the platform; not exact: at least so many.")
        ])

    private static let fields: [FieldShape] =
        [
            .readOnly("id", .uuid),
            FieldShape(
                "slug", .string(min: 2, max: 63, rule: .slug),
                "Its name in addresses; never given again.", example: .string("acme")),
            FieldShape(
                "name", .string(min: 1, max: 200, rule: .displayName), example: .string("Acme")),
            .readOnly("status", .enumeration(of: Tenant.Status.self)),
            FieldShape(
                "external_id", .externalID, nullable: true,
                "The tenant's id in the platform's own system, compared byte by byte; one tenant "
                    + "for each.",
                example: .string("account-17")),
            Appearance.field,
            .publicAttributes, .privateAttributes,
            .readOnly("created_at", .timestamp),
            .readOnly("updated_at", .timestamp),
        ]
}
