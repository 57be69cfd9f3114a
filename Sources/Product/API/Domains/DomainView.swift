import JSON
import Storage

extension DomainRow {
    /// The claim as `/v1` shows it.
    var json: JSONValue {
        let verification = JSONValue.object([
            .init("method", .string(method ?? "dns")), .init("record_name", .string(recordName)),
            .init("record_value", .string(recordValue)),
        ])
        return .object([
            .init("id", .uuid(id)), .init("domain", .string(domain)),
            .init("display", .string(display)), .init("status", .string(status)),
            .init("verification", verification), .init("created_at", .time(createdAt)),
            .init("verified_at", .time(verifiedAt)),
        ])
    }

    /// It changes once at most, from pending to verified.
    var etag: String { ETag.updated(verifiedAt ?? createdAt) }

    static let shape = ObjectShape(
        "Domain",
        [
            .readOnly("id", .uuid),
            FieldShape(
                "domain", .string(min: 1, max: 255, rule: .domain),
                "An email domain; shown as its A-label.", example: .string("example.com")),
            .readOnly("display", .string()),
            .readOnly("status", .enumeration(["pending", "verified"])),
            .readOnly(
                "verification",
                .object(
                    ObjectShape(
                        "DomainVerification",
                        [
                            .readOnly("method", .enumeration(["dns", "operator"])),
                            .readOnly("record_name", .string()),
                            .readOnly("record_value", .string()),
                        ]))),
            .readOnly("created_at", .timestamp),
            .readOnly("verified_at", .timestamp, nullable: true),
        ])
}
