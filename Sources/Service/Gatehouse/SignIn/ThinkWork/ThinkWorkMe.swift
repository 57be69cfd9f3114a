import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The status of an id token's person in the tenant, and the activation of a pending user.
enum ThinkWorkMe {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/auth/me") { call in
            try call.requireOwnTenant()
            let person = try await call.bearerPerson()
            return .ok(json(person, try await call.evaluate(person), call))
        },
        ContractRoute(.post, "/api/auth/enrollment/auto-link") { try await link($0) },
    ]

    /// Returns the status. A person without a membership gets 200 with a note that says so, and the
    /// app then offers the other options.
    private static func json(
        _ person: BearerPerson, _ found: ProvisioningResult, _ call: ClientCall
    ) -> JSONValue {
        let user = found.user
        let isMember =
            found.verdict.outcome == .existing && found.verdict.maySignIn
            && user?.status == .active
        // An address alone does not identify a person; only a sign-in that belongs to the account
        // does.
        let isLinked = found.verdict.outcome == .existing
        let role = isMember ? user.map { JSONValue.string($0.role.rawValue) } ?? .null : .null
        let tenant = isMember ? JSONValue.string(call.tenant.id.description) : .null
        var members: [JSONValue.Member] = [
            .init("email", text(user?.email ?? person.attempt.email)),
            .init("userId", isLinked ? text(user?.id.description) : .null),
            .init("tenantId", tenant),
            .init("role", role), .init("name", text(user?.name ?? person.attempt.name)),
            .init("tenantSelectionRequired", .bool(false)),
            .init(
                "availableTenants",
                .array(
                    isMember
                        ? [.object([.init("tenantId", tenant), .init("role", role)])] : [])),
            .init("migrationRequired", .bool(false)),
        ]
        if !isMember { members.append(.init("note", .string(note(found.verdict)))) }
        return .object(members)
    }

    private static func note(_ verdict: Verdict) -> String {
        switch verdict.reason {
        case .userSuspended, .userDeleted, .approvalPending: "tenant_membership_inactive"
        default: "user_not_bootstrapped"
        }
    }

    private static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// Links the identity to a pending user with the same proved address. Creates no new user.
    private static func link(_ call: ClientCall) async throws -> Response {
        try call.requireOwnTenant()
        let person = try await call.bearerPerson()
        let evaluated = try await call.evaluate(person).verdict
        // The outcome `existing` counts too, since a user whose identity is linked already may
        // still be pending.
        let waits = [.linked, .existing].contains(evaluated.outcome) && !evaluated.effects.isEmpty
        guard waits else { return try answer(evaluated) }
        return try answer(try await call.provision(person).verdict)
    }

    private static func answer(_ verdict: Verdict) throws -> Response {
        switch (verdict.outcome, verdict.reason) {
        case (.linked, _): outcome("linked")
        case (.existing, _): outcome("already_linked")
        case (_, .identityConflict), (_, .identityLinkRequired):
            throw Problem(.reason(.identityConflict), "identity_conflict")
        default: outcome("not_linked")
        }
    }

    private static func outcome(_ name: String) -> Response {
        .ok(.object([.init("outcome", .string(name))]))
    }
}

/// What the app's web page requests besides `/api/auth/me`: the tenant to show, and the end of its
/// session at the pool.
enum ThinkWorkSession {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, path) { try await tenant($0) },
        // Answers PUT with 404, as the app expects. Without this route, the answer would be 405, as
        // for every path that has routes for other methods.
        ContractRoute(.put, path) { _ in throw Problem.notFound("path") },
        ContractRoute(.post, "/api/auth/revoke") { try await revoke($0) },
    ]

    /// The path of a tenant, named by its id or its slug.
    private static let path = "/api/tenants/{slug}"

    /// Returns the tenant. Throws the same 404 for another tenant and for a person who is not a
    /// member.
    private static func tenant(_ call: ClientCall) async throws -> Response {
        try call.requireOwnTenant()
        let person = try await call.bearerPerson()
        guard call.isOwnTenant(try call.parameter("slug")) else { throw missing }
        let found = try await call.evaluate(person)
        guard found.verdict.outcome == .existing, found.verdict.maySignIn,
            found.user?.status == .active
        else { throw missing }
        let face = call.tenant.appearance
        let logo = face.logoPath.map { JSONValue.string(call.application.publicURL + $0) }
        return .ok(
            .object([
                .init("id", .string(call.tenant.id.description)),
                .init("name", .string(face.name ?? call.tenant.name)),
                .init("slug", .string(call.tenant.slug)), .init("plan", .null),
                .init("logo_url", logo ?? .null),
                .init("created_at", .string(call.tenant.createdAt.description)),
                .init("updated_at", .string(call.tenant.updatedAt.description)),
            ]))
    }

    private static let missing = Problem(.notFound, "Tenant not found")

    /// Revokes the refresh token at the pool, only for the client to which the id token was issued.
    private static func revoke(_ call: ClientCall) async throws -> Response {
        try call.requireOwnTenant()
        let person = try await call.bearerPerson()
        guard let token = try call.object().optionalString("refreshToken"),
            (1...4096).contains(token.utf8.count)
        else { throw Problem(.invalidRequest, "A valid refresh token is required") }
        try await call.count(.token)
        do {
            try await call.revoke(token, of: person)
        } catch let refusal as SignInRefusal {
            var problem = Problem(.unavailable, "Unable to revoke session", status: 502)
            problem.cause = refusal.cause
            throw problem
        }
        return .ok(.object([.init("revoked", .bool(true))]))
    }
}

extension ClientCall {
    /// Revokes the token at Cognito's revocation endpoint, which is next to its token endpoint. A
    /// token that is no longer valid counts as revoked. Throws `.notProved`, `.providerAway`.
    fileprivate func revoke(_ token: String, of person: BearerPerson) async throws {
        guard let party = person.provider.relyingParty,
            let remote = try await remote(person.provider)
        else { throw SignInRefusal.noProvider }
        let endpoint = try await remote.endpoint(.token)
        let end = "/oauth2/token"
        guard endpoint.utf8.reversed().starts(with: end.utf8.reversed()) else {
            throw SignInRefusal.providerAway("no revocation endpoint")
        }
        let url = String(decoding: endpoint.utf8.dropLast(end.utf8.count), as: UTF8.self)
        let own = person.attempt.clientID.flatMap { sameBytes($0, remote.clientID) ? nil : $0 }
        // Another client of the pool is treated as a public client, because we do not have its
        // secret.
        let asker = RemoteProvider(
            row: remote.row, party: party, clientID: own ?? remote.clientID,
            secret: own == nil ? remote.secret : nil, http: application.http,
            documents: application.documents)
        let answer = try await asker.authenticated([("token", token)], at: url + "/oauth2/revoke")
        if let error = answer["error"]?.string, !sameBytes(error, "invalid_grant") {
            throw SignInRefusal.notProved("revocation endpoint: " + String(error.prefix(64)))
        }
    }
}
