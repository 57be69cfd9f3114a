import JSON
import Storage
import Text

/// What ended with a key and all that it made, and what is to be looked at.
enum EndedView {
    static let fields: [FieldShape] = [
        .readOnly(
            "ended",
            .object(
                ObjectShape(
                    "EndedWithKey",
                    EndedWithKey.kinds.map { kind in
                        let name = kind.split(separator: "_").joined(separator: " ")
                        return .readOnly(kind, .integer(0...Int.max), "How many \(name) ended.")
                    })),
            always: false, "With `made_by`: how many of each ended."),
        .readOnly(
            "review", .array(of: .object(item)), always: false,
            "With `made_by`: what those keys did that is in use; it stays until an operator acts. At most "
                + "\(EndedWithKey.reviewLimit) of each tenant: users who are no admins come last."),
        .readOnly(
            "review_total", .integer(0...Int.max), always: false,
            "With `made_by`: how many there are; the audit has all of them."),
    ]

    private static let item = ObjectShape(
        "KeyReview",
        [
            .readOnly("tenant_id", .uuid, nullable: true, "Null: the platform's own."),
            .readOnly("type", .string(), "Such as `user`, `provider`, `client`."),
            .readOnly("id", .string()), .readOnly("name", .string()),
            .readOnly("action", .string(), "What was done last, as the audit says it."),
            .readOnly("at", .timestamp),
            .readOnly(
                "act",
                .object(
                    ObjectShape([
                        .readOnly("method", .string()), .readOnly("path", .string(max: 2048)),
                    ])), "The call that takes it out of use, or shows it."),
        ])

    static func members(_ ended: EndedWithKey) -> [JSONValue.Member] {
        [
            .init(
                "ended",
                .object(
                    EndedWithKey.kinds.map { .init($0, .int(ended.counts[$0] ?? 0)) })),
            .init("review", .array(ended.review.map(view))),
            .init("review_total", .int(ended.reviewTotal)),
        ]
    }

    private static func view(_ item: EndedWithKey.Item) -> JSONValue {
        let (method, path) = act(item)
        return .object([
            .init("tenant_id", item.tenant == .platform ? .null : .uuid(item.tenant)),
            .init("type", .string(item.type)), .init("id", .string(item.id)),
            .init("name", .string(item.name)), .init("action", .string(item.action)),
            .init("at", .time(item.at)),
            .init(
                "act",
                .object([.init("method", .string(method)), .init("path", .string(path))])),
        ])
    }

    private static func act(_ item: EndedWithKey.Item) -> (method: String, path: String) {
        let tenant = "/v1/tenants/\(item.tenant)"
        let home = item.tenant == .platform ? "/v1" : tenant
        return switch item.type {
        case "user": ("POST", "\(tenant)/users/\(item.id)/suspend")
        case "operator": ("DELETE", "/v1/operators/\(item.id)")
        case "api_key": ("POST", "\(home)/api-keys/\(item.id)/revoke")
        case "provider": ("DELETE", "/v1/providers/\(item.id)")
        case "cors_origin": ("DELETE", "\(home)/cors-origins/\(item.id)")
        case "domain": ("DELETE", "\(tenant)/domains/\(item.id)")
        case "client": ("PUT", "\(tenant)/clients/\(item.name)")
        case "policy": ("PUT", "\(tenant)/policy")
        case "attribute_schema": ("PUT", "\(tenant)/attribute-schema")
        default: ("GET", "\(home)/audit-events?target=\(item.id)")
        }
    }
}
