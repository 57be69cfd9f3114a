import Cryptography
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Apps that are clients of their own at a provider: one public and one with a secret, at one issuer.
@Suite(.cleansUp) struct OwnClientTests {
    private struct Fixture {
        static let redirect = "timetracker://oauth/callback"
        let service: TestService
        let tenant: TenantRow
        let provider: TestProvider
        let providerID: String

        init() async throws {
            service = try await TestService.make()
            tenant = try await service.makeTenant("acme")
            provider = try await TestProvider.start()
            let made = try await service.manage(
                .post, "/v1/providers",
                #"{"kind":"oidc","name":"P","issuer":"\#(provider.issuer)","client_id":"web","#
                    + #""secret":"of the provider","email_trust":"verified_claim"}"#)
            providerID = made["id"]?.string ?? ""
            try await service.manage(
                .post, "/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
        }

        @discardableResult
        func set(_ client: String, _ settings: String) async throws -> TestAnswer {
            try await service.send(
                .put, "/v1/tenants/acme/clients/\(client)",
                json: #"{"enabled":true,"redirect_uris":["\#(Self.redirect)"],"#
                    + #""settings":{\#(settings)}}"#, as: .tenantAdmin(tenant))
        }

        /// Signs Ann in at the timetracker; the provider gives a token to this client.
        func signIn(_ client: String) async throws -> TestAnswer {
            let begun = try await service.send(
                .get, "/t/acme/timetracker/auth/login?redirect_uri=\(Self.redirect)")
            #expect(begun.status == 302, "\(begun.text)")
            guard begun.status == 302 else { return begun }
            let asked = TimeTrackerFixture.query(of: begun)
            #expect(asked.first("client_id") == "tracker")
            let token = provider.mint(clientID: client, now: Timestamp.systemClock())
                .token(["nonce": "\"\(asked.first("nonce") ?? "")\""])
            provider.set("/token", .init(#"{"id_token":"\#(token)","access_token":"a"}"#))
            return try await service.send(
                .post, "/t/acme/timetracker/auth/token",
                json: #"{"code":"c","state":"\#(asked.first("state") ?? "")","#
                    + #""redirect_uri":"\#(Self.redirect)"}"#)
        }
    }

    @Test func `a public app and one with a secret share an issuer, each with its own tokens`()
        async throws
    {
        let fixture = try await Fixture()
        let set = try await fixture.set("timetracker", #""client_id":"tracker","secret":"sh-h""#)
        #expect(set.status == 200, "\(set.text)")
        #expect(set.json["secret_set"] == .bool(true))
        #expect(!set.text.contains("sh-h"))
        try await fixture.set("relate", #""client_id":"mail""#)
        let config = try await fixture.service.send(.get, "/t/acme/relate/config/config.json")
        #expect(config.json["oidcClientId"]?.string == "mail", "\(config.text)")
        let answer = try await fixture.signIn("tracker")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            fixture.provider.lastCredential(of: "/token") == "Basic dHJhY2tlcjpzaC1o")
        // Each mount takes its own client's tokens alone, not even the provider's.
        #expect(try await fixture.signIn("mail").status == 400)
        #expect(try await fixture.signIn("web").status == 400)
        for (client, status) in [("mail", 200), ("tracker", 401), ("web", 401)] {
            let token = fixture.provider.mint(clientID: client, now: Timestamp.systemClock())
                .token()
            let profile = try await fixture.service.send(
                .get, "/t/acme/relate/api/profile",
                fields: [Field("authorization", "Bearer \(token)")])
            #expect(profile.status == status, "\(client) \(profile.text)")
        }
    }

    @Test func `no response shows the secret; it is kept with its settings and sent nowhere else`()
        async throws
    {
        let fixture = try await Fixture()
        for settings in [
            #""secret":"s""#, #""client_id":"tracker","secret":"s","provider":"github""#,
        ] {
            let refused = try await fixture.set("timetracker", settings)
            #expect(refused.status == 422, "\(refused.text)")
            #expect(
                refused.json["errors"]?.array?.first?["pointer"]?.string == "/settings/secret")
        }
        try await fixture.set("timetracker", #""client_id":"tracker","secret":"sh-h""#)
        let list = try await fixture.service.send(
            .get, "/v1/tenants/acme/clients", as: .tenantAdmin(fixture.tenant))
        let audit = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events", as: .tenantAdmin(fixture.tenant))
        #expect(!list.text.contains("sh-h") && !audit.text.contains("sh-h"))
        #expect(audit.text.contains("client.secret_changed"))
        let sealed = try await fixture.service.storage.app.read(
            "SELECT encode(sealed, 'escape') FROM client_secrets")
        #expect(try !sealed[0].get(0, as: String.self).contains("sh-h"))
        // What GET gave may be sent back, and keeps it.
        let kept = try await fixture.set(
            "timetracker", #""client_id":"tracker","token_seconds":60"#)
        #expect(kept.json["secret_set"] == .bool(true), "\(kept.text)")
        #expect(try await fixture.signIn("tracker").status == 200)
        // A moved endpoint of the provider is sent no secret.
        let thief =
            #"{"endpoints":{"token_endpoint":"\#(fixture.provider.issuer)/thief"},"secret":null}"#
        try await fixture.service.manage(.patch, "/v1/providers/\(fixture.providerID)", thief)
        let moved = try await fixture.service.send(
            .get, "/t/acme/timetracker/auth/login?redirect_uri=\(Fixture.redirect)")
        #expect(moved.status == 400, "\(moved.text)")
        #expect(fixture.provider.fetches(of: "/thief") == 0)
        let failed = try await fixture.service.send(
            .get, "/v1/tenants/acme/failed-sign-ins", as: .tenantAdmin(fixture.tenant))
        #expect(
            failed.json["items"]?.array?.first?["reason"]?.string
                == "the provider has changed since the client's secret was set: set it again",
            "\(failed.text)")
        let cleared = try await fixture.set("timetracker", #""client_id":"tracker""#)
        #expect(cleared.json["secret_set"] == .bool(false), "\(cleared.text)")
        try await fixture.set("timetracker", #""client_id":"tracker","secret":"again""#)
        for settings in [#""client_id":"other""#, #""client_id":"tracker","secret":null"#] {
            let gone = try await fixture.set("timetracker", settings)
            #expect(gone.json["secret_set"] == .bool(false), "\(settings)")
        }
    }

    @Test func `userinfo may be signed, and then only by the provider and for us`() async throws {
        let fixture = try await Fixture()
        try await fixture.service.manage(
            .patch, "/v1/providers/\(fixture.providerID)",
            #"{"endpoints":{"userinfo_endpoint":"\#(fixture.provider.issuer)/userinfo"},"#
                + #""secret":"of the provider"}"#)
        try await fixture.set("timetracker", #""client_id":"tracker""#)
        func signIn(_ info: String, type: String = "application/jwt") async throws -> Int {
            let begun = try await fixture.service.send(
                .get, "/t/acme/timetracker/auth/login?redirect_uri=\(Fixture.redirect)")
            let asked = TimeTrackerFixture.query(of: begun)
            let token = fixture.provider.mint(clientID: "tracker", now: Timestamp.systemClock())
                .token([
                    "nonce": "\"\(asked.first("nonce") ?? "")\"", "email": nil,
                    "email_verified": nil,
                ])
            fixture.provider.set("/token", .init(#"{"id_token":"\#(token)","access_token":"a"}"#))
            fixture.provider.set("/userinfo", .init(type: type, info))
            return try await fixture.service.send(
                .post, "/t/acme/timetracker/auth/token",
                json: #"{"code":"c","state":"\#(asked.first("state") ?? "")","#
                    + #""redirect_uri":"\#(Fixture.redirect)"}"#
            ).status
        }
        let mint = fixture.provider.mint(clientID: "tracker", now: Timestamp.systemClock())
        // Another person's is not read: without an address a stranger has no user here.
        let another = try await signIn(mint.token(["sub": "\"person-2\""]))
        #expect(another == 403)
        // Nor is what is not the provider's word: the person is proved, their address is not.
        let stranger = TokenMint(
            issuer: fixture.provider.issuer, clientID: "tracker", key: try .init(), now: mint.now)
        for bad in [
            mint.token(["iss": "\"https://other.example\""]), mint.token(["aud": "\"web\""]),
            mint.token(["iss": nil]), mint.token(["aud": nil]), mint.token(["exp": "1"]),
            stranger.token(header: ["kid": "\"\(fixture.provider.key.thumbprint)\""]),
            mint.token(header: ["alg": "\"none\""]), "no token",
        ] {
            #expect(try await signIn(bad) == 403, "\(bad)")
        }
        let timeless: [String: String?] = ["iat": nil, "exp": nil]
        #expect(try await signIn(mint.token(timeless)) == 200)
        #expect(try await signIn(mint.token(), type: "application/jwt;charset=utf-8") == 200)
    }
}
