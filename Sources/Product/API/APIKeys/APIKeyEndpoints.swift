import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/api-keys` and `/v1/api-keys`: the credentials of programs.
package enum APIKeyEndpoints {
    package static let all: [Endpoint] =
        endpoints(.tenant) + endpoints(.platform) + [revokeMany] + KeyVerificationEndpoints.all

    private static func endpoints(_ collection: APIKeyCollection) -> [Endpoint] {
        [
            list(collection), create(collection), get(collection), uses(collection),
            update(collection), revoke(collection),
        ]
            + APIKeyRotationEndpoints.endpoints(collection)
    }

    private static func list(_ collection: APIKeyCollection) -> Endpoint {
        Endpoint(
            .get, collection.path, id: collection.operation("list", "ApiKeys"), tag: "API keys",
            summary: "Lists the API keys, newest first, including revoked ones.",
            access: collection.access(.listKeys),
            query: QueryParameter.list(
                sorts: ["-created_at", "created_at", "name", "-name"])
                + APIKeyFilter.parameters,
            answers: [.list(APIKeyRow.shape)], mayLag: true
        ) { call in
            let list = try call.listQuery()
            guard let filter = try await APIKeyFilter(call.listFilter, call, collection) else {
                return call.list([], next: nil, total: Total(0))
            }
            return call.list(try await collection.scope(call).apiKeys(list, filter)) {
                $0.write(to: &$1, at: call.now)
            }
        }
    }

    /// Returns the member `owner_user_id`. If that user was merged into another one, returns the id
    /// of the user who remains.
    static func owner(
        in input: Input, of call: Call, _ collection: APIKeyCollection
    ) async throws -> UUID? {
        let owner = input.optionalUUID("owner_user_id")
        return collection.isPlatform ? owner : try await call.survivor(of: owner)
    }

    private static func create(_ collection: APIKeyCollection) -> Endpoint {
        Endpoint(
            .post, collection.path, id: collection.operation("create"), tag: "API keys",
            summary: "Creates a key. The response contains its secret, which is never shown again.",
            access: collection.access(.writeKeys),
            body: .json(APIKeyRow.creation(isPlatform: collection.isPlatform)),
            answers: [
                .created(APIKeyRow.secretShape).showing([
                    "last_used_at": .some(.null), "last_used_ip": .some(.null),
                ])
            ], idempotent: true, secret: true
        ) { call in
            let scope = try collection.scope(call)
            let owner = try await owner(of: call, collection)
            let environment =
                call.input.optionalString("environment")
                .flatMap { APIKeySecret.Environment(rawValue: $0) } ?? .live
            guard let locator = try await scope.keyLocator(),
                let secret = APIKeySecret.make(environment: environment, locator: locator)
            else { throw Problem.notFound("tenant") }
            let blank = APIKey(
                id: .random(), tenantID: try collection.tenantID(call), owner: owner, name: "",
                environment: environment, current: secret.stored, createdAt: call.now)
            var input = APIKeyInput(call, tenant: try collection.tenantID(call))
            let key = try input.applied(to: blank, catalogue: try await collection.catalogue(call))
            let row = try await scope.change(by: call.actor) { change in
                guard let caller = CallingKey(call.principal) else {
                    return try await change.insertAPIKey(key)
                }
                let maker = try await caller.held(in: change)
                return try await change.insertAPIKey(
                    try KeyBounding.bounded(key, by: maker.key) {
                        call.input.has($0.rawValue)
                    })
            }
            var answer = Response.created(
                row.json(at: call.now).revealing(secret),
                at: try collection.location(call, row.key.id),
                etag: row.etag)
            answer.set("cache-control", "no-store")
            return answer
        }
    }

    /// The owner of the new key. For a tenant's key, this is the owner in the body or, by default,
    /// the tenant. A key of the platform always belongs to the platform.
    private static func owner(of call: Call, _ collection: APIKeyCollection) async throws
        -> APIKey.Owner
    {
        guard let tenant = try collection.tenantID(call) else { return .platform }
        var owner = APIKey.Owner.tenant(tenant)
        if let given = call.input.optionalObject("owner") {
            let id = given.optionalUUID("id")
            if given.optionalString("type") == "user" {
                guard let id = try await call.survivor(of: id), try await call.scope.mayOwnKeys(id)
                else {
                    throw Problem.invalid([
                        FieldError(
                            "/owner/id", .invalid,
                            "must be a user of the tenant who is not deleted")
                    ])
                }
                owner = .user(id)
            } else if let id, id != tenant {
                throw Problem.invalid([
                    FieldError("/owner/id", .invalid, "must be the tenant's id, or absent")
                ])
            }
        }
        guard try collection.permits(call, .writeKeys, owner: owner) else {
            throw Problem.forbidden("The credential may create keys for its own user only.")
        }
        try await collection.requireHolding(owner, call)
        return owner
    }

    private static func get(_ collection: APIKeyCollection) -> Endpoint {
        Endpoint(
            .get, "\(collection.path)/{id}", id: collection.operation("get"), tag: "API keys",
            summary: "Returns one key, without its secret.", access: collection.access(.listKeys),
            answers: [.ok(APIKeyRow.shape)]
        ) { call in
            guard let row = try await collection.scope(call).apiKey(call.id()) else {
                throw Problem.notFound("API key")
            }
            try collection.require(call, .listKeys, row.key)
            return .ok(row.json(at: call.now), etag: row.etag)
        }
    }

    private static func uses(_ collection: APIKeyCollection) -> Endpoint {
        Endpoint(
            .get, "\(collection.path)/{id}/uses", id: collection.operation("list", "ApiKeyUses"),
            tag: "API keys",
            summary: "Returns how often the key was used successfully on each of the last 30 days "
                + "(UTC), today last.",
            access: collection.access(.listKeys),
            answers: [
                .ok(
                    ObjectShape(
                        "APIKeyUses",
                        [
                            .readOnly(
                                "items",
                                .array(
                                    of: .object(
                                        ObjectShape([
                                            .readOnly(
                                                "at", .timestamp, "When the day begins (UTC)."),
                                            .readOnly(
                                                "uses", .integer(0...Int.max),
                                                "How often the key was used successfully on the "
                                                    + "day."),
                                        ]))),
                                "One item for each of the last 30 days, today last; days without "
                                    + "a use are included.")
                        ]))
            ]
        ) { call in
            let scope = try collection.scope(call)
            let id = try call.id()
            guard let row = try await scope.apiKey(id) else { throw Problem.notFound("API key") }
            try collection.require(call, .listKeys, row.key)
            let days = try await scope.uses(ofAPIKey: id, days: 30).map { day in
                JSONValue.object([.init("at", .time(day.at)), .init("uses", .int(day.uses))])
            }
            return .ok(.object([.init("items", .array(days))]))
        }
    }

    private static func update(_ collection: APIKeyCollection) -> Endpoint {
        Endpoint(
            .patch, "\(collection.path)/{id}", id: collection.operation("update"), tag: "API keys",
            summary:
                "Changes a key's name, scopes, rate limit, expiry or note, or the addresses and "
                + "origins it may be used from.",
            access: collection.access(.writeKeys),
            body: .json(APIKeyRow.shape.patching("APIKeyChange")),
            answers: [.ok(APIKeyRow.shape)], problems: [.conflict], ifMatch: .honoured,
            exists: { try await collection.exists($0) },
            handle: { call in
                let catalogue = try await collection.catalogue(call)
                let tenant = try collection.tenantID(call)
                let row = try await collection.change(call, .writeKeys, action: .apiKeyUpdated) {
                    row, now in
                    try call.input.checkRepeated(against: row.json(at: call.now))
                    var input = APIKeyInput(call, tenant: tenant)
                    var next = try input.applied(to: row.key, catalogue: catalogue)
                    let subject = call.principal.subject
                    if call.input.has("scopes"),
                        Permissions.scopesBeyond(subject, asked: next.scopes, in: tenant).isEmpty
                    {
                        next.isGivenBefore = false
                    }
                    if next != row.key, row.key.isRevoked {
                        throw Problem(.conflict, "The key is revoked.")
                    }
                    if !row.key.bounds.exceeded(by: next.bounds, countsCatalogue: true).isEmpty {
                        try call.requireRecentSignIn(for: "A wider key")
                        return (next, isStronger: true)
                    }
                    return (next, isStronger: false)
                }
                return .ok(row.json(at: call.now), etag: row.etag)
            })
    }

    private static func revoke(_ collection: APIKeyCollection) -> Endpoint {
        Endpoint(
            .post, "\(collection.path)/{id}/revoke", id: collection.operation("revoke"),
            tag: "API keys",
            summary: "Revokes a key at once and permanently. Revoking it again without `made_by` "
                + "changes nothing.",
            access: collection.access(.revokeKeys),
            body: .json(
                ObjectShape(
                    "APIKeyRevocation",
                    [
                        .nullable(
                            "reason", .string(max: 500, rule: .displayName),
                            "The reason, shown in the list and in the audit log."),
                        .optional(
                            "made_by", .bool,
                            "Whether to also revoke all keys that were created with this key, "
                                + "directly or through other keys. The jobs of these keys stop. "
                                + "Their hook credentials and most of their links end, and so do "
                                + "their invites that are not accepted and their operators who "
                                + "never signed in. "
                                + "In the response, `review` lists objects that can still be in "
                                + "use."),
                    ])),
            answers: [.ok(APIKeyRow.shape.adding("APIKeyRevoked", EndedView.fields))],
            idempotent: true,
            exists: { try await collection.exists($0) },
            handle: { call in
                let reason = call.input.optionalString("reason")
                if call.input.flag("made_by") {
                    let (row, ended) = try await revokeWithMade(call, collection, reason)
                    let members = row.json(at: call.now).members ?? []
                    return .ok(.object(members + EndedView.members(ended)), etag: row.etag)
                }
                let row = try await collection.change(call, .revokeKeys, action: .apiKeyRevoked) {
                    ($0.key.revoked(at: $1, reason: reason), isStronger: false)
                }
                return .ok(row.json(at: call.now), etag: row.etag)
            })
    }

    /// Revokes the key that the path names, and everything that this key created, including other
    /// keys. The caller must have the right to revoke every one of these keys. Otherwise throws 403
    /// and revokes nothing.
    private static func revokeWithMade(
        _ call: Call, _ collection: APIKeyCollection, _ reason: String?
    ) async throws -> (APIKeyRow, EndedWithKey) {
        let id = try call.id()
        let kinds = JobKinds.all
        return try await collection.scope(call).change(by: call.actor) { change in
            let row = try await change.lockAPIKey(id)
            try collection.require(call, .revokeKeys, row.key)
            try call.requireMatch(row.etag)
            let ended = try await change.revokeWithMade(
                row, reason: reason
            ) { made in
                guard try collection.permits(call, .revokeKeys, owner: made.key.owner) else {
                    throw Problem.forbidden(
                        "The key made keys that the credential may not revoke; nothing was "
                            + "revoked.")
                }
            } ended: { change, job in
                try await kinds.named(job.kind)?.ended(change, job)
            }
            return (try await change.lockAPIKey(id), ended)
        }
    }

    private static let revokeMany = Endpoint(
        .post, "\(APIKeyCollection.tenant.path)/revoke", id: "revokeApiKeys", tag: "API keys",
        summary: "Revokes all keys of a user, or all keys of the tenant, at once.",
        access: .own(.revokeKeys),
        body: .json(
            ObjectShape(
                "APIKeysRevocation",
                [
                    .optional(
                        "owner_user_id", .uuid,
                        "The user whose keys are revoked; all keys of the tenant if absent."),
                    .required(
                        "reason", .string(min: 1, max: 500, rule: .displayName),
                        "The reason, shown in the list and in the audit log."),
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "APIKeysRevoked",
                    [
                        .readOnly(
                            "revoked", .integer(0...Int.max),
                            "The number of keys that this request revoked. Keys that were revoked "
                                + "before do not count.")
                    ]))
        ],
        idempotent: true
    ) { call in
        let owner = try await owner(in: call.input, of: call, .tenant)
        let all = APIKey.Owner.tenant(try call.tenant.id)
        guard
            try APIKeyCollection.tenant.permits(
                call, .revokeKeys, owner: owner.map { .user($0) } ?? all)
        else { throw Problem.forbidden("The credential may revoke its own user's keys only.") }
        let reason = call.input.optionalString("reason")
        let count = try await call.scope.change(by: call.actor) { change in
            try await change.revokeAPIKeys(owner: owner, reason: reason)
        }
        return .ok(.object([.init("revoked", .int(count))]))
    }
}

extension JSONValue {
    /// The key's JSON object with the secret added as the member `key`.
    func revealing(_ secret: APIKeySecret) -> JSONValue {
        .object((members ?? []) + [.init("key", .string(secret.text))])
    }
}

/// The API keys of one tenant, or the keys of the platform. The database stores the platform's keys
/// under the nil tenant.
struct APIKeyCollection: Sendable {
    let isPlatform: Bool

    static let tenant = APIKeyCollection(isPlatform: false)
    static let platform = APIKeyCollection(isPlatform: true)

    var path: String { isPlatform ? "/v1/api-keys" : "/v1/tenants/{tenant}/api-keys" }

    /// The operation id of an endpoint, such as `listPlatformApiKeys`. It is different for the
    /// platform's keys and for tenants' keys.
    func operation(_ verb: String, _ noun: String = "ApiKey") -> String {
        verb + (isPlatform ? "Platform" : "") + noun
    }

    /// The access that an endpoint of this collection requires. For a tenant's keys, a right over
    /// the caller's own keys is enough here; the handler then checks the key's owner.
    func access(_ right: Right) -> Access {
        if !isPlatform { return .own(right) }
        return .platform(right == .listKeys ? right : .writePlatformKeys)
    }

    func tenantID(_ call: Call) throws -> UUID? { isPlatform ? nil : try call.tenant.id }

    func scope(_ call: Call) throws -> TenantScope {
        isPlatform ? call.database.platformScope : try call.scope
    }

    func location(_ call: Call, _ id: UUID) throws -> String {
        isPlatform ? "/v1/api-keys/\(id)" : "/v1/tenants/\(try call.tenant.id)/api-keys/\(id)"
    }

    func catalogue(_ call: Call) async throws -> [String] {
        isPlatform ? [] : try await call.scope.scopeCatalogue()
    }

    /// Whether the caller has the right `right` over the keys of `owner`.
    func permits(_ call: Call, _ right: Right, owner: APIKey.Owner) throws -> Bool {
        guard !isPlatform else { return true }
        var target = PermissionTarget()
        if case .user(let id) = owner { target.ownerID = id }
        return try Permissions.permits(
            call.principal.subject, right, in: tenantID(call), target: target) == .allowed
    }

    /// Throws 403 unless the caller may act for the user who owns the key; keys of other owners
    /// always pass. Every endpoint under `/v1` that creates a key, gives it a new secret or makes
    /// it stronger calls this check.
    func requireHolding(_ owner: APIKey.Owner, _ call: Call) async throws {
        guard case .user(let id) = owner, let tenant = try tenantID(call) else { return }
        guard let user = try await call.scope.user(id) else { throw Problem.notFound("user") }
        guard Permissions.mayHoldKeys(call.principal.subject, of: id, user.role, in: tenant) else {
            let lacks = Permissions.lacking(call.principal.subject, for: user.role, in: tenant)
            let rights = [Right.linkIdentities.rawValue] + lacks
            throw Problem.forbidden(
                "Only the user, or a caller who may act for the user, may do this with a user's "
                    + "key. For the role \(user.role.rawValue) the caller needs: "
                    + "\(rights.joined(separator: ", ")).")
        }
    }

    /// Throws unless the caller has the right over the key: 403 if it may at least see the key,
    /// else 404.
    func require(_ call: Call, _ right: Right, _ key: APIKey) throws {
        if try permits(call, right, owner: key.owner) { return }
        if try permits(call, .listKeys, owner: key.owner) { throw Problem.forbidden() }
        throw Problem.notFound("API key")
    }

    /// Changes the path's key under its lock. Checks the permission, then `If-Match`, then the
    /// body. If the caller is itself a key, it may change only keys whose bounds are within its own
    /// bounds; a revocation has no such limit. `body` returns `isStronger` if the key permits more
    /// than before, or if the response shows a secret.
    func change(
        _ call: Call, _ right: Right, action: AuditAction,
        _ body: @Sendable (APIKeyRow, Timestamp) throws -> (key: APIKey, isStronger: Bool)
    ) async throws -> APIKeyRow {
        let id = try call.id()
        return try await scope(call).change(by: call.actor) { change in
            let caller: APIKey?
            let row: APIKeyRow
            if right != .revokeKeys, let key = CallingKey(call.principal) {
                let held = try await key.held(in: change, with: id)
                (caller, row) = (held.caller.key, held.target)
            } else {
                (caller, row) = (nil, try await change.lockAPIKey(id))
            }
            try require(call, right, row.key)
            if let caller { try KeyBounding.requireWithin(row.key, caller) }
            try call.requireMatch(row.etag)
            let (next, isStronger) = try body(row, change.now)
            if isStronger { try await requireHolding(row.key.owner, call) }
            if let caller { try KeyBounding.requireNarrower(next, than: row.key, caller: caller) }
            if next == row.key {
                change.alreadyApplied()
                return row
            }
            return try await change.saveAPIKey(row, as: next, action: action)
        }
    }

    /// Whether the path's key exists and the caller may see it.
    func exists(_ call: Call) async throws -> Bool {
        guard let row = try await scope(call).apiKey(call.id()) else { return false }
        guard !isPlatform, let own = call.bound(.listKeys) else { return true }
        return row.key.owner == .user(own)
    }
}

extension APIKeyFilter {
    /// The parameters of the list. They are also the members of a bulk action's `filter`.
    static let parameters: [QueryParameter] = [
        QueryParameter(
            "q", .string(min: 1, max: 255),
            "Only keys whose name contains each of these words, in any case and order; only the "
                + "first 8 words count. A word of fewer than 3 characters must begin a word of the "
                + "name."),
        QueryParameter(
            "status", .enumeration(of: APIKey.Status.self), "Only keys with this status."),
        QueryParameter(
            "environment", .enumeration(of: APIKeySecret.Environment.self),
            "Only keys of this environment."),
        QueryParameter("owner_user_id", .uuid, "Only keys of this user."),
        QueryParameter(
            "ends_within", .integer(1...365),
            "Only keys with status `active` or `grace` that expire within this number of days."),
        QueryParameter(
            "given_before", .bool,
            "If true: only active keys that need a review. An older version of "
                + "Gatehouse gave such a key a scope that is as strong as an admin's rights, "
                + "without a check of the creator's rights. In addition, the creator is not an "
                + "operator with an admin's rights now, or the key is limited by `allowed_ips`, "
                + "`allowed_origins` or `rate_limit`."),
    ]

    /// Converts the parameters of the list to the storage layer's filter. Returns `nil` if the
    /// filter cannot match any key that the caller may see.
    init?(_ filter: ListFilter, _ call: Call, _ collection: APIKeyCollection) async throws {
        let input = filter.input
        self.init(
            status: input.optionalCase("status"),
            owner: try await APIKeyEndpoints.owner(in: input, of: call, collection),
            environment: input.optionalString("environment"), text: input.optionalString("q"))
        endsWithin = input.optionalInt("ends_within")
        if input.flag("given_before") {
            givenBeforeBut = try await call.database.coveringOperators()
        }
        let tenant = try collection.tenantID(call) ?? .platform
        guard try !collection.permits(call, .listKeys, owner: .tenant(tenant)) else { return }
        // A caller limited to its own keys gets no others, whatever the filter is.
        let own = call.principal.user ?? call.principal.id ?? .platform
        if let asked = owner, asked != own { return nil }
        owner = own
    }
}

/// `/v1/scopes`: the management scopes. A tenant's catalogue adds its own scopes to these.
package enum ScopeEndpoints {
    package static let all: [Endpoint] = [list]

    private static let list = Endpoint(
        .get, "/v1/scopes", id: "listScopes", tag: "API keys",
        summary: "Lists the management scopes, each with the rights that it includes.",
        access: .open,
        answers: [
            .ok(
                ObjectShape(
                    "Scopes",
                    [
                        .readOnly("items", .array(of: .object(shape)), "All management scopes.")
                    ]))
        ]
    ) { _ in
        let items = ManagementScope.allCases.map { scope in
            JSONValue.object([
                .init("name", .string(scope.rawValue)),
                .init("summary", .string(scope.summary)),
                .init("admin_equivalent", .bool(scope.isAdminEquivalent)),
                .init("rights", .strings(scope.rights.map(\.rawValue))),
            ])
        }
        return .ok(.object([.init("items", .array(items))]))
    }

    private static let shape = ObjectShape(
        "Scope",
        [
            .readOnly(
                "name", .string(),
                "The scope's name, as in `scopes` of an API key; for example `users:read`."),
            .readOnly("summary", .string(), "What the scope permits."),
            .readOnly(
                "admin_equivalent", .bool,
                "Whether a key with this scope can obtain the rights of an admin. Only a caller "
                    + "with these rights may grant such a scope. A key with `allowed_ips`, "
                    + "`allowed_origins` or `rate_limit` cannot be given such a scope, except "
                    + "`hooks:signup`."),
            .readOnly(
                "rights", .array(of: .string()),
                "The rights that the scope includes, by the same names as in `rights` of "
                    + "`GET /v1/me`."),
        ])
}
