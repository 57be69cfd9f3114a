import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/providers`: identity providers. A tenant's credential sees only that tenant's providers.
package enum ProviderEndpoints {
    package static let all: [Endpoint] = [list, create, get, update, delete]

    private static let list = Endpoint(
        .get, "/v1/providers", id: "listProviders", tag: "Providers",
        summary:
            "Lists providers, newest first. A tenant's credential gets the tenant's own providers; "
            + "a credential of the platform gets all.",
        access: .right(.readProviders),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]) + [
            QueryParameter(
                "kind", .enumeration(of: ProviderKind.self), "Only providers of this kind."),
            QueryParameter(
                "unreachable", .bool, "If true: only providers with `unreachable_since`."),
        ],
        answers: [.list(ProviderRow.shape)]
    ) { call in
        let list = try call.listQuery()
        let unreachable = call.application.documents.unreachable
        var page = try await call.database.providers(
            list, owner: call.providerOwner, kind: call.query.optionalString("kind"),
            ids: call.query.flag("unreachable") ? Array(unreachable.keys) : nil)
        for index in page.rows.indices {
            page.rows[index].unreachableSince = unreachable[page.rows[index].id]
        }
        return call.list(page)
    }

    private static let create = Endpoint(
        .post, "/v1/providers", id: "createProvider", tag: "Providers",
        summary: "Registers a provider, for the platform or for one tenant.",
        access: .right(.writeProviders), body: .json(ProviderRow.creation),
        answers: [.created(ProviderRow.shape).showing(["email_trust": .string("none")])],
        problems: [.conflict], idempotent: true
    ) { call in
        var owner = call.callerTenant ?? .platform
        if let text = call.input.optionalString("tenant") {
            guard let tenant = try await call.database.tenant(text),
                call.principal.platform || tenant.id == owner
            else {
                throw Problem.invalid([
                    FieldError(
                        "/tenant", .invalid, "must be a tenant that the credential may use")
                ])
            }
            owner = tenant.id
        }
        let input = try await ProviderInput(call, owner: owner, current: nil)
        let row = try await call.database.scope(owner).change(by: call.actor) { change in
            let row = try await change.createProvider(
                kind: input.kind, name: input.name, issuer: input.issuer,
                document: input.document, isConfirmed: input.isConfirmed)
            return try await change.changeSecret(row, input.secret)
        }
        guard let row = try await call.database.named([row]).first else {
            throw Problem.internalError
        }
        return .created(row, at: "/v1/providers/\(row.id)", etag: row.etag)
    }

    private static let get = Endpoint(
        .get, "/v1/providers/{id}", id: "getProvider", tag: "Providers",
        summary: "Returns one provider.", access: .right(.readProviders),
        answers: [.ok(ProviderRow.shape)]
    ) { call in
        var row = try await call.ownProvider
        row.unreachableSince = call.application.documents.unreachable[row.id]
        return .ok(row, etag: row.etag)
    }

    private static let update = Endpoint(
        .patch, "/v1/providers/{id}", id: "updateProvider", tag: "Providers",
        summary: "Changes a provider.", access: .right(.writeProviders),
        body: .json(ProviderRow.change),
        answers: [.ok(ProviderRow.shape).showing(["email_trust": .string("none")])],
        problems: [.conflict], ifMatch: .honoured, exists: exists
    ) { call in
        let seen = try await call.ownProvider
        let scope = call.database.scope(seen.tenantID ?? .platform)
        let row = try await scope.change(by: call.actor) { change in
            var row = try await change.lockProvider(seen.id)
            row.tenantName = seen.tenantName
            try await OperatorsProvider.requireKeeper(of: row, call)
            try call.requireMatch(row.etag)
            try call.input.checkRepeated(against: row.json)
            let input = try await ProviderInput(
                call, owner: row.tenantID ?? .platform, current: row)
            let changed = try await change.updateProvider(
                row, name: input.name, issuer: input.issuer, document: input.document,
                isConfirmed: input.isConfirmed)
            var stored = try await change.changeSecret(changed, input.secret)
            stored.tenantName = row.tenantName
            return stored
        }
        return .ok(row, etag: row.etag)
    }

    private static let delete = Endpoint(
        .delete, "/v1/providers/{id}", id: "deleteProvider", tag: "Providers",
        summary: "Removes a provider. Its identities stay, but can no longer sign in through "
            + "it. If there are identities, the removal must be confirmed with `confirm`.",
        access: .right(.writeProviders), query: [ProviderRemoval.parameter],
        answers: [.noContent], problems: [.confirmRequired, .conflict], ifMatch: .honoured,
        exists: exists
    ) { call in
        let seen = try await call.ownProvider
        let scope = call.database.scope(seen.tenantID ?? .platform)
        let identities = try await call.database.identities(at: seen)
        try await scope.change(by: call.actor) { change in
            let row = try await change.lockProvider(seen.id)
            try await OperatorsProvider.requireUnused(row, call)
            try call.requireMatch(row.etag)
            try ProviderRemoval(call: call).check(row, identities: identities)
            try await change.deleteProvider(row)
        }
        return .noContent
    }

    static let exists: @Sendable (Call) async throws -> Bool = { call in
        try await call.database.provider(call.id(), owner: call.providerOwner) != nil
    }
}

extension Call {
    /// The owner whose providers the caller sees; `nil` for the providers of every owner.
    fileprivate var providerOwner: UUID? {
        principal.platform ? nil : principal.tenant ?? .platform
    }

    /// The provider that the path names. Throws 404 if the credential may not see it.
    var ownProvider: ProviderRow {
        get async throws {
            let row = try await database.provider(id(), owner: providerOwner)
            guard let row, let named = try await database.named([row]).first else {
                throw Problem.notFound("provider")
            }
            return named
        }
    }
}

extension ProviderRow: JSONView {
    /// The names of the settings in the order of the response, with their defaults.
    static let settings: [(name: String, standard: JSONValue)] = [
        ("client_id", .null), ("email_trust", .null), ("domains", .array([])),
        ("endpoints", .object([])), ("authorized_parties", .array([])), ("upstreams", .array([])),
        ("strict_upstreams", .bool(false)), ("client_tenants", .object([])),
        ("admin_create", .string("deny")), ("lambda_open", .string("off")),
    ]

    /// Writes the provider as `/v1` shows it, without its secret.
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("id", id)
            json.member("tenant_id", tenantID)
            if let tenantName { json.member("tenant_name", tenantName) }
            json.member("kind", kind)
            json.member("name", name)
            json.member("issuer", issuer)
            for setting in Self.settings {
                json.name(setting.name)
                json.value(document[setting.name] ?? setting.standard)
            }
            json.member("confirmed", isConfirmed)
            json.member("secret_set", hasSecret)
            if let unreachableSince { json.member("unreachable_since", unreachableSince) }
            json.member("created_at", createdAt)
            json.member("updated_at", updatedAt)
        }
    }

    var etag: String { ETag.version(version) }

    private static let trust = Kind.enumeration(["none", "verified_claim", "authoritative"])
    private static let domain = Kind.string(
        min: 1, max: 253,
        rule: TextRule(detail: "must be a domain name", example: "example.com") {
            (try? DomainName($0)) != nil
        })

    private static let upstream = ObjectShape(
        "ProviderUpstream",
        [
            .required(
                "name",
                .string(
                    min: 1, max: 64,
                    rule: TextRule(
                        detail: "must not contain _, because user names in events are split there",
                        example: "Okta"
                    ) { !$0.utf8.contains(0x5F) }),
                "The provider's name in the pool, as the pool's events have it. Upper and lower "
                    + "case make no difference."),
            .nullable(
                "kind", .enumeration(["oidc", "google", "github"]),
                "The kind of the provider; required with `issuer`. If absent or `null`, the issuer "
                    + "of the person's identity begins with the pool's id, except for `Google` in "
                    + "a pool of the platform."),
            .nullable(
                "issuer", .string(min: 1, max: 1024),
                "The provider's own issuer; required with `kind`. The person's identity then has "
                    + "this issuer."),
            .nullable(
                "email_trust", trust,
                "How far this provider's email addresses are trusted, as in `email_trust` of the "
                    + "pool; absent or `null` for the same trust as the pool."),
            .optional(
                "domains", .array(of: domain, max: 100),
                "The email domains for which the provider is authoritative, if its `email_trust` "
                    + "is `authoritative`."),
        ])

    /// The names in `endpoints` that are endpoints, as a text.
    private static let endpointNames = RelyingParty.Endpoint.allCases
        .filter { $0 != .discovery && $0 != .issuer }.map { "`\($0.rawValue)`" }
        .joined(separator: ", ")

    static let shape = ObjectShape(
        "Provider", versioned: true,
        [
            .readOnly("id", .uuid, "The provider's id."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant that owns the provider; `null` for a provider of the "
                    + "platform."),
            .readOnly(
                "tenant_name", .string(), always: false,
                "The name of the tenant that owns the provider; absent for a provider of the "
                    + "platform."),
            FieldShape(
                "kind", .enumeration(["oidc", "google", "github", "cognito", "password"]),
                "The kind of the provider. It cannot be changed.", example: .string("oidc")),
            FieldShape(
                "name", .string(min: 1, max: 200, rule: .displayName),
                "The provider's name, as sign-in pages and the console show it.",
                example: .string("Acme sign-in")),
            FieldShape(
                "issuer", .string(min: 1, max: 1024), nullable: true,
                "The issuer's URL; `gatehouse` for `password`; for a Cognito pool, the pool's id.",
                example: .string("https://sign-in.example.com")),
            .nullable(
                "client_id", .string(min: 1, max: 255, rule: .foreignID),
                "The OAuth client id that this server has at the provider."),
            FieldShape(
                "email_trust", trust, nullable: true,
                "How far the provider's email addresses are trusted. `none`: not at all. "
                    + "`verified_claim`: if the provider states that it has verified the address. "
                    + "`authoritative`: only in `domains`, and there without such a statement. "
                    + "`null`: the default of the kind. It is `none` for `oidc`, `cognito` and "
                    + "`password`, and `verified_claim` for `github`. For `google`, it is "
                    + "`authoritative` for `gmail.com` and for a domain that Google states as `hd`, "
                    + "and `verified_claim` for other addresses. A provider of a tenant is "
                    + "authoritative only for the tenant's verified domains. If a Cognito pool has "
                    + "verified the address of its own user, the address is always trusted."),
            .optional(
                "domains", .array(of: domain, max: 100),
                "The email domains for which the provider is authoritative, if `email_trust` is "
                    + "`authoritative`."),
            .optional(
                "endpoints", .map(of: .string(min: 1, max: 2048)),
                "URLs of endpoints that the provider's discovery document lacks, or that replace "
                    + "the URLs in the document. The names are "
                    + endpointNames
                    + ". The URLs of a GitHub Enterprise Server are derived from its issuer, and "
                    + "its `token_check_endpoint` is derived from `userinfo_endpoint`. Two further "
                    + "names do not stand for endpoints: `openid_configuration` is the URL of the "
                    + "discovery document, if it is not at the standard path below the issuer; "
                    + "`issuer` is the `iss` of a Cognito pool's tokens, if it is not Amazon's "
                    + "address for the pool."),
            .optional(
                "authorized_parties",
                .array(of: .string(min: 1, max: 255, rule: .foreignID), max: 50),
                "Further client ids that an id token for this server may contain as `azp`. The ids "
                    + "in `client_id` and `client_tenants`, and all clients of Google, are allowed "
                    + "without an entry."),
            .optional(
                "upstreams", .array(of: .object(upstream), max: 50),
                "For a Cognito pool: the providers at which people of the pool sign in, each with "
                    + "its own settings."),
            .optional(
                "strict_upstreams", .bool,
                "Whether a sign-in from an upstream provider that `upstreams` does not list is "
                    + "refused."),
            .optional(
                "client_tenants", .map(of: .string(min: 1, max: 63)),
                "For each client id at the provider, the tenant to which the client belongs."),
            .optional(
                "admin_create", .enumeration(["deny", "allow"]),
                "For a Cognito pool: whether its administrator may create a user for whom no "
                    + "tenant is found. `deny`: the user is refused. `allow`: the user is created "
                    + "in the pool, and still needs a tenant to sign in."),
            .optional(
                "lambda_open", .enumeration(["off", "loopback"]),
                "For a Cognito pool: who may call its hooks without a credential. `off`: no one. "
                    + "`loopback`: callers on the server's own machine. Only the platform may set "
                    + "`loopback`."),
            .readOnly(
                "confirmed", .bool,
                "Whether the provider is confirmed. A Cognito pool that a tenant registered, or "
                    + "whose `issuer` a tenant changed, is not confirmed until the platform "
                    + "changes it. Until then, it is used only for requests with this tenant's own "
                    + "credentials. All other providers are confirmed."),
            .readOnly("secret_set", .bool, "Whether a client secret is stored."),
            .readOnly(
                "unreachable_since", .timestamp, always: false,
                "Since when this server cannot fetch the provider's discovery document or keys; "
                    + "absent if it can."),
            .readOnly("created_at", .timestamp, "When the provider was registered."),
            .readOnly("updated_at", .timestamp, "When the provider was last changed."),
        ])

    private static let secret = [
        FieldShape.nullable(
            "secret", .string(min: 1, max: 4096),
            "The OAuth client secret that this server has at the provider. It is never returned.")
    ]

    static let creation = shape.adding(
        nil,
        secret + [
            .nullable(
                "tenant", .string(min: 1, max: 63),
                "The tenant that owns the provider, by id or slug. If absent: the caller's tenant "
                    + "or, for a caller of the platform, the platform.")
        ]
    ).creating("ProviderCreation", required: ["kind", "name"])

    static let change: ObjectShape = {
        var shape = Self.shape.adding(nil, secret)
        for index in shape.fields.indices where shape.fields[index].name == "kind" {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("ProviderChange")
    }()
}

/// Chooses the provider at which a client's users sign in.
package enum ProviderChoice {
    /// The provider for a client. If the client's settings name a provider by id or kind, it is
    /// that provider. Otherwise it is the tenant's only provider of these kinds or, if the tenant
    /// has none, the platform's only provider of these kinds. `nil` if there is no such provider,
    /// or more than one. `rows` is the result of `providers(near:)`.
    package static func choose(
        from rows: [ProviderRow], kinds: [String], named: String?
    ) -> ProviderRow? {
        let found = rows.filter { row in kinds.contains { sameBytes($0, row.kind) } }
        if let named { return found.first { isNamed($0, named) } }
        let own = found.filter { $0.tenantID != nil }
        let fitting = own.isEmpty ? found : own
        return fitting.count == 1 ? fitting.first : nil
    }

    /// Whether `name` is the provider's id or its kind.
    package static func isNamed(_ row: ProviderRow, _ name: String) -> Bool {
        sameBytes(row.id.description, name) || sameBytes(row.kind, name)
    }
}

extension ProviderRow {
    /// The hash of everything that determines where this client's secret is sent.
    package func secretAudience(clientID: String) -> [UInt8] {
        let endpoints = document["endpoints"] ?? .null
        let parts = [id.description, kind, issuer, clientID].map { JSONValue.string($0) }
        return SHA256.hash(JSONValue.array(parts + [endpoints]).encoded())
    }
}

/// Requires a confirmation before the deletion of a provider at which users have identities.
struct ProviderRemoval {
    static let parameter = QueryParameter(
        "confirm", .string(min: 1, max: 128),
        "Needed only if users have identities at the provider: the `confirm` value of the 409 "
            + "response (`confirm_required`).")

    var call: Call

    /// If users have identities at the provider and the request lacks the confirmation token,
    /// throws 409 with the number of identities and the token.
    func check(_ row: ProviderRow, identities: Int) throws {
        guard identities > 0 else { return }
        let token = try token(for: row)
        if let given = call.query.optionalString("confirm"), sameBytes(given, token) { return }
        throw Problem(
            .confirmRequired,
            "\(identities) identities sign in with \(row.name) and will no longer be able to; "
                + "repeat the request with `confirm` to remove it.",
            members: [
                JSONValue.Member("confirm", .string(token)),
                JSONValue.Member("identities", .int(identities)),
            ])
    }

    private func token(for row: ProviderRow) throws -> String {
        let text =
            "provider confirm\0\(call.principal.id?.description ?? "")\0\(row.id)\0\(row.version)"
        let mac = SHA256.authenticate(
            Array(text.utf8), key: call.database.directoryKey)
        return Base64URL.encode(mac.prefix(18))
    }
}
