import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// A tenant with the client `relate`, and its OpenID provider.
struct RelateFixture: ClientFixture {
    static let mount = "/t/acme/relate"
    static let origin = "https://mail.acme.example"
    static let headers = ", x-signalr-user-agent"

    let service: TestService
    let tenant: TenantRow
    let provider: TestProvider

    static func make(
        settings: String = "{}", introspects: Bool = true, clock: TestClock? = nil
    ) async throws -> RelateFixture {
        let provider = try await TestProvider.start()
        let service = try await TestService.make(
            clock: TestClock.reading(clock))
        let tenant = try await service.makeTenant("acme")
        let fixture = RelateFixture(service: service, tenant: tenant, provider: provider)
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/relate",
            #"{"enabled":true,"redirect_uris":["relate-mail://auth/callback"],"#
                + #""settings":\#(settings)}"#)
        try await allowOrigin(service)
        let introspection =
            introspects ? #","introspection_endpoint":"\#(provider.issuer)/introspect""# : ""
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"P","issuer":"\#(provider.issuer)","client_id":"mail","#
                + #""secret":"s3cret","email_trust":"verified_claim","endpoints":{"#
                + #""userinfo_endpoint":"\#(provider.issuer)/userinfo"\#(introspection)}}"#)
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"ann@acme.example"}"#)
        fixture.know(client: "mail")
        return fixture
    }

    /// The provider knows any opaque token as Ann's, given to this client.
    func know(client: String) {
        provider.set(
            "/introspect", .init(#"{"active":true,"sub":"ann-1","client_id":"\#(client)"}"#))
        provider.set(
            "/userinfo",
            .init(
                #"{"sub":"ann-1","email":"ann@acme.example","email_verified":true,"name":"Ann"}"#))
    }

    /// From now on any opaque token is Bob's, who is invited too and of whom no name is known.
    func inviteBob() async throws {
        try await service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"bob@acme.example"}"#)
        provider.set("/introspect", .init(#"{"active":true,"sub":"bob-1","client_id":"mail"}"#))
        provider.set(
            "/userinfo",
            .init(#"{"sub":"bob-1","email":"bob@acme.example","email_verified":true}"#))
    }

    /// As Keycloak and others write theirs: for their own services, given to our client.
    func signedToken(
        _ claims: [String: String?] = [:], header: [String: String?] = [:]
    ) -> String {
        provider.mint(clientID: "mail", now: Timestamp.systemClock()).token(
            [
                "aud": "\"account\"", "azp": "\"mail\"", "sub": "\"ann-1\"", "email": nil,
                "email_verified": nil, "name": nil,
            ].merging(claims) { $1 }, header: header)
    }

    /// `credential`: the whole of the `Authorization` header.
    func send(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, as credential: String? = nil,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        var all = fields + [Field("accept", "*/*")]
        if let credential { all.append(Field("authorization", credential)) }
        return try await call(method, path, json, fields: all)
    }

    /// What the mobile app keeps after signing in.
    func key(_ platform: String = "ios") async throws -> (id: String, text: String) {
        let answer = try await send(
            .post, "/api/smtp-credentials/mobile",
            #"{"deviceName":"Ann's phone","platform":"\#(platform)"}"#, as: "Bearer opaque")
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["id"]?.string ?? "", answer.json["apiKey"]?.string ?? "")
    }
}

/// 404 as ASP.NET gives it: a problem document (RFC 9457).
func expectNotFound(
    _ answer: TestAnswer, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(answer.status == 404, "\(answer.text)", sourceLocation: sourceLocation)
    #expect(
        answer.text == #"{"type":"https://tools.ietf.org/html/rfc9110#section-15.5.5","#
            + #""title":"Not Found","status":404,"traceId":"\#(answer.first("x-request-id") ?? "")"}"#,
        sourceLocation: sourceLocation)
    #expect(
        answer.first("content-type") == "application/problem+json", sourceLocation: sourceLocation)
}

/// 401 as ASP.NET gives it: no body at all.
func expectBare401(
    _ answer: TestAnswer, sourceLocation: SourceLocation = #_sourceLocation
) {
    expectEmpty(answer, 401, sourceLocation: sourceLocation)
    #expect(answer.first("www-authenticate") == "Bearer", sourceLocation: sourceLocation)
}
