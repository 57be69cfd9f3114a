import Domain
import JSON
import Storage
import Text

extension APIKeyRow {
    /// Writes the key as `/v1` shows it, without its secret.
    func write(to json: inout JSONWriter, at now: Timestamp) {
        let (ownerType, ownerID): (String, UUID?) =
            switch key.owner {
            case .platform: ("platform", nil)
            case .tenant(let id): ("tenant", id)
            case .user(let id): ("user", id)
            }
        json.object {
            $0.member("id", key.id)
            $0.member("tenant_id", key.tenantID)
            $0.member("name", key.name)
            $0.member("environment", key.environment.rawValue)
            $0.member("prefix", key.current.prefix)
            $0.member("last4", key.current.last4)
            $0.member("previous", key.livePrevious(at: now))
            $0.member("scopes", key.scopes)
            $0.object("owner") {
                $0.member("type", ownerType)
                $0.member("id", ownerID)
            }
            $0.object("created_by") {
                $0.member("type", MakerView.type(createdByType, createdByID))
                $0.member("id", MakerView.id(createdByType, createdByID))
            }
            $0.member("status", key.status(at: now).rawValue)
            $0.member("given_before", key.isGivenBefore && key.leads)
            writeLimits(to: &$0)
            $0.member("last_used_at", key.lastUsedAt)
            $0.member("last_used_ip", key.lastUsedIP)
            $0.member("created_at", key.createdAt)
            $0.member("updated_at", updatedAt)
            $0.member("revoked_at", key.revokedAt ?? key.ownerDeletedAt)
            let withOwner = key.revokedAt == nil && key.ownerDeletedAt != nil
            $0.member("revocation_reason", withOwner ? "owner_deleted" : key.revocationReason)
        }
    }

    private func writeLimits(to json: inout JSONWriter) {
        if let rate = key.ratePerMinute {
            json.object("rate_limit") { $0.member("per_minute", rate) }
        } else {
            json.member("rate_limit", JSONValue.null)
        }
        json.member("note", key.note)
        json.member("expires_at", key.expiresAt)
        json.member("allowed_ips", key.allowedIPs)
        json.member("allowed_origins", key.allowedOrigins)
    }

    func json(at now: Timestamp) -> JSONValue { .written { write(to: &$0, at: now) } }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "APIKey", versioned: true,
        [
            .readOnly("id", .uuid, "The key's id, which stays the same when the secret rotates."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant that the key belongs to; `null` for a key of the platform."),
            FieldShape(
                "name", .string(min: 1, max: 200, rule: .displayName),
                "The key's name, which people see in lists and in the audit log.",
                example: .string("Mail server")),
            .readOnly(
                "environment", .enumeration(of: APIKeySecret.Environment.self),
                "Whether the key is for live or for test use. The secret begins with `gate_live_` "
                    + "or `gate_test_`."),
            .readOnly("prefix", .string(), "The first 12 characters of the current secret."),
            .readOnly("last4", .string(), "The last 4 characters of the current secret."),
            .readOnly(
                "previous", .object(previousShape), nullable: true,
                "The old secret after a rotation, which is valid until `until`; `null` if there is "
                    + "none."),
            FieldShape(
                "scopes", .array(of: .string(min: 1, max: 100), max: 100),
                "What the key may do: the names of management scopes (see `GET /v1/scopes`) and, "
                    + "for a tenant's key, of scopes of the tenant's own catalogue.",
                example: .strings(["users:read"])),
            .readOnly(
                "owner", .object(ownerShape),
                "Who owns the key. A user's key works only while the user is active."),
            .readOnly("created_by", .object(makerShape), "Who created the key."),
            .readOnly("status", .enumeration(of: APIKey.Status.self), statusText),
            .readOnly(
                "given_before", .bool,
                "Whether the key has a scope that is as strong as an admin's rights, and got it "
                    + "from an older version of Gatehouse, which did not check whether the caller "
                    + "may grant the scope. This becomes false when a caller who may grant the "
                    + "key's scopes rotates the key or sends the scopes in a PATCH."),
            .nullable(
                "rate_limit", .object(rateShape),
                "How often the key may be used; `null` if there is no limit. A key that an API key "
                    + "creates gets the limit of its creator by default, and shares it."),
            .nullable(
                "note", .string(max: 1000, rule: .displayName),
                "Your own note about the key; `null` if there is none. It has no effect."),
            .nullable(
                "expires_at", .timestamp,
                "When the key expires; `null` if it never does. A key that an API key creates "
                    + "gets the expiry of its creator by default."),
            FieldShape(
                "allowed_ips", .array(of: .string(min: 1, max: 50), max: 100),
                "The addresses or blocks (CIDR) that the key may be used from; empty for any.",
                example: .strings(["10.0.0.0/8"])),
            FieldShape(
                "allowed_origins", .array(of: .string(min: 1, max: 300), max: 100),
                "The browser origins that the key may be used from; empty for any.",
                example: .strings(["https://app.example.com"])),
            .readOnly(
                "last_used_at", .timestamp, nullable: true,
                "When the key was last used, as a credential or in a successful verification; "
                    + "`null` if never. Uses in the last seconds may be missing."),
            .readOnly(
                "last_used_ip", .string(), nullable: true,
                "The IP address of the last use; `null` if there was no use, or if its address is "
                    + "unknown. For a verification, it is the `ip` that the request stated."),
            .readOnly("created_at", .timestamp, "When the key was created."),
            .readOnly(
                "updated_at", .timestamp,
                "When the key was last changed, rotated or revoked. Uses do not count."),
            .readOnly(
                "revoked_at", .timestamp, nullable: true,
                "When the key was revoked, or else when the user who owns it was deleted; `null` "
                    + "if the key is not revoked and the user is not deleted now."),
            .readOnly(
                "revocation_reason", .string(), nullable: true,
                "Why the key was revoked; `null` if no reason was given, and `owner_deleted` if "
                    + "the key ended only because the user who owns it is deleted."),
        ])

    /// The description of a key's status, wherever a response has it.
    static let statusText =
        "`active`: the key is neither revoked nor expired. `grace`: the same, and the secret from "
        + "before the last rotation still works too. `revoked`: the key was revoked, or the user "
        + "who owns it is deleted. `expired`: `expires_at` has passed. A suspension of the tenant "
        + "or of the user does not show here."

    /// The shape of a key together with its secret. The secret is shown only once.
    static let secretShape = shape.adding(
        "APIKeyWithSecret", [.readOnly("key", .string(), "The secret; never shown again.")])

    /// The shape of a request that creates a key. Only a tenant's key can have an owner that the
    /// request chooses; a key of the platform always belongs to the platform.
    static func creation(isPlatform: Bool) -> ObjectShape {
        let given: [FieldShape] =
            [
                .optional(
                    "environment", .enumeration(of: APIKeySecret.Environment.self),
                    "Whether the key is for live or for test use; `live` if absent. The secret "
                        + "begins with `gate_live_` or `gate_test_`.")
            ]
            + (isPlatform
                ? []
                : [
                    .optional(
                        "owner", .object(givenOwnerShape),
                        "Who will own the key; the tenant if absent.")
                ])
        return shape.adding(nil, given).creating(
            isPlatform ? "PlatformAPIKeyCreation" : "APIKeyCreation", required: ["name", "scopes"])
    }

    private static let previousShape = ObjectShape(
        "PreviousSecret",
        [
            .readOnly("last4", .string(), "The last 4 characters of the old secret."),
            .readOnly("until", .timestamp, "Until when the old secret is valid."),
            .readOnly(
                "last_used_at", .timestamp, nullable: true,
                "When the old secret was last used successfully after the rotation; `null` if it "
                    + "was not."),
            .readOnly(
                "uses", .integer(0...Int.max),
                "How often the old secret was used successfully since the rotation."),
        ])
    private static let ownerShape = ObjectShape(
        "APIKeyOwner",
        [
            .readOnly(
                "type", .enumeration(["user", "tenant", "platform"]),
                "Whether a user, the tenant or the platform owns the key."),
            .readOnly(
                "id", .uuid, nullable: true,
                "The id of the user or of the tenant that owns the key; `null` for the platform."),
        ])
    private static let givenOwnerShape = ObjectShape(
        "APIKeyOwnerChoice",
        [
            .required(
                "type", .enumeration(["user", "tenant"]),
                "Whether a user of the tenant or the tenant itself will own the key."),
            .nullable(
                "id", .uuid,
                "With `user`: the id of the user, which is then required. With `tenant`: the id of "
                    + "the tenant, or absent."),
        ])
    static let makerShape = ObjectShape(
        "APIKeyMaker",
        [
            .readOnly(
                "type", .string(),
                "The kind of creator: `operator`, `user`, `key` (an API key), `command_line` or "
                    + "`system` (Gatehouse itself)."),
            .readOnly(
                "id", .string(), nullable: true,
                "The id of the operator, user or API key; `null` for the command line, and "
                    + "`gatehouse` for Gatehouse itself."),
        ])
    private static let rateShape = ObjectShape(
        "APIKeyRateLimit",
        [
            .required(
                "per_minute", .integer(1...1_000_000),
                "How often the key may be used in each clock minute. Each replica of the server "
                    + "counts separately, so n replicas admit up to n times as many uses.")
        ])
}

extension APIKey.Previous: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("last4", secret.last4)
            $0.member("until", until)
            $0.member("last_used_at", lastUsedAt)
            $0.member("uses", Int(clamping: uses))
        }
    }
}

/// Shows in responses who created an object. The command line acts as an operator that has no row
/// in the database; its type is shown as `command_line`, without an id.
enum MakerView {
    private static func isCommandLine(_ type: String, _ id: String) -> Bool {
        sameBytes(type, "operator") && sameBytes(id, UUID.platform.description)
    }

    static func type(_ type: String, _ id: String) -> String {
        isCommandLine(type, id) ? "command_line" : type
    }

    static func id(_ type: String, _ id: String) -> String? {
        isCommandLine(type, id) ? nil : id
    }
}

/// The response members about a key that was revoked with everything that it created: the number of
/// objects that ended, and the changes that an operator should review.
enum EndedView {
    static let fields: [FieldShape] = [
        .readOnly(
            "ended",
            .object(
                ObjectShape(
                    "EndedWithKey",
                    EndedWithKey.kinds.map { kind in
                        let name = kind.split(separator: "_").joined(separator: " ")
                        return .readOnly(
                            kind, .integer(0...Int.max),
                            "The number of \(name) that this request revoked, deleted or stopped.")
                    })),
            always: false,
            "If the request had `made_by`: how many objects ended together with the keys, by kind."
        ),
        .readOnly(
            "review", .array(of: .object(item)), always: false,
            "If the request had `made_by`: objects that these keys created or changed, that did "
                + "not end, and that can still be in use. Per tenant, at most "
                + "\(EndedWithKey.reviewLimit) are listed; users who are not admins come last."),
        .readOnly(
            "review_total", .integer(0...Int.max), always: false,
            "If the request had `made_by`: the number of all objects to review, including those "
                + "that `review` omits. The audit log contains all of them."),
    ]

    private static let item = ObjectShape(
        "KeyReview",
        [
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the object's tenant; `null` if the object belongs to the platform."),
            .readOnly(
                "type", .string(),
                "The type of the object, for example `user`, `provider` or `client`."),
            .readOnly("id", .string(), "The object's id."),
            .readOnly(
                "name", .string(), "The object's name or email address, as in the audit log."),
            .readOnly(
                "action", .string(),
                "The `action` of the audit event of the last change that one of the keys made, "
                    + "for example `user.created`."),
            .readOnly("at", .timestamp, "When one of the keys last changed the object."),
            .readOnly(
                "act",
                .object(
                    ObjectShape([
                        .readOnly("method", .string(), "The HTTP method of the request."),
                        .readOnly("path", .string(max: 2048), "The path of the request."),
                    ])),
                "The request with which an operator can suspend, revoke, delete or change the "
                    + "object, or read its audit events."),
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
