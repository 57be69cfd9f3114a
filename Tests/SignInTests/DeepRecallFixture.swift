import Cryptography
import Gatehouse
import HTTP
import JSON
import Outbound
import Storage
import TestSupport
import Testing
import Text

/// A tenant with the client `deeprecall`, and a Google and a GitHub of our own.
struct DeepRecallFixture: ClientFixture {
    static let mount = "/t/acme/deeprecall"
    static let headers = ""
    static let origin = "capacitor://localhost"
    static let device = "5f0c1f5e-8a5b-4bb6-9a8e-1f0d9b0a7c11"

    let service: TestService
    let tenant: TenantRow
    let provider: TestProvider
    let clock: TestClock

    /// `pause`: what happens where the service would wait; the time passes by itself.
    static func make(
        settings: String = "{}",
        pause: @escaping @Sendable (TestProvider, Duration) -> Void = { _, _ in }
    ) async throws -> DeepRecallFixture {
        let provider = try await TestProvider.start()
        var externalServices = ExternalServices(providers: OutboundPolicy(allowsLoopback: true))
        let clock = TestClock()
        externalServices.pause = {
            clock.advance(seconds: $0.components.seconds)
            pause(provider, $0)
        }
        let service = try await TestService.make(
            externalServices: externalServices, clock: { clock.now })
        let tenant = try await service.makeTenant("acme")
        let fixture = DeepRecallFixture(
            service: service, tenant: tenant, provider: provider, clock: clock)
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/deeprecall",
            #"{"enabled":true,"settings":\#(settings)}"#)
        try await allowOrigin(service)
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"google","name":"G","issuer":"\#(provider.issuer)","client_id":"ios-app","#
                + #""email_trust":"verified_claim"}"#)
        let endpoints = [
            ("token_endpoint", "/gh/token"), ("userinfo_endpoint", "/gh/user"),
            ("device_authorization_endpoint", "/gh/device"), ("token_check_endpoint", "/gh/check"),
        ].map { #""\#($0)":"\#(provider.issuer)\#($1)""# }.joined(separator: ",")
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"github","name":"H","client_id":"Ov23li","secret":"s3cret","#
                + #""email_trust":"verified_claim","endpoints":{\#(endpoints)}}"#)
        fixture.setGitHub()
        return fixture
    }

    func invite(_ email: String) async throws {
        try await service.manage(.post, "/v1/tenants/acme/invites", #"{"email":"\#(email)"}"#)
    }

    /// A GitHub that knows one person, whose token is ours.
    func setGitHub() {
        provider.set("/gh/check", .init(#"{"app":{"client_id":"Ov23li"},"user":{"id":4711}}"#))
        provider.set("/gh/user", .init(#"{"id":4711,"login":"octo","name":null,"email":null}"#))
        provider.set(
            "/gh/user/emails",
            .init(
                #"[{"email":"old@acme.example","primary":false,"verified":true},"#
                    + #"{"email":"octo@acme.example","primary":true,"verified":true}]"#))
        provider.set(
            "/gh/device",
            .init(
                #"{"device_code":"3584d83530557fdd1f46af8289938c8ef79f9dc5","user_code":"WDJB-MJHT","#
                    + #""verification_uri":"https://github.com/login/device","#
                    + #""expires_in":899,"interval":5}"#))
    }

    func grant() {
        provider.set(
            "/gh/token", .init(#"{"access_token":"gho_1","token_type":"bearer","scope":"x"}"#))
    }

    /// GitHub answers 200 with an `error` while nothing is granted.
    func refuse(_ error: String) {
        provider.set("/gh/token", .init(#"{"error":"\#(error)"}"#))
    }

    func googleToken(_ claims: [String: String?] = [:]) -> String {
        provider.mint(clientID: "ios-app", now: clock.now).token(
            ["sub": "\"10769\"", "email": "\"ann@acme.example\""].merging(claims) { $1 })
    }

    /// As the app's web view sends it.
    func send(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        var all = fields + [Field("accept", "*/*")]
        if let token { all.append(Field("authorization", "Bearer \(token)")) }
        return try await call(method, path, json, fields: all)
    }

    func exchange(_ kind: String, _ body: String) async throws -> TestAnswer {
        try await send(.post, "/api/auth/exchange/\(kind)", body)
    }

    func signInWithGoogle() async throws -> String {
        let answer = try await exchange(
            "google", #"{"id_token":"\#(googleToken())","device_id":"\#(Self.device)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["app_jwt"]?.string ?? ""
    }

    /// The app's own `parseJWTUnsafe`.
    func payload(_ token: String) throws -> JSONValue {
        let jws = try #require(JWS(compact: Array(token.utf8)))
        return try JSONValue(parsing: jws.payload)
    }

    /// ES256 under a key of the published set.
    func expectSigned(
        _ token: String, type: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let jws = try #require(JWS(compact: Array(token.utf8)), sourceLocation: sourceLocation)
        let header = try JSONValue(parsing: jws.header)
        let kid = header["kid"]?.string ?? ""
        #expect(
            header
                == .object([
                    .init("alg", .string("ES256")), .init("typ", .string(type)),
                    .init("kid", .string(kid)),
                ]), sourceLocation: sourceLocation)
        let keys = try await service.send(.get, "/.well-known/jwks.json")
        let key = keys.json["keys"]?.array?.first { $0["kid"]?.string == kid }
        #expect(key?["alg"]?.string == "ES256", sourceLocation: sourceLocation)
        let x = try #require(Base64URL.decode(key?["x"]?.string ?? ""))
        let y = try #require(Base64URL.decode(key?["y"]?.string ?? ""))
        #expect(
            jws.isSigned(by: try VerificationKey(x: x, y: y)), sourceLocation: sourceLocation)
    }
}
