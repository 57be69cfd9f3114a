import HTTP
import JSON
import Runtime
import Storage
import TestSupport
import Testing
import Text

/// A tenant with the client `thinkwork`, and a Cognito pool of our own making.
struct ThinkWorkFixture: ClientFixture {
    static let mount = "/t/acme/thinkwork"
    static let headers =
        ", x-tenant-id, x-tenant-slug, x-thinkwork-tenant-id, x-thinkwork-tenant-slug, "
        + "x-api-key, x-thinkwork-deployment-token"
    static let pool = "eu-central-1_abc"

    let service: TestService
    let tenant: TenantRow
    let provider: TestProvider

    static func make(settings: String = "{}", logger: Logger? = nil) async throws
        -> ThinkWorkFixture
    {
        let service = try await TestService.make(logger: logger)
        let tenant = try await service.makeTenant("acme")
        let set = try await service.send(
            .put, "/v1/tenants/acme/clients/thinkwork",
            json: #"{"enabled":true,"settings":\#(settings)}"#, as: .tenantAdmin(tenant))
        #expect(set.status == 200, "\(set.text)")
        try await allowOrigin(service)
        return ThinkWorkFixture(
            service: service, tenant: tenant, provider: try await TestProvider.start())
    }

    @discardableResult
    func addPool(_ more: String = "") async throws -> TestAnswer {
        let made = try await service.send(
            .post, "/v1/providers",
            json: #"{"kind":"cognito","name":"Pool","issuer":"\#(Self.pool)","client_id":"web","#
                + #""email_trust":"verified_claim","upstreams":[{"name":"Google"},"#
                + #"{"name":"Okta"}],"endpoints":{"issuer":"\#(provider.issuer)/\#(Self.pool)","#
                + #""authorization_endpoint":"\#(provider.issuer)/a","#
                + #""token_endpoint":"\#(provider.issuer)/oauth2/token","#
                + #""jwks_uri":"\#(provider.issuer)/keys"}\#(more)}"#,
            as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
        return made
    }

    /// What the pool gives a person who came from Google.
    func token(
        _ email: String = "ann@acme.example", _ changes: [String: String?] = [:]
    ) -> String {
        var claims: [String: String?] = [
            "iss": "\"\(provider.issuer)/\(Self.pool)\"", "token_use": "\"id\"",
            "email": "\"\(email)\"", "email_verified": "true", "name": "\"Ann\"",
            "cognito:username": "\"Google_\(email)\"", "sub": "\"pool \(email)\"",
            "identities": #"[{"providerName":"Google","userId":"\#(email)"}]"#,
        ]
        for (name, value) in changes { claims[name] = value }
        return provider.mint(clientID: "web", now: Timestamp.systemClock()).token(claims)
    }

    /// As the web sends it: the token bare, the tenant beside it.
    func send(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        let bare = token.map { [Field("authorization", $0)] } ?? []
        return try await call(method, path, json, fields: fields + bare)
    }

    func invite(_ email: String, role: String = "member") async throws {
        let answer = try await service.send(
            .post, "/v1/tenants/acme/invites",
            json: #"{"email":"\#(email)","role":"\#(role)"}"#, as: .platformOwner)
        #expect(answer.status == 201, "\(answer.text)")
    }

    /// Takes the invite up at the app's own door.
    func join(_ email: String, role: String = "member") async throws -> String {
        try await invite(email, role: role)
        let token = token(email)
        let linked = try await send(.post, "/api/auth/enrollment/auto-link", token: token)
        expectAnswer(linked, #"{"outcome":"linked"}"#)
        return token
    }
}
