import HTTP
import JSON
import TestSupport
import Testing
import Text

/// Discovery, and the provider's access token that the app brings.
struct RelateSignInTests {
    private static let profile = "/api/profile"

    @Test func `discovery and configuration are JSON that any origin may read`() async throws {
        let stage = try await RelateStage.make(
            settings: #"{"imap":{"server":"imap.acme.example","port":143,"secure_port":993}}"#)
        let discovery = try await stage.send(.get, "/api/discovery")
        #expect(discovery.status == 200)
        #expect(discovery.first("content-type")?.contains("application/json") == true)
        #expect(discovery.first("access-control-allow-origin") == "*")
        #expect(
            discovery.text == #"{"version":"1.0.0","apiVersion":"v1","oidcEnabled":true,"#
                + #""features":["imap","api-keys","oidc"]}"#)
        // The base address may end in a slash.
        let config = try await stage.send(.get, "//config/config.json")
        #expect(config.status == 200)
        #expect(config.first("cache-control") == "public, max-age=300")
        #expect(
            config.json
                == .object([
                    .init("oidcAuthority", .string(stage.provider.issuer)),
                    .init("oidcClientId", .string("mail")),
                    .init("oidcRedirectUri", .string("relate-mail://auth/callback")),
                    .init("oidcScope", .string("openid profile email")),
                ]))
        await stage.stop()
    }

    @Test func `without a provider there is no OIDC, and every string is there and empty`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        _ = try await service.send(
            .put, "/v1/tenants/acme/clients/relate", json: #"{"enabled":true}"#,
            as: .tenantAdmin(acme))
        let discovery = try await service.send(.get, "/t/acme/relate/api/discovery")
        #expect(discovery.json["oidcEnabled"] == .bool(false))
        #expect(discovery.json["features"] == .array([.string("api-keys")]))
        let config = try await service.send(.get, "/t/acme/relate/config/config.json")
        #expect(
            config.text == #"{"oidcAuthority":"","oidcClientId":"","oidcRedirectUri":"","#
                + #""oidcScope":"openid profile email"}"#)
        let bearer = try await service.send(
            .get, "/t/acme/relate/api/profile", as: .bearer("opaque"))
        expectBare401(bearer)
        await service.stop()
    }

    @Test func `a token that only the provider can read is asked after, and shows the person`()
        async throws
    {
        let stage = try await RelateStage.make()
        let answer = try await stage.send(.get, Self.profile, as: "bearer opaque")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            answer.json.members?.map(\.name)
                == [
                    "id", "email", "displayName", "createdAt", "lastLoginAt", "additionalAddresses",
                ])
        #expect(answer.json["email"]?.string == "ann@acme.example")
        #expect(answer.json["displayName"]?.string == "Ann")
        #expect(answer.json["additionalAddresses"] == .array([]))
        let again = try await stage.send(.get, Self.profile, as: "Bearer opaque")
        #expect(again.json["id"] == answer.json["id"])
        #expect(stage.provider.fetches(of: "/introspect") == 2)
        await stage.stop()
    }

    @Test func `a signed token is checked by the provider's keys, and the address asked for`()
        async throws
    {
        let stage = try await RelateStage.make(introspects: false)
        for token in [
            stage.signedToken(), stage.signedToken(header: ["typ": "\"at+jwt\""]),
            stage.signedToken(["azp": nil, "client_id": "\"mail\""]),
            stage.signedToken(["azp": nil, "aud": "\"mail\""]),
        ] {
            let answer = try await stage.send(.get, Self.profile, as: "Bearer \(token)")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["email"]?.string == "ann@acme.example")
        }
        await stage.stop()
    }

    @Test func `a token of another client, of nobody, too old or made up is an empty 401`()
        async throws
    {
        let stage = try await RelateStage.make(introspects: false)
        let now = Timestamp.systemClock().microseconds / 1_000_000
        for token in [
            stage.signedToken(["azp": "\"other\""]),
            stage.signedToken(["azp": nil, "client_id": "\"other\"", "aud": "\"mail\""]),
            stage.signedToken(["azp": nil]), stage.signedToken(["exp": "\(now - 3600)"]),
            stage.signedToken(["iss": "\"https://evil.example\""]),
            stage.signedToken(["sub": nil]), stage.signedToken() + "x", "opaque", "a.b.c",
        ] {
            expectBare401(try await stage.send(.get, Self.profile, as: "Bearer \(token)"))
        }
        expectBare401(try await stage.send(.get, Self.profile))
        // An address of another person's userinfo is not taken.
        stage.provider.set(
            "/userinfo",
            .init(#"{"sub":"bob","email":"ann@acme.example","email_verified":true}"#))
        let other = try await stage.send(
            .get, Self.profile, as: "Bearer \(stage.signedToken())")
        #expect(other.status == 403, "\(other.text)")
        await stage.stop()
    }

    @Test func `what the provider says of a token decides`() async throws {
        let stage = try await RelateStage.make()
        for page in [
            #"{"active":false}"#, #"{"active":true,"sub":"ann-1","client_id":"other"}"#,
            #"{"active":true,"sub":"ann-1"}"#, #"{"active":true,"client_id":"mail"}"#,
            #"{"active":"true","sub":"ann-1","client_id":"mail"}"#,
            #"{"active":true,"sub":"ann-1","client_id":"other","aud":"mail"}"#,
        ] {
            stage.provider.set("/introspect", .init(page))
            expectBare401(try await stage.send(.get, Self.profile, as: "Bearer opaque"))
        }
        stage.provider.set("/introspect", .init(status: 500, "no"))
        let away = try await stage.send(.get, Self.profile, as: "Bearer opaque")
        #expect(away.status == 503 && away.json["error"]?.string != nil)
        #expect(away.first("retry-after") == "5")
        await stage.stop()
    }

    @Test func `a person whom nobody invited, and a suspended one, are told 403`() async throws {
        let stage = try await RelateStage.make()
        stage.provider.set(
            "/userinfo",
            .init(#"{"sub":"ann-1","email":"eve@other.example","email_verified":true}"#))
        let stranger = try await stage.send(.get, Self.profile, as: "Bearer opaque")
        #expect(stranger.status == 403 && stranger.json.members?.count == 1, "\(stranger.text)")
        stage.know(client: "mail")
        let me = try await stage.send(.get, Self.profile, as: "Bearer opaque")
        let user = me.json["id"]?.string ?? ""
        _ = try await stage.service.send(
            .post, "/v1/tenants/acme/users/\(user)/suspend", as: .platformOwner)
        let suspended = try await stage.send(.get, Self.profile, as: "Bearer opaque")
        #expect(suspended.status == 403, "\(suspended.text)")
        await stage.stop()
    }

    @Test func `one token is one sign-in, however often the app comes with it`() async throws {
        let stage = try await RelateStage.make()
        func decisions() async throws -> [String?] {
            let answer = try await stage.service.send(
                .get, "/v1/tenants/acme/provisioning/decisions?sort=created_at",
                as: .platformOwner)
            return (answer.json["items"]?.array ?? []).map { $0["outcome"]?.string }
        }
        for _ in 0..<3 {
            let profile = try await stage.send(.get, "/api/profile", as: "Bearer opaque")
            #expect(profile.status == 200, "\(profile.text)")
        }
        _ = try await stage.key()
        #expect(try await decisions() == ["linked"])
        // The next time the provider gives another token.
        let again = try await stage.send(.get, "/api/profile", as: "Bearer another")
        #expect(again.status == 200)
        #expect(try await decisions() == ["linked", "existing"])
        // Who is suspended meanwhile is refused with the token that was good.
        let users = try await stage.service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        let id = users.json["items"]?.array?.first?["id"]?.string ?? ""
        try await stage.service.manage(.post, "/v1/tenants/acme/users/\(id)/suspend", "{}")
        for _ in 0..<2 {
            let refused = try await stage.send(.get, "/api/profile", as: "Bearer opaque")
            #expect(refused.status == 403)
        }
        #expect(try await decisions() == ["linked", "existing", "refused"])
        await stage.stop()
    }
}
