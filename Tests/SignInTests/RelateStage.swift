import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// A tenant with the client `relate`, and its OpenID provider.
struct RelateStage {
    let service: TestService
    let tenant: TenantRow
    let provider: TestProvider

    static func make(settings: String = "{}", introspects: Bool = true) async throws -> RelateStage
    {
        let provider = try await TestProvider.start()
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let stage = RelateStage(service: service, tenant: tenant, provider: provider)
        try await stage.service.manage(
            .put, "/v1/tenants/acme/clients/relate",
            #"{"enabled":true,"redirect_uris":["relate-mail://auth/callback"],"#
                + #""settings":\#(settings)}"#)
        try await stage.service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"https://mail.acme.example"}"#)
        let introspection =
            introspects ? #","introspection_endpoint":"\#(provider.issuer)/introspect""# : ""
        try await stage.service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"P","issuer":"\#(provider.issuer)","client_id":"mail","#
                + #""secret":"s3cret","email_trust":"verified_claim","endpoints":{"#
                + #""userinfo_endpoint":"\#(provider.issuer)/userinfo"\#(introspection)}}"#)
        try await stage.service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"ann@acme.example"}"#)
        stage.know(client: "mail")
        return stage
    }

    func stop() async {
        await provider.stop()
        await service.stop()
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
        let origin = "https://mail.acme.example"
        var all = fields + [Field("accept", "*/*"), Field("origin", origin)]
        if let credential { all.append(Field("authorization", credential)) }
        let answer = try await service.send(
            method, "/t/acme/relate\(path)", json: json, fields: all)
        let allowed = answer.first("access-control-allow-origin")
        #expect(allowed == origin || allowed == "*", "\(path)")
        #expect(answer.first("vary")?.contains("Origin") == true, "\(path)")
        return answer
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

/// 401 as ASP.NET gives it: no body at all.
func expectBare401(
    _ answer: TestAnswer, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(answer.status == 401 && answer.bytes.isEmpty, sourceLocation: sourceLocation)
    #expect(answer.first("www-authenticate") == "Bearer", sourceLocation: sourceLocation)
}
