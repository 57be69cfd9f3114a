import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/api-keys/verify`, and `/v1/api-keys/verify-batch` for many keys: return whether a key is
/// valid and what it permits.
enum KeyVerificationEndpoints {
    static let all: [Endpoint] = [
        verify, verifyBatch, KeyIdentification.endpoint, IntrospectionEndpoint.endpoint,
    ]

    private static let verify = Endpoint(
        .post, "/v1/api-keys/verify", id: "verifyApiKey", tag: "API keys",
        summary: "Verifies a key. The verdict is `unknown` for every key that the caller may not "
            + "verify.",
        notes: scopeText, access: .principal, body: .json(asked), answers: [.ok(verdictShape)]
    ) { call in
        let finding = try await KeyFinding.of(KeyQuestion(call.input), call)
        return .ok(finding)
    }

    /// Each key gets the same verdict as in a request of its own, and counts as one use.
    private static let verifyBatch = Endpoint(
        .post, "/v1/api-keys/verify-batch", id: "verifyApiKeys", tag: "API keys",
        summary: "Verifies up to 1,000 keys. The verdicts are in the order of the keys.",
        notes: scopeText, access: .principal,
        body: .json(
            ObjectShape(
                "APIKeyVerifications",
                [
                    .required(
                        "keys", .array(of: .object(asked), max: 1000),
                        "The keys to verify, each with the `scopes`, `ip` and `origin` of its "
                            + "use.")
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "APIKeyVerdicts",
                    [
                        .readOnly(
                            "results", .array(of: .object(verdictShape), max: 1000),
                            "One verdict for each key of the request, in the same order.")
                    ]))
        ],
        maxBody: 1 << 20
    ) { call in
        let questions = try call.input.objects("keys").map { try KeyQuestion($0) }
        let findings = try await KeyFinding.of(questions, call)
        return .json(
            bytes: JSONWriter.bytes(reserving: 300 * findings.count) { json in
                json.object { $0.member("results", findings) }
            })
    }

    private static let scopeText = """
        To get a verdict, the caller needs the scope `keys:verify`. A caller of the platform can \
        verify every key, a caller of a tenant only the keys of its tenant. In all other cases, \
        the verdict is `{"valid":false,"code":"unknown"}`, as if the key did not exist.
        """

    private static let asked = ObjectShape(
        "APIKeyVerification",
        [
            .required("key", .string(max: 1024), "The whole secret of the key to verify."),
            .optional(
                "scopes", .array(of: .string(min: 1, max: 100), max: 100),
                "The scopes that the key must have."),
            .nullable(
                "ip", .string(max: 50, rule: address),
                "The address that the key is used from. Without it, a key with `allowed_ips` is "
                    + "not valid."),
            .nullable(
                "origin", .string(max: 300),
                "The browser origin that the key is used from. Without it, a key with "
                    + "`allowed_origins` is not valid."),
        ])

    private static let address = TextRule(detail: "must be an IP address", example: "192.0.2.1") {
        IPAddress($0) != nil
    }

    private static let verdictShape = ObjectShape(
        "APIKeyVerdict",
        [
            .readOnly(
                "valid", .bool,
                "Whether the key may be used now, for the `scopes`, `ip` and `origin` of the "
                    + "request. If false, `code` says why not."),
            .readOnly(
                "code",
                .enumeration(APIKeyVerdict.allCases.filter { $0 != .valid }.map(\.rawValue)),
                always: false,
                "Why the key is not valid; absent if it is. `unknown`: no key has this secret, "
                    + "the key's tenant is deleted, or the caller may not verify the key. "
                    + "`user_suspended`, `user_pending` and `user_deleted` are about the user who "
                    + "owns the key."),
            .readOnly(
                "retry_after", .integer(1...60), always: false,
                "If the key is over its limit per minute: the seconds until it is valid again."),
            .readOnly("key_id", .uuid, always: false, "The key's id; absent if `valid` is false."),
            .readOnly(
                "tenant_id", .uuid, nullable: true, always: false,
                "The id of the tenant that the key belongs to; `null` for a key of the platform, "
                    + "absent if `valid` is false."),
            .readOnly(
                "name", .string(), always: false, "The key's name; absent if `valid` is false."),
            .readOnly(
                "environment", .enumeration(of: APIKeySecret.Environment.self), always: false,
                "Whether the key is for live or for test use; absent if `valid` is false."),
            .readOnly(
                "owner",
                .object(
                    ObjectShape([
                        .readOnly(
                            "type", .enumeration(["user", "tenant", "platform"]),
                            "Whether a user, the tenant or the platform owns the key."),
                        .readOnly(
                            "id", .uuid, nullable: true,
                            "The id of the user or of the tenant that owns the key; `null` for the "
                                + "platform."),
                    ])), always: false, "Who owns the key; absent if `valid` is false."),
            .readOnly(
                "scopes", .array(of: .string()), always: false,
                "All scopes that the key has, not only those that the request asked about; absent "
                    + "if `valid` is false."),
            .readOnly(
                "expires_at", .timestamp, nullable: true, always: false,
                "When the key expires; `null` if it never does, absent if `valid` is false."),
            .readOnly(
                "external_id", .string(), always: false,
                "The id, in the tenant's own system, of the user who owns the key; absent if there "
                    + "is none."),
            .readOnly(
                "attributes", .attributes, always: false,
                "The public attributes of the user who owns the key; absent if no user does."),
        ])
}

/// `/v1/api-keys/identify`: finds the key with a given text, for a person who holds a leaked key.
enum KeyIdentification {
    static let endpoint = Endpoint(
        .post, "/v1/api-keys/identify", id: "identifyApiKey", tag: "API keys",
        summary:
            "Finds the key with this secret, whatever the key's status is. The response is 404 if "
            + "the caller may not list the key. The request is not a use of the key, and the "
            + "secret is not stored.",
        access: .principal,
        body: .json(
            ObjectShape(
                "APIKeyIdentification",
                [
                    .required(
                        "key", .string(min: 1, max: 1024), "The whole secret of the key to find.")
                ])),
        answers: [.ok(shape)], problems: [.notFound]
    ) { call in
        guard let secret = APIKeySecret(try call.input.string("key")),
            let row = try await row(of: secret, call)
        else { throw Problem.notFound("API key") }
        let scope = call.database.scope(row.key.tenantID ?? .platform)
        let leakedAt = try await scope.leakedAt(ofAPIKey: row.key.id)
        return .ok(
            .object([
                .init("id", .uuid(row.key.id)), .init("tenant_id", .uuid(row.key.tenantID)),
                .init("name", .string(row.key.name)),
                .init("status", .string(row.key.status(at: call.now).rawValue)),
                .init("leaked_at", .time(leakedAt)),
            ]))
    }

    private static func row(of secret: APIKeySecret, _ call: Call) async throws -> APIKeyRow? {
        let hash = KeyHash(of: secret.text)
        guard let found = try await call.database.fetchKey(locator: secret.locator, hash: hash)
        else {
            return nil
        }
        let target = PermissionTarget(ownerID: found.ownerUser)
        guard
            Permissions.permits(call.principal.subject, .listKeys, in: found.home, target: target)
                == .allowed
        else { return nil }
        return try await call.database.scope(found.tenant).apiKey(found.id)
    }

    private static let shape = ObjectShape(
        "IdentifiedAPIKey",
        [
            .readOnly("id", .uuid, "The key's id."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant that the key belongs to; `null` for a key of the platform."),
            .readOnly("name", .string(), "The key's name."),
            .readOnly("status", .enumeration(of: APIKey.Status.self), APIKeyRow.statusText),
            .readOnly(
                "leaked_at", .timestamp, nullable: true,
                "When the audit log last recorded that the key was sent in a URL, from which "
                    + "access logs may have stored it; `null` if there is no such record."),
        ])
}

/// A key to verify, and the scopes, address and origin for which it is presented.
package struct KeyQuestion: Sendable {
    /// `nil` if the text does not have the form of a key.
    let secret: (locator: String, hash: KeyHash)?
    var scopes: [String] = []
    var ip: String?
    var origin: String?

    /// A question about a key alone, without a scope, an address or an origin.
    init(_ key: String) { secret = APIKeySecret(key).map { ($0.locator, KeyHash(of: $0.text)) } }

    /// A question without the text of a key, for a caller who has already looked up the key.
    package init() { secret = nil }

    init(_ input: Input) throws {
        self.init(try input.string("key"))
        scopes = input.optionalStrings("scopes") ?? []
        ip = input.optionalString("ip")
        origin = input.optionalString("origin")
    }
}

/// The result of verifying a presented key. If the caller lacks the right to verify keys, the
/// verdict is `unknown` for every key, and no key is looked up. If the caller belongs to a tenant,
/// only keys of that tenant are looked up; the text of a key names the key's tenant.
package struct KeyFinding: JSONView {
    package private(set) var verdict = APIKeyVerdict.unknown
    private(set) var key: PresentedKey?
    /// The number of seconds until a key that has reached its limit per minute is valid again.
    private var retryAfter: Int64?

    /// Verifies one key. If the key is valid, counts a use; if `isLimited` is true, the use also
    /// counts against the key's rate limit.
    static func of(
        _ question: KeyQuestion, isLimited: Bool = true, _ call: Call
    ) async throws -> KeyFinding {
        var finding = KeyFinding()
        if let secret = question.secret, try await mayAsk(of: secret.locator, call) {
            let found = try await call.database.fetchKey(locator: secret.locator, hash: secret.hash)
            finding = KeyFinding(
                found, question, isLimited: isLimited, to: call.principal.subject,
                of: call.database, at: call.now)
        }
        call.application.metrics.record(finding.verdict)
        return finding
    }

    /// Reserves a slot for a batch of verifications. Throws 429 if the caller has reached its limit
    /// of concurrent batches.
    private static func place(of call: Call) throws -> InFlight<UUID?>.Slot {
        let batches = call.application.batches
        do {
            return try batches.enter(call.principal.id)
        } catch {
            throw Problem.rateLimited(
                "\(batches.perKey) batches of this credential are in progress; send fewer at once.",
                retryAfter: 1)
        }
    }

    /// Verifies many keys in one batch, and returns the findings in the order of the questions.
    static func of(_ questions: [KeyQuestion], _ call: Call) async throws -> [KeyFinding] {
        let locator = try await ownLocator(of: call)
        let secrets = questions.map(\.secret).map { secret in
            secret.flatMap { locator.covers($0.locator) ? $0 : nil }
        }
        let asked = secrets.compactMap(\.self)
        // A batch in which no key has to be looked up costs nothing, so it takes no slot.
        let place = asked.isEmpty ? nil : try place(of: call)
        defer { withExtendedLifetime(place) {} }
        var found = try await call.database.fetchKeys(asked).makeIterator()
        return zip(questions, secrets).map { question, secret in
            var finding = KeyFinding()
            if secret != nil, let key = found.next() {
                finding = KeyFinding(
                    key, question, to: call.principal.subject, of: call.database, at: call.now)
            }
            call.application.metrics.record(finding.verdict)
            return finding
        }
    }

    /// The locators of the keys for which the caller may get a verdict other than `unknown`.
    private enum Locators {
        case all, none
        case one(String)

        func covers(_ locator: String) -> Bool {
            switch self {
            case .all: true
            case .none: false
            case .one(let own): sameBytes(own, locator)
            }
        }
    }

    private static func ownLocator(of call: Call) async throws -> Locators {
        let caller = call.principal.subject
        guard Permissions.permits(caller, .verifyKeys, in: caller.tenantID) == .allowed else {
            return .none
        }
        guard let home = caller.tenantID else { return .all }
        let tenant = try await call.database.fetchTenant(home.description)
        return tenant.map { .one($0.locator) } ?? .none
    }

    private static func mayAsk(of locator: String, _ call: Call) async throws -> Bool {
        try await ownLocator(of: call).covers(locator)
    }

    private init() {}

    /// Returns the verdict for the key that was looked up, and counts a use if the key is valid.
    /// `found` is `nil` if no key has the secret.
    package init(
        _ found: PresentedKey?, _ asked: KeyQuestion, isLimited: Bool = true,
        to principal: Principal, of database: Database, at now: Timestamp
    ) {
        let facts = found?.facts(scopes: asked.scopes, ip: asked.ip, origin: asked.origin)
        let outcome = APIKeyVerdict.of(facts, now: now)
        guard let found,
            Permissions.permits(principal, .verifyKeys, in: found.home) == .allowed
        else { return }
        verdict = outcome
        guard outcome == .valid else {
            key = found
            return
        }
        guard !isLimited || database.keyUses.isWithinLimit(found, at: now) else {
            verdict = .rateLimited
            retryAfter = database.secondsOfMinuteLeft
            return
        }
        database.keyUses.note(found, at: now, ip: asked.ip, isVerified: true)
        key = found
    }

    package func write(to json: inout JSONWriter) {
        json.object {
            guard verdict == .valid, let key else {
                $0.member("valid", false)
                $0.member("code", verdict.rawValue)
                if let retryAfter { $0.member("retry_after", Int(retryAfter)) }
                return
            }
            $0.member("valid", true)
            $0.member("key_id", key.id)
            $0.member("tenant_id", key.home)
            $0.member("name", key.name)
            $0.member("environment", key.environment)
            $0.object("owner") {
                $0.member("type", key.ownerType)
                $0.member("id", key.ownerUser ?? key.home)
            }
            $0.member("scopes", key.scopes)
            $0.member("expires_at", key.expiresAt)
            if let id = key.externalID { $0.member("external_id", id) }
            if let attributes = key.attributes { $0.member("attributes", stored: attributes) }
        }
    }
}

extension PresentedKey {
    /// The key's tenant; `nil` for a key of the platform.
    var home: UUID? { tenant == .platform ? nil : tenant }
}
