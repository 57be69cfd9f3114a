import Domain
import JSON
import Storage
import Text

extension APIKeyRow {
    /// The key as `/v1` shows it; never its secret.
    func json(at now: Timestamp) -> JSONValue {
        let (ownerType, ownerID): (String, UUID?) =
            switch key.owner {
            case .platform: ("platform", nil)
            case .tenant(let id): ("tenant", id)
            case .user(let id): ("user", id)
            }
        return .object([
            .init("id", .uuid(key.id)), .init("tenant_id", .uuid(key.tenantID)),
            .init("name", .string(key.name)),
            .init("environment", .string(key.environment.rawValue)),
            .init("prefix", .string(key.current.prefix)),
            .init("last4", .string(key.current.last4)),
            .init("previous", key.livePrevious(at: now)?.json ?? .null),
            .init("scopes", .strings(key.scopes)),
            .init(
                "owner",
                .object([.init("type", .string(ownerType)), .init("id", .uuid(ownerID))])),
            .init(
                "created_by",
                .object([
                    .init("type", .string(createdByType)), .init("id", .string(createdByID)),
                ])),
            .init("status", .string(key.status(at: now).rawValue)),
            .init(
                "rate_limit",
                key.ratePerMinute.map { .object([.init("per_minute", .int($0))]) } ?? .null),
            .init("note", .text(key.note)), .init("expires_at", .time(key.expiresAt)),
            .init("allowed_ips", .strings(key.allowedIPs)),
            .init("allowed_origins", .strings(key.allowedOrigins)),
            .init("last_used_at", .time(key.lastUsedAt)),
            .init("last_used_ip", .text(key.lastUsedIP)),
            .init("created_at", .time(key.createdAt)), .init("updated_at", .time(updatedAt)),
            .init("revoked_at", .time(key.revokedAt)),
            .init("revocation_reason", .text(key.revocationReason)),
        ])
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "APIKey",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid, nullable: true),
            FieldShape("name", .string(min: 1, max: 200), example: .string("Mail server")),
            .readOnly(
                "environment", .enumeration(APIKeySecret.Environment.allCases.map(\.rawValue))),
            .readOnly("prefix", .string(), "The first 12 characters."),
            .readOnly("last4", .string(), "The last 4 characters."),
            .readOnly("previous", .object(previousShape), nullable: true, "Lives until `until`."),
            FieldShape(
                "scopes", .array(of: .string(min: 1, max: 100), max: 100),
                example: .strings(["smtp", "users:read"])),
            .readOnly("owner", .object(ownerShape)), .readOnly("created_by", .object(makerShape)),
            .readOnly("status", .enumeration(APIKey.Status.allCases.map(\.rawValue))),
            .nullable("rate_limit", .object(rateShape)), .nullable("note", .string(max: 1000)),
            .nullable("expires_at", .timestamp),
            FieldShape(
                "allowed_ips", .array(of: .string(min: 1, max: 50), max: 100),
                "Addresses or blocks; none is everywhere.", example: .strings(["10.0.0.0/8"])),
            FieldShape(
                "allowed_origins", .array(of: .string(min: 1, max: 300), max: 100),
                "Browser origins; none is every one.",
                example: .strings(["https://app.example.com"])),
            .readOnly("last_used_at", .timestamp, nullable: true),
            .readOnly("last_used_ip", .string(), nullable: true),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
            .readOnly("revoked_at", .timestamp, nullable: true),
            .readOnly("revocation_reason", .string(), nullable: true),
        ])

    /// With the secret, once.
    static let secretShape = shape.adding(
        "APIKeyWithSecret", [.readOnly("key", .string(), "The secret; never shown again.")])

    /// The body of a creation; the platform's keys have no choice of owner.
    static func creation(isPlatform: Bool) -> ObjectShape {
        let given: [FieldShape] =
            [
                .optional(
                    "environment", .enumeration(APIKeySecret.Environment.allCases.map(\.rawValue)))
            ] + (isPlatform ? [] : [.optional("owner", .object(givenOwnerShape))])
        return shape.adding(nil, given).creating(
            isPlatform ? "PlatformAPIKeyCreation" : "APIKeyCreation", required: ["name", "scopes"])
    }

    private static let previousShape = ObjectShape(
        "PreviousSecret",
        [
            .readOnly("last4", .string()), .readOnly("until", .timestamp),
            .readOnly("last_used_at", .timestamp, nullable: true),
            .readOnly("uses", .integer(0...Int.max)),
        ])
    private static let ownerShape = ObjectShape(
        "APIKeyOwner",
        [
            .readOnly("type", .enumeration(["user", "tenant", "platform"])),
            .readOnly("id", .uuid, nullable: true),
        ])
    private static let givenOwnerShape = ObjectShape(
        "APIKeyOwnerChoice",
        [.required("type", .enumeration(["user", "tenant"])), .nullable("id", .uuid)])
    private static let makerShape = ObjectShape(
        "APIKeyMaker", [.readOnly("type", .string()), .readOnly("id", .string())])
    private static let rateShape = ObjectShape(
        "APIKeyRateLimit", [.required("per_minute", .integer(1...1_000_000))])
}

extension APIKey.Previous {
    fileprivate var json: JSONValue {
        .object([
            .init("last4", .string(secret.last4)), .init("until", .time(until)),
            .init("last_used_at", .time(lastUsedAt)), .init("uses", .int(Int(clamping: uses))),
        ])
    }
}
