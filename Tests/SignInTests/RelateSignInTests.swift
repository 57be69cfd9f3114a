import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

/// Discovery, and the provider's access token that the app brings.
@Suite(.cleansUp) struct RelateSignInTests {
    private static let profile = "/api/profile"

    @Test
    func `R1 discovery is JSON that any origin may read, and a client that is off is not there`()
        async throws
    {
        let fixture = try await RelateFixture.make(
            settings: #"{"imap":{"server":"imap.acme.example","port":143,"secure_port":993}}"#)
        // The base address may end in a slash.
        for path in ["/api/discovery", "//api/discovery"] {
            let discovery = try await fixture.send(.get, path)
            expectAnswer(
                discovery,
                #"{"version":"1.0.0","apiVersion":"v1","oidcEnabled":true,"#
                    + #""features":["imap","api-keys","oidc"]}"#)
            #expect(discovery.first("access-control-allow-origin") == "*")
        }
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/relate", #"{"enabled":false}"#)
        for path in ["/api/discovery", "/config/config.json"] {
            expectNotFound(try await fixture.send(.get, path))
        }
    }

    @Test func `R10 the person changes the shown name, and no address`() async throws {
        let fixture = try await RelateFixture.make()
        let token = "Bearer opaque"
        func put(_ json: String) async throws -> TestAnswer {
            try await fixture.send(.put, Self.profile, json, as: token)
        }
        let renamed = try await put(#"{"displayName":"Ann Other"}"#)
        #expect(renamed.status == 200, "\(renamed.text)")
        #expect(renamed.json["displayName"]?.string == "Ann Other")
        // Null and absent leave it as it is.
        for json in ["{}", #"{"displayName":null}"#] {
            #expect(try await put(json).json["displayName"]?.string == "Ann Other")
        }
        for (json, text) in [
            (#"{"displayName":" "}"#, "DisplayName is required"),
            (#"{"displayName":7}"#, "DisplayName is required"),
            (
                #"{"displayName":"\#(String(repeating: "x", count: 201))"}"#,
                "DisplayName must be 200 characters or less"
            ),
        ] {
            expectOnlyError(try await put(json), 400, text)
        }
        let seen = try await fixture.send(.get, Self.profile, as: token)
        #expect(seen.json["displayName"]?.string == "Ann Other")
    }

    @Test func `R2 the configuration names the provider, and a scope of the client's own`()
        async throws
    {
        for (settings, scope) in [
            ("{}", "openid profile email"), (#"{"oidc_scope":"openid email"}"#, "openid email"),
        ] {
            let fixture = try await RelateFixture.make(settings: settings)
            let config = try await fixture.send(.get, "/config/config.json")
            expectAnswer(
                config,
                #"{"oidcAuthority":"\#(fixture.provider.issuer)","oidcClientId":"mail","#
                    + #""oidcRedirectUri":"relate-mail://auth/callback","oidcScope":"\#(scope)"}"#)
            #expect(config.first("cache-control") == "public, max-age=300")
            #expect(config.first("access-control-allow-origin") == "*")
        }
    }

    @Test func `R1 R2 without a provider there is no OIDC, and every string is there and empty`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        _ = try await service.send(
            .put, "/v1/tenants/acme/clients/relate", json: #"{"enabled":true}"#,
            as: .tenantAdmin(acme))
        let discovery = try await service.send(.get, "/t/acme/relate/api/discovery")
        expectAnswer(
            discovery,
            #"{"version":"1.0.0","apiVersion":"v1","oidcEnabled":false,"features":["api-keys"]}"#)
        let config = try await service.send(.get, "/t/acme/relate/config/config.json")
        expectAnswer(
            config,
            #"{"oidcAuthority":"","oidcClientId":"","oidcRedirectUri":"","#
                + #""oidcScope":"openid profile email"}"#)
        let bearer = try await service.send(
            .get, "/t/acme/relate/api/profile", as: .bearer("opaque"))
        expectBare401(bearer)
    }

    @Test func `R4 a token that only the provider can read is asked after, and shows the person`()
        async throws
    {
        let fixture = try await RelateFixture.make()
        let answer = try await fixture.send(.get, Self.profile, as: "bearer opaque")
        let (id, created) = (answer.json["id"], answer.json["createdAt"])
        let last = answer.json["lastLoginAt"]
        expectRandomUUID(id)
        expectDate(created)
        expectDate(last)
        expectAnswer(
            answer,
            #"{"id":"\#(id?.string ?? "")","email":"ann@acme.example","displayName":"Ann","#
                + #""createdAt":"\#(created?.string ?? "")","#
                + #""lastLoginAt":"\#(last?.string ?? "")","additionalAddresses":[]}"#)
        let again = try await fixture.send(.get, Self.profile, as: "Bearer opaque")
        #expect(again.json["id"] == answer.json["id"])
        #expect(fixture.provider.fetches(of: "/introspect") == 2)
        // A person of whom the provider knows no name.
        try await fixture.inviteBob()
        let bob = try await fixture.send(.get, Self.profile, as: "Bearer another")
        #expect(bob.status == 200 && bob.json["displayName"] == .null, "\(bob.text)")
        expectBare401(try await fixture.send(.get, Self.profile))
    }

    @Test func `R4 every internal fault has one text`() async throws {
        let fixture = try await RelateFixture.make()
        let key = try await fixture.key()
        let database = fixture.service.database
        let owner = database.client(as: database.owner)
        _ = try await owner.query("REVOKE SELECT ON users FROM gatehouse_app")
        expectOnlyError(
            try await fixture.send(.get, Self.profile, as: "ApiKey \(key.text)"), 500,
            "An unexpected error occurred")
    }

    @Test func `R4 one address brings 300 tokens of its provider a minute`() async throws {
        let clock = TestClock()
        let fixture = try await RelateFixture.make(clock: clock)
        clock.startMinute()
        fixture.provider.set("/introspect", .init(#"{"active":false}"#))
        for _ in 0..<300 { _ = try await fixture.send(.get, Self.profile, as: "Bearer opaque") }
        let held = try await fixture.send(.get, Self.profile, as: "Bearer opaque")
        expectOnlyError(held, 429, "Too many attempts; wait 60 seconds.")
        #expect(held.first("retry-after") == "60")
        #expect(fixture.provider.fetches(of: "/introspect") == 300)
        clock.advance(seconds: 60)
        expectBare401(try await fixture.send(.get, Self.profile, as: "Bearer opaque"))
    }

    @Test func `R10 addresses are not changed here, and an allowed page may read that`()
        async throws
    {
        let fixture = try await RelateFixture.make()
        let key = "ApiKey \(try await fixture.key().text)"
        let calls: [(HTTP.Method, String, String?)] = [
            (.post, "\(Self.profile)/addresses", #"{"address":"a@acme.example"}"#),
            (.delete, "\(Self.profile)/addresses/\(UUID.random())", nil),
        ]
        for (method, path, body) in calls {
            expectNotFound(try await fixture.send(method, path, body, as: key))
        }
        try await fixture.expectPreflights(calls.map { ($0.0, $0.1) })
    }

    @Test func `R4 a signed token is checked by the provider's keys, and the address asked for`()
        async throws
    {
        let fixture = try await RelateFixture.make(introspects: false)
        for token in [
            fixture.signedToken(), fixture.signedToken(header: ["typ": "\"at+jwt\""]),
            fixture.signedToken(["azp": nil, "client_id": "\"mail\""]),
            fixture.signedToken(["azp": nil, "aud": "\"mail\""]),
        ] {
            let answer = try await fixture.send(.get, Self.profile, as: "Bearer \(token)")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["email"]?.string == "ann@acme.example")
        }
    }

    @Test func `R4 a token of another client, an unknown, expired or forged one is an empty 401`()
        async throws
    {
        let fixture = try await RelateFixture.make(introspects: false)
        let now = Timestamp.systemClock().microseconds / 1_000_000
        for token in [
            fixture.signedToken(["azp": "\"other\""]),
            fixture.signedToken(["azp": nil, "client_id": "\"other\"", "aud": "\"mail\""]),
            fixture.signedToken(["azp": nil]), fixture.signedToken(["exp": "\(now - 3600)"]),
            fixture.signedToken(["iss": "\"https://evil.example\""]),
            fixture.signedToken(["sub": nil]), fixture.signedToken() + "x", "opaque", "a.b.c",
        ] {
            expectBare401(try await fixture.send(.get, Self.profile, as: "Bearer \(token)"))
        }
        expectBare401(try await fixture.send(.get, Self.profile))
        // An address of another person's userinfo is not taken.
        fixture.provider.set(
            "/userinfo",
            .init(#"{"sub":"bob","email":"ann@acme.example","email_verified":true}"#))
        let other = try await fixture.send(
            .get, Self.profile, as: "Bearer \(fixture.signedToken())")
        #expect(other.status == 403, "\(other.text)")
    }

    @Test func `the provider's answer about a token decides`() async throws {
        let fixture = try await RelateFixture.make()
        for page in [
            #"{"active":false}"#, #"{"active":true,"sub":"ann-1","client_id":"other"}"#,
            #"{"active":true,"sub":"ann-1"}"#, #"{"active":true,"client_id":"mail"}"#,
            #"{"active":"true","sub":"ann-1","client_id":"mail"}"#,
            #"{"active":true,"sub":"ann-1","client_id":"other","aud":"mail"}"#,
        ] {
            fixture.provider.set("/introspect", .init(page))
            expectBare401(try await fixture.send(.get, Self.profile, as: "Bearer opaque"))
        }
        fixture.provider.set("/introspect", .init(status: 500, "no"))
        let away = try await fixture.send(.get, Self.profile, as: "Bearer opaque")
        #expect(away.status == 503 && away.json["error"]?.string != nil)
        #expect(away.first("retry-after") == "5")
    }

    @Test func `a person without an invite and a suspended one get 403`() async throws {
        let fixture = try await RelateFixture.make()
        fixture.provider.set(
            "/userinfo",
            .init(#"{"sub":"ann-1","email":"eve@other.example","email_verified":true}"#))
        let stranger = try await fixture.send(.get, Self.profile, as: "Bearer opaque")
        #expect(stranger.status == 403 && stranger.json.members?.count == 1, "\(stranger.text)")
        fixture.know(client: "mail")
        let me = try await fixture.send(.get, Self.profile, as: "Bearer opaque")
        let user = me.json["id"]?.string ?? ""
        _ = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/suspend", as: .platformOwner)
        let suspended = try await fixture.send(.get, Self.profile, as: "Bearer opaque")
        #expect(suspended.status == 403, "\(suspended.text)")
    }

    @Test func `one token is one sign-in, however often the app comes with it`() async throws {
        let fixture = try await RelateFixture.make()
        func decisions() async throws -> [String?] {
            let answer = try await fixture.service.send(
                .get, "/v1/tenants/acme/provisioning/decisions?sort=created_at",
                as: .platformOwner)
            return (answer.json["items"]?.array ?? []).map { $0["outcome"]?.string }
        }
        for _ in 0..<3 {
            let profile = try await fixture.send(.get, "/api/profile", as: "Bearer opaque")
            #expect(profile.status == 200, "\(profile.text)")
        }
        _ = try await fixture.key()
        #expect(try await decisions() == ["linked"])
        // The next time the provider gives another token.
        let again = try await fixture.send(.get, "/api/profile", as: "Bearer another")
        #expect(again.status == 200)
        #expect(try await decisions() == ["linked", "existing"])
        // Who is suspended meanwhile is refused with the token that was good.
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        let id = users.json["items"]?.array?.first?["id"]?.string ?? ""
        try await fixture.service.manage(.post, "/v1/tenants/acme/users/\(id)/suspend", "{}")
        for _ in 0..<2 {
            let refused = try await fixture.send(.get, "/api/profile", as: "Bearer opaque")
            #expect(refused.status == 403)
        }
        #expect(try await decisions() == ["linked", "existing", "refused"])
    }
}
