import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The status of an id token's bearer in the tenant, and the activation of a pending row.
enum ThinkWorkMe {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/auth/me") { call in
            try call.requireOwnTenant()
            let person = try await call.bearerPerson()
            return .ok(json(person, try await call.evaluate(person), call))
        },
        ContractRoute(.post, "/api/auth/enrollment/auto-link") { try await link($0) },
    ]

    /// A person without a membership gets 200 saying so; the app then offers the other options.
    private static func json(
        _ person: BearerPerson, _ found: ProvisioningResult, _ call: ClientCall
    ) -> JSONValue {
        let user = found.user
        let isMember =
            found.verdict.outcome == .existing && found.verdict.maySignIn
            && user?.status == .active
        let role = isMember ? user.map { JSONValue.string($0.role.rawValue) } ?? .null : .null
        let tenant = isMember ? JSONValue.string(call.tenant.id.description) : .null
        var members: [JSONValue.Member] = [
            .init("email", text(user?.email ?? person.attempt.email)),
            .init("userId", text(user?.id.description)), .init("tenantId", tenant),
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

    /// Links the identity to a pending row with its proved address. Admits no new user.
    private static func link(_ call: ClientCall) async throws -> Response {
        try call.requireOwnTenant()
        let person = try await call.bearerPerson()
        let evaluated = try await call.evaluate(person).verdict
        // A row that is linked already may still wait to become active.
        let waits = [.linked, .existing].contains(evaluated.outcome) && !evaluated.effects.isEmpty
        guard waits else { return try answer(evaluated) }
        return try answer(try await call.provision(person).verdict)
    }

    private static func answer(_ verdict: Verdict) throws -> Response {
        switch (verdict.outcome, verdict.reason) {
        case (.linked, _): outcome("linked")
        case (.existing, _): outcome("already_linked")
        case (_, .identityConflict), (_, .identityLinkRequired):
            throw Problem(.identityConflict, "identity_conflict")
        default: outcome("not_linked")
        }
    }

    private static func outcome(_ name: String) -> Response {
        .ok(.object([.init("outcome", .string(name))]))
    }
}
