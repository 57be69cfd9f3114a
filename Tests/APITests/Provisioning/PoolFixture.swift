import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A pool of the platform that has users of its own and of an upstream, AzureAD, which no issuer
/// stands for; the tenant `victim`, and the tenant `evil`, whose owner calls hooks too.
struct PoolFixture: Sendable {
    static let pool = "eu-central-1_abc"
    let service: TestService
    let victim: TenantRow
    let evil: TenantRow
    let provider: TestProvider
    let clock: TestClock
    /// Whose the pool is; its events come by this one's credential.
    let owner: Caller

    /// Who calls a hook.
    enum Caller: String, Sendable, CaseIterable {
        case platform, victim, evil
    }

    static func make(
        victim: String = "{}", evil: String = "{}", pool more: String = "",
        owner: Caller = .platform
    ) async throws -> PoolFixture {
        let clock = TestClock()
        let service = try await TestService.make(clock: { clock.now })
        func tenant(_ slug: String, _ policy: String) async throws -> TenantRow {
            try await service.storage.createTenant(
                slug: slug, name: slug, policy: JSONValue(parsing: Array(policy.utf8)), by: .system)
        }
        let fixture = PoolFixture(
            service: service, victim: try await tenant("victim", victim),
            evil: try await tenant("evil", evil), provider: try await TestProvider.start(),
            clock: clock, owner: owner)
        let issuer = fixture.provider.issuer
        let made = try await service.send(
            .post, "/v1/providers",
            json:
                #"{"kind":"cognito","name":"Pool","issuer":"\#(pool)","client_id":"web","#
                + #""email_trust":"verified_claim","endpoints":{"issuer":"\#(issuer)/\#(pool)","#
                + #""authorization_endpoint":"\#(issuer)/a","token_endpoint":"\#(issuer)/t","#
                + #""jwks_uri":"\#(issuer)/keys"}\#(more)}"#,
            as: fixture.credential(owner))
        #expect(made.status == 201, "\(made.text)")
        if owner != .platform {
            _ = try await service.storage.app.query("UPDATE providers SET confirmed = true")
        }
        return fixture
    }

    @discardableResult
    func manage(_ method: Method, _ path: String, _ json: String) async throws -> JSONValue {
        let answer = try await service.send(method, path, json: json, as: .platformOwner)
        #expect((200...299).contains(answer.status), "\(path): \(answer.text)")
        return answer.json
    }

    /// The token of an invite whose link was shown.
    @discardableResult
    func invite(_ email: String, role: String = "admin", to tenant: String = "victim")
        async throws -> String
    {
        try await manage(
            .post, "/v1/tenants/\(tenant)/invites",
            #"{"email":"\#(email)","role":"\#(role)","delivery":"link"}"#)["token"]?.string ?? ""
    }

    // MARK: what the pool says

    static func event(
        _ trigger: String, _ userName: String, _ email: String, verified: Bool? = nil,
        sub: String? = nil, more: String = ""
    ) -> String {
        var attributes = [#""email":"\#(email)""#]
        if let verified { attributes.append(#""email_verified":"\#(verified)""#) }
        if let sub { attributes.append(#""sub":"\#(sub)""#) }
        return #"{"version":"1","triggerSource":"\#(trigger)","region":"eu-central-1","#
            + #""userPoolId":"\#(pool)","userName":"\#(userName)","#
            + #""callerContext":{"clientId":"web"},"request":{"userAttributes":{"#
            + attributes.joined(separator: ",") + #"}\#(more)},"response":{}}"#
    }

    func credential(_ caller: Caller) -> TestService.Credential {
        switch caller {
        case .platform: .platformOwner
        case .victim: .tenantAdmin(victim)
        case .evil: .tenantAdmin(evil)
        }
    }

    func hook(
        _ event: String, by caller: Caller? = nil, at name: String = "pre-signup"
    ) async throws -> TestAnswer {
        clock.advance(seconds: 1)
        return try await service.send(
            .post, "/v1/hooks/\(name)/cognito", json: event, as: credential(caller ?? owner))
    }

    /// A native sign-up, and the confirmation of it.
    func signUp(
        _ name: String, _ email: String, by caller: Caller? = nil, more: String = ""
    ) async throws -> TestAnswer {
        try await hook(
            Self.event("PreSignUp_SignUp", name, email, verified: false, more: more), by: caller)
    }

    @discardableResult
    func confirm(
        _ name: String, _ email: String, sub: String, verified: Bool, by caller: Caller? = nil
    ) async throws -> TestAnswer {
        try await hook(
            Self.event(
                "PostConfirmation_ConfirmSignUp", name, email, verified: verified, sub: sub),
            by: caller, at: "post-confirmation")
    }

    /// An id token of the pool. `upstream`: the user is federated, `name` its subject there.
    func token(
        _ name: String, sub: String, _ email: String, verified: Bool = true,
        upstream: String? = nil
    ) -> String {
        let identities = upstream.map { #"[{"providerName":"\#($0)","userId":"\#(name)"}]"# }
        let userName = (upstream.map { "\($0)_" } ?? "") + name
        return provider.mint(clientID: "web", now: clock.now).token([
            "iss": "\"\(provider.issuer)/\(Self.pool)\"", "token_use": "\"id\"",
            "sub": "\"\(sub)\"", "cognito:username": "\"\(userName)\"",
            "identities": identities, "email": "\"\(email)\"", "email_verified": "\(verified)",
            "jti": "\"\(UUID.random())\"",
        ])
    }

    func signIn(_ token: String, _ body: String = "{}") async throws -> TestAnswer {
        clock.advance(seconds: 1)
        return try await service.send(
            .post, "/v1/provisioning/sign-in", json: body, as: .bearer(token))
    }

    /// The newest decision, as the platform's operators read it.
    func lastDecision() async throws -> JSONValue {
        let answer = try await service.send(
            .get, "/v1/provisioning/decisions?limit=1", as: .platformOwner)
        return answer.json["items"]?.array?.first ?? .null
    }

    func count(_ rows: SQL, in tenant: TenantRow? = nil) async throws -> Int {
        try await service.storage.scope(tenant?.id ?? victim.id)
            .read("/* test */ SELECT count(*) FROM \(rows)").first?.get(0, as: Int.self) ?? -1
    }
}

extension TestAnswer {
    var outcome: String {
        [json["outcome"]?.string, json["reason"]?.string].compactMap(\.self).joined(separator: " ")
    }
}
