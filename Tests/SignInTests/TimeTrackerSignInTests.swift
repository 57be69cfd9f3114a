import Cryptography
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct TimeTrackerSignInTests {
    private static let over = "OIDC session not found or expired. Initiate login again."
    private static let unproved =
        "Failed to exchange token: the provider's answer could not be verified."

    @Test func `T1 the browser is sent to the provider with state and the server's own challenge`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        let answer = try await fixture.login()
        expectEmpty(answer, 302)
        let location = answer.first("location") ?? ""
        #expect(location.hasPrefix("\(fixture.provider.issuer)/authorize?response_type=code&"))
        #expect(answer.first("cache-control") == "no-store")
        #expect(answer.first("set-cookie") == nil)
        let asked = TimeTrackerFixture.query(of: answer)
        let names = location.drop { $0 != "?" }.dropFirst().split(separator: "&").map {
            String($0.prefix { $0 != "=" })
        }
        #expect(
            names == [
                "response_type", "client_id", "redirect_uri", "scope", "state", "nonce",
                "code_challenge", "code_challenge_method",
            ])
        #expect(asked.first("client_id") == "web")
        #expect(asked.first("scope") == "openid profile email")
        #expect(asked.first("redirect_uri") == TimeTrackerFixture.redirect)
        #expect(asked.first("code_challenge_method") == "S256")
        #expect(asked.first("code_challenge").flatMap { Base64URL.decode($0) }?.count == 32)
        let escaped = try await fixture.begin("?redirect_uri=timetracker%3A%2F%2Foauth%2Fcallback")
        #expect(escaped.first("redirect_uri") == TimeTrackerFixture.redirect)
        #expect(escaped.first("state") != asked.first("state"))
        // A page may read where it would be sent.
        let read = try await fixture.call(
            .get, "/auth/login?redirect_uri=\(TimeTrackerFixture.redirect)")
        expectEmpty(read, 302)
    }

    @Test func `T1 a redirect address that is not registered is 400`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        let text = "The redirect address is not registered for this client."
        for query in [
            "?redirect_uri=https://evil.example/", "?redirect_uri=timetracker://oauth/callback/",
            "?redirect_uri=Timetracker://oauth/callback", "?redirect_uri=",
            "?redirect_uri=timetracker://oauth/callback&redirect_uri=https://evil.example/", "",
        ] {
            expectOnlyError(try await fixture.login(query), 400, text)
        }
    }

    @Test func `T1 without a provider, or with one that is away, the login says so in its words`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        fixture.provider.set(TestProvider.discoveryPath, .init(status: 500, "no"))
        let away = try await fixture.login()
        expectOnlyError(away, 503, "Failed to initiate login")
        #expect(away.first("retry-after") == "5")
        _ = try await fixture.service.send(
            .put, "/v1/tenants/acme/clients/timetracker",
            json: """
                {"enabled":true,"redirect_uris":["\(TimeTrackerFixture.redirect)"],
                "settings":{"provider":"nobody"}}
                """, as: .tenantAdmin(fixture.tenant))
        expectOnlyError(try await fixture.login(), 500, "Failed to initiate login")
    }

    @Test func `T3 an invited person's code becomes an access token, once`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let asked = try await fixture.begin()
        fixture.grant(asked)
        let state = asked.first("state") ?? ""
        let answer = try await fixture.exchange(state)
        let token = try #require(answer.json["access_token"]?.string)
        let id = try #require(answer.json["user"]?["id"]?.string)
        expectRandomUUID(.string(id))
        expectAnswer(
            answer,
            #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3600,"#
                + #""user":{"id":"\#(id)","username":"johndoe","fullName":"John Doe","#
                + #""email":"johndoe@acme.example"}}"#)
        #expect(answer.first("cache-control") == "no-store")
        // The provider gets the stored address and the verifier of the challenge.
        let form = FormText(fixture.provider.lastBody(of: "/token"))
        #expect(form.first("redirect_uri") == TimeTrackerFixture.redirect)
        let hash = SHA256.hash(Array((form.first("code_verifier") ?? "").utf8))
        #expect(Base64URL.encode(hash) == asked.first("code_challenge"))
        #expect(form.first("code") == "c0de")
        // ES256 under a published key.
        let jws = try #require(JWS(compact: Array(token.utf8)))
        let header = try JSONValue(parsing: jws.header)
        #expect(header["alg"]?.string == "ES256")
        let keys = try await fixture.service.send(.get, "/.well-known/jwks.json")
        #expect(keys.json["keys"]?.array?.contains { $0["kid"] == header["kid"] } == true)
        expectOnlyError(try await fixture.exchange(state), 400, Self.over)
        // The same person again is the same user.
        let again = try await fixture.signIn()
        #expect(again.json["user"]?["id"]?.string == id)
    }

    @Test func `T3 how long a token lasts is a setting`() async throws {
        let fixture = try await TimeTrackerFixture.make(settings: #"{"token_seconds":2592000}"#)
        try await fixture.invite()
        #expect(try await fixture.signIn().json["expires_in"]?.int == 2_592_000)
    }

    @Test func `T3 missing parameters, an unknown state and another redirect address are 400`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        for body in [
            "{}", #"{"code":"c"}"#, #"{"state":"s"}"#, #"{"code":"","state":"s"}"#,
            #"{"code":1,"state":"s"}"#,
        ] {
            expectOnlyError(
                try await fixture.send(.post, "/auth/token", body), 400,
                "Missing required parameters: code, state")
        }
        expectOnlyError(
            try await fixture.send(.post, "/auth/token", "{"), 400,
            "The body cannot be read as JSON: a member name is expected at byte 1.")
        expectOnlyError(try await fixture.exchange("never-begun"), 400, Self.over)
        for redirect in [#"https:\/\/evil.example\/"#, TimeTrackerFixture.webCallback, ""] {
            let asked = try await fixture.begin()
            fixture.grant(asked)
            let state = asked.first("state") ?? ""
            expectOnlyError(try await fixture.exchange(state, redirect: redirect), 400, Self.over)
            // The state is used up by the attempt.
            expectOnlyError(try await fixture.exchange(state), 400, Self.over)
        }
        #expect(fixture.provider.fetches(of: "/token") == 0)
    }

    @Test
    func `T3 a refused code, a foreign token and a provider that is away keep the app's form`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let refused = try await fixture.begin()
        fixture.provider.set("/token", .init(status: 400, #"{"error":"invalid_grant"}"#))
        expectOnlyError(
            try await fixture.exchange(refused.first("state") ?? ""), 400, Self.unproved)
        let first = try await fixture.begin()
        let second = try await fixture.begin()
        fixture.grant(first)
        expectOnlyError(try await fixture.exchange(second.first("state") ?? ""), 400, Self.unproved)
        let away = try await fixture.begin()
        fixture.provider.set("/token", .init(status: 502, "no"))
        let answer = try await fixture.exchange(away.first("state") ?? "")
        expectOnlyError(
            answer, 503, "Failed to exchange token: the provider cannot be asked; try again.")
        #expect(answer.first("retry-after") == "5")
    }

    @Test func `T3 a sign-in that began ten minutes ago is over`() async throws {
        let clock = TestClock()
        let fixture = try await TimeTrackerFixture.make(clock: clock)
        try await fixture.invite()
        let inTime = try await fixture.begin()
        clock.advance(seconds: 599)
        fixture.grant(inTime, at: clock.now)
        #expect(try await fixture.exchange(inTime.first("state") ?? "").status == 200)
        let late = try await fixture.begin()
        clock.advance(seconds: 600)
        fixture.grant(late, at: clock.now)
        expectOnlyError(try await fixture.exchange(late.first("state") ?? ""), 400, Self.over)
    }

    @Test func `T3 a stranger is refused with 403 and a reference, never with 401`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        let asked = try await fixture.begin()
        fixture.grant(asked, email: "stranger@other.example")
        let answer = try await fixture.exchange(asked.first("state") ?? "")
        #expect(answer.status == 403, "\(answer.text)")
        #expect(answer.json.members?.map(\.name) == ["error"])
        let decisions = try await fixture.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        #expect(decisions.json["items"]?.array?.count == 1)
    }

    @Test func `a provider that names itself in its redirect works, though the app drops that`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make(
            settings: #"{"app_url":"https://time.acme.example"}"#)
        try await fixture.invite()
        let issuer = fixture.provider.issuer
        fixture.provider.set(
            TestProvider.discoveryPath,
            .init(
                """
                {"issuer":"\(issuer)","jwks_uri":"\(issuer)\(TestProvider.keysPath)",
                "authorization_endpoint":"\(issuer)/authorize","token_endpoint":"\(issuer)/token",
                "authorization_response_iss_parameter_supported":true}
                """))
        _ = try await fixture.signIn()
        // Where the redirect reaches this server, the name has to be there.
        let begun = try await fixture.login("")
        fixture.grant(TimeTrackerFixture.query(of: begun))
        let back = try await fixture.returnToPage(begun)
        #expect(back.first("location")?.hasSuffix("?error=authentication_failed") == true)
    }

    @Test func `people sign in by whatever OpenSSL signs with a published key`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        // As Rauthy does: RS256 is published too, whatever this client's tokens bear.
        let keys = try OpenSSLKey.algorithms.map { try OpenSSLKey($0) }
        fixture.provider.publish(keys: keys.map(\.jwk))
        for key in keys {
            let asked = try await fixture.begin()
            let claims = fixture.provider.mint(clientID: "web", now: Timestamp.systemClock())
                .token([
                    "nonce": "\"\(asked.first("nonce") ?? "")\"",
                    "email": "\"\(TimeTrackerFixture.address)\"", "azp": "null",
                ])
            let token = try key.token(
                payloadOf: claims, header: #","jku":"http://127.0.0.1:1/keys""#)
            fixture.provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
            let answer = try await fixture.exchange(asked.first("state") ?? "")
            #expect(answer.status == 200, "\(key.algorithm) \(answer.text)")
        }
    }

    @Test func `every hostile id token gets one text, and its reason stands in the log alone`()
        async throws
    {
        let log = CapturedLog()
        let fixture = try await TimeTrackerFixture.make(
            settings: #"{"app_url":"https://time.acme.example"}"#, logger: log.logger)
        try await fixture.invite()
        let mint = fixture.provider.mint(clientID: "web", now: Timestamp.systemClock())
        let tokens = mint.hostile(ahead: 3600)
        #expect(tokens.count >= 60)
        for token in tokens {
            let asked = try await fixture.begin()
            let body = JSONValue.object([.init("id_token", .string(token.text))]).encoded()
            fixture.provider.set("/token", .init(String(decoding: body, as: UTF8.self)))
            let answer = try await fixture.exchange(asked.first("state") ?? "")
            #expect(answer.status == 400, "\(token)")
            #expect(answer.json == .object([.init("error", .string(Self.unproved))]), "\(token)")
        }
        let refused = log.lines.filter { $0.contains("sign-in: id token: ") }
        #expect(refused.count == tokens.count)
        // The web page's way tells its page nothing, and the log as much.
        let back = try await fixture.returnToPage(try await fixture.login(""))
        #expect(back.status == 302)
        #expect(log.lines.count { $0.contains("sign-in: id token: ") } == tokens.count + 1)
        #expect(!log.text.contains("eyJ"))
    }
}
