import Domain
import JSON
import Storage

extension DomainRow: JSONView {
    /// The claim as `/v1` shows it.
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("domain", domain)
            $0.member("display", display)
            $0.member("include_subdomains", includeSubdomains)
            $0.member("mode", mode?.rawValue)
            $0.member("role", role?.rawValue)
            $0.member("status", status)
            $0.object("verification") {
                $0.member("method", method ?? "dns")
                $0.member("record_name", recordName)
                $0.member("record_value", recordValue)
                $0.member("lost_at", lostAt)
            }
            $0.member("created_at", createdAt)
            $0.member("verified_at", verifiedAt)
        }
    }

    var etag: String { ETag.updated(changedAt ?? verifiedAt ?? createdAt) }

    static let shape = ObjectShape(
        "Domain",
        [
            .readOnly("id", .uuid),
            FieldShape(
                "domain", .string(min: 1, max: 255, rule: .domain),
                "An email domain; shown as its A-label.", example: .string("example.com")),
            .readOnly("display", .string()),
            .optional(
                "include_subdomains", .bool,
                "Whether addresses at names below the domain are its people too."),
            .nullable(
                "mode", .enumeration(of: TenantDomain.Mode.self),
                "Whether its people join, ask to join, or need an invite; null: as the policy says."
            ),
            .nullable(
                "role", .enumeration(["member", "manager"]),
                "The role of who comes in by the domain; null: the policy's default."),
            .readOnly("status", .enumeration(of: TenantDomain.Status.self)),
            .readOnly(
                "verification",
                .object(
                    ObjectShape(
                        "DomainVerification",
                        [
                            .readOnly("method", .enumeration(of: TenantDomain.Method.self)),
                            .readOnly("record_name", .string()),
                            .readOnly("record_value", .string()),
                            .readOnly("lost_at", .timestamp, nullable: true),
                        ]))),
            .readOnly("created_at", .timestamp),
            .readOnly("verified_at", .timestamp, nullable: true),
        ])

    /// The name and what it covers stay as they were claimed and proved.
    static let change: ObjectShape = {
        var shape = DomainRow.shape
        for index in shape.fields.indices
        where ["domain", "include_subdomains"].contains(shape.fields[index].name) {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("DomainChange")
    }()
}
