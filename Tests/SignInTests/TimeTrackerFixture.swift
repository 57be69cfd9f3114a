import Cryptography
import Gatehouse
import HTTP
import JSON
import Runtime
import Storage
import TestSupport
import Testing
import Text

/// A tenant with the client `timetracker` switched on and a provider that knows who is invited.
struct TimeTrackerFixture: ClientFixture {
    static let headers = ", x-api-key"
    static let redirect = "timetracker://oauth/callback"
    static let mount = "/t/acme/timetracker"
    static let webCallback = "http://gatehouse.test\(mount)/auth/callback"
    static let address = "johndoe@acme.example"

    let service: TestService
    let tenant: TenantRow
    let provider: TestProvider

    static func make(
        settings: String = "{}", logger: Logger? = nil, clock: TestClock? = nil
    ) async throws -> TimeTrackerFixture {
        let service = try await TestService.make(
            logger: logger, clock: TestClock.reading(clock))
        let tenant = try await service.makeTenant("acme")
        let set = try await service.send(
            .put, "/v1/tenants/acme/clients/timetracker",
            json: #"""
                {"enabled":true,"hosts":["time.acme.example"],
                "redirect_uris":["\#(redirect)","\#(webCallback)"],"settings":\#(settings)}
                """#, as: .platformOwner)
        #expect(set.status == 200, "\(set.text)")
        try await allowOrigin(service, credentials: true)
        let provider = try await TestProvider.start()
        let made = try await service.send(
            .post, "/v1/providers",
            json: #"{"kind":"oidc","name":"Test","issuer":"\#(provider.issuer)","#
                + #""client_id":"web","secret":"s3cret","email_trust":"verified_claim"}"#,
            as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
        return TimeTrackerFixture(service: service, tenant: tenant, provider: provider)
    }

    func invite(_ email: String = Self.address) async throws {
        let answer = try await service.send(
            .post, "/v1/tenants/acme/invites", json: #"{"email":"\#(email)"}"#,
            as: .platformOwner)
        #expect(answer.status == 201, "\(answer.text)")
    }

    /// As the app sends it: the type of a body is named even where there is none.
    func send(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        var all = fields
        all.append(Field("content-type", "application/json"))
        all.append(Field("accept", "application/json"))
        if let token { all.append(Field("authorization", "Bearer \(token)")) }
        return try await call(method, path, json, fields: all)
    }

    /// The browser opens the sign-in, with the redirect address as it stands.
    func login(_ query: String = "?redirect_uri=\(Self.redirect)") async throws -> TestAnswer {
        try await service.send(
            .get, "\(Self.mount)/auth/login\(query)",
            fields: [Field("accept", "text/html,application/xhtml+xml")])
    }

    /// Begins, and gives the query that the browser is sent to the provider with.
    func begin(_ query: String = "?redirect_uri=\(Self.redirect)") async throws -> FormText {
        Self.query(of: try await login(query))
    }

    static func query(of answer: TestAnswer) -> FormText {
        #expect(answer.status == 302, "\(answer.text)")
        return FormText(String((answer.first("location") ?? "").drop { $0 != "?" }.dropFirst()))
    }

    /// The provider will redeem any code for this person.
    func grant(
        _ asked: FormText, email: String = Self.address, at now: Timestamp = Timestamp.systemClock()
    ) {
        let nonce = asked.first("nonce") ?? ""
        let token = provider.mint(clientID: "web", now: now).token([
            "nonce": "\"\(nonce)\"", "email": "\"\(email)\"", "email_verified": "true",
            "sub": "\"\(email)\"", "name": "\"John Doe\"",
        ])
        provider.set("/token", .init(#"{"id_token":"\#(token)","access_token":"a"}"#))
    }

    /// Swift's encoder writes a slash as `\/`.
    func exchange(
        _ state: String, code: String = "c0de",
        redirect: String = #"timetracker:\/\/oauth\/callback"#
    ) async throws -> TestAnswer {
        try await send(
            .post, "/auth/token",
            #"{"redirect_uri":"\#(redirect)","code":"\#(code)","state":"\#(state)"}"#)
    }

    /// The browser comes back from the provider, with the cookie that it was sent there with.
    func returnToPage(_ begun: TestAnswer) async throws -> TestAnswer {
        let state = Self.query(of: begun).first("state") ?? ""
        let cookie = String((begun.first("set-cookie") ?? "").prefix { $0 != ";" })
        return try await send(
            .get, "/auth/callback?code=c&state=\(state)", fields: [Field("cookie", cookie)])
    }

    /// An invited person's access token, with the answer that it came in.
    func signIn() async throws -> TestAnswer {
        let asked = try await begin()
        grant(asked)
        let answer = try await exchange(asked.first("state") ?? "")
        #expect(answer.status == 200, "\(answer.text)")
        return answer
    }
}
