import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// `/v1/provisioning/sign-in` against a provider of our own.
@Suite(.cleansUp) struct TokenSignInTests {
    private struct Fixture {
        let service: TestService
        let provider: TestProvider
        let tenant: TenantRow
        let log: CapturedLog
        let clock: TestClock

        func mint(_ clientID: String = "web") -> TokenMint {
            provider.mint(clientID: clientID, now: clock.now)
        }

        func send(
            _ token: String, _ body: String = "{}", fields: [Field] = []
        ) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/provisioning/sign-in", json: body, as: .bearer(token), fields: fields)
        }

        @discardableResult
        func register(_ more: String = "", kind: String = "oidc") async throws -> TestAnswer {
            let answer = try await service.send(
                .post, "/v1/providers",
                json: #"{"kind":"\#(kind)","name":"Test","issuer":"\#(provider.issuer)","#
                    + #""client_id":"web","email_trust":"verified_claim"\#(more)}"#,
                as: .platformOwner)
            #expect(answer.status == 201, "\(answer.text)")
            return answer
        }

        func invite(_ email: String) async throws {
            let answer = try await service.send(
                .post, "/v1/tenants/acme/invites", json: #"{"email":"\#(email)"}"#,
                as: .platformOwner)
            #expect(answer.status == 201, "\(answer.text)")
        }
    }

    private func make() async throws -> Fixture {
        let log = CapturedLog()
        // Held still: a token that is one second too early must not ripen while others are sent.
        let clock = TestClock()
        let service = try await TestService.make(logger: log.logger, clock: { clock.now })
        let provider = try await TestProvider.start()
        return Fixture(
            service: service, provider: provider, tenant: try await service.makeTenant("acme"),
            log: log, clock: clock)
    }

    @Test func `an invited person's token links the invite, and the next one is known`()
        async throws
    {
        let fixture = try await make()
        try await fixture.register()
        try await fixture.invite("ann@example.com")
        let token = fixture.mint().token()
        let first = try await fixture.send(token)
        #expect(first.status == 200, "\(first.text)")
        #expect(first.json["outcome"]?.string == "linked", "\(first.text)")
        #expect(first.json["user"]?["email"]?.string == "ann@example.com")
        #expect(first.json["tenant"]?["slug"]?.string == "acme")
        #expect(first.json["token"] == nil)
        #expect(first.first("cache-control") == "no-store")
        #expect(try await fixture.send(token).bytes == first.bytes)
        let later = try await fixture.send(fixture.mint().token(["jti": "\"2\""]))
        #expect(later.json["outcome"]?.string == "existing")
        #expect(later.json["user"]?["id"] == first.json["user"]?["id"])
    }

    @Test func `a stranger is refused by the rules, with 200`() async throws {
        let fixture = try await make()
        try await fixture.register()
        let answer = try await fixture.send(fixture.mint().token())
        #expect(answer.status == 200)
        #expect(answer.json["outcome"]?.string == "refused")
        #expect(answer.json["reason"]?.string == "no_tenant")
    }

    @Test func `every hostile token gets the same text, and only the log has the reason`()
        async throws
    {
        let fixture = try await make()
        try await fixture.register()
        try await fixture.invite("ann@example.com")
        let tokens = fixture.mint().hostile(ahead: 3600).filter { !$0.text.isEmpty }
        #expect(tokens.count >= 60)
        var texts: Set<String> = []
        for token in tokens {
            let answer = try await fixture.send(
                token.text, fields: [Field("x-request-id", "r-1")])
            #expect(answer.status == 401, "\(token): \(answer.text)")
            texts.insert(answer.json["detail"]?.string ?? "")
            #expect(answer.first("www-authenticate")?.contains("invalid_token") == true)
            #expect(!answer.text.contains(token.fault), "\(token)")
        }
        #expect(texts == ["The id token is not accepted."])
        let reasons = fixture.log.lines
            .filter { $0.contains("id token: ") }
        #expect(reasons.count == tokens.count)
        for fault in Set(tokens.map(\.fault)) where fault != "issuer_mismatch" {
            #expect(fixture.log.text.contains("id token: \(fault)"), "\(fault)")
        }
        #expect(!fixture.log.text.contains("eyJ"))
        #expect(fixture.provider.fetches(of: TestProvider.keysPath) == 1)
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users?status=active", as: .platformOwner)
        #expect(users.json["items"]?.array?.isEmpty == true)
    }

    @Test func `without a token, or with two, nothing is looked at`() async throws {
        let fixture = try await make()
        for fields in [
            [], [Field("authorization", "Basic YTpi")], [Field("authorization", "Bearer")],
            [Field("authorization", "Bearer a"), Field("authorization", "Bearer b")],
        ] {
            let answer = try await fixture.service.send(
                .post, "/v1/provisioning/sign-in", json: "{}", fields: fields)
            #expect(answer.status == 401, "\(fields)")
        }
        let typo = try await fixture.send(fixture.mint().token(), #"{"tenants":"acme"}"#)
        #expect(typo.status == 422)
    }

    @Test func `a provider that cannot be asked makes 503, never 401`() async throws {
        let fixture = try await make()
        try await fixture.register()
        fixture.provider.set(TestProvider.keysPath, .init(status: 500, "{}"))
        let answer = try await fixture.send(fixture.mint().token())
        #expect(answer.status == 503)
        #expect(answer.first("retry-after") != nil)
        #expect(answer.json["code"]?.string == "unavailable")
    }

    @Test func `a tenant's own provider leads to that tenant, by its own client`() async throws {
        let fixture = try await make()
        try await fixture.register()
        let own = try await fixture.service.send(
            .post, "/v1/providers",
            json: #"{"kind":"oidc","name":"Own","issuer":"\#(fixture.provider.issuer)","#
                + #""client_id":"own","email_trust":"verified_claim","tenant":"acme"}"#,
            as: .platformOwner)
        #expect(own.status == 201, "\(own.text)")
        try await fixture.service.makeTenant("other")
        try await fixture.invite("ann@example.com")
        let token = fixture.mint("own").token()
        let elsewhere = try await fixture.send(token, #"{"tenant":"other"}"#)
        #expect(elsewhere.json["reason"]?.string == "no_tenant", "\(elsewhere.text)")
        let there = try await fixture.send(token)
        #expect(there.json["outcome"]?.string == "linked", "\(there.text)")
    }

    @Test func `a pool's federated user is the person behind the pool`() async throws {
        let fixture = try await make()
        let pool = "eu-central-1_abc"
        let made = try await fixture.service.send(
            .post, "/v1/providers",
            json: #"{"kind":"cognito","name":"Pool","issuer":"\#(pool)","#
                + #""email_trust":"verified_claim","endpoints":{"#
                + #""issuer":"\#(fixture.provider.issuer)/\#(pool)","#
                + #""authorization_endpoint":"\#(fixture.provider.issuer)/a","#
                + #""token_endpoint":"\#(fixture.provider.issuer)/t","#
                + #""jwks_uri":"\#(fixture.provider.issuer)/keys"}}"#,
            as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
        try await fixture.invite("ann@example.com")
        var claims: [String: String?] = [
            "iss": "\"\(fixture.provider.issuer)/\(pool)\"", "token_use": "\"id\"",
            "cognito:username": "\"Google_77\"",
            "identities": #"[{"providerName":"Google","userId":"77"}]"#,
        ]
        let answer = try await fixture.send(fixture.mint().token(claims))
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        let identity = answer.json["user"]?["identities"]?.array?.first
        #expect(identity?["provider"]?.string == "google")
        #expect(identity?["subject"]?.string == "77")
        claims["token_use"] = "\"access\""
        #expect(try await fixture.send(fixture.mint().token(claims)).status == 401)
    }

    @Test func `a provider's secret is kept sealed and never shown`() async throws {
        let fixture = try await make()
        let made = try await fixture.register(#","secret":"canary-s3cret""#)
        #expect(made.json["secret_set"]?.bool == true)
        let id = try #require(made.json["id"]?.string)
        let storage = fixture.service.storage
        let uuid = try #require(UUID(id))
        let row = try #require(try await storage.provider(uuid, owner: nil))
        let kept = try await storage.clientSecret(of: row)
        #expect(kept == "canary-s3cret")
        let stored = try await storage.app.read(
            "SELECT count(*) FROM providers WHERE secret = convert_to('canary-s3cret', 'UTF8')")
        #expect(try stored[0].get(0, as: Int64.self) == 0)
        for (body, isSet) in [
            (#"{"name":"Renamed"}"#, true), (#"{"secret":null}"#, false),
            (#"{"secret":"canary-s3cret-2"}"#, true),
        ] {
            let changed = try await fixture.service.send(
                .patch, "/v1/providers/\(id)", json: body, as: .platformOwner)
            #expect(changed.status == 200, "\(changed.text)")
            #expect(changed.json["secret_set"]?.bool == isSet, "\(body)")
            #expect(!changed.text.contains("canary"))
        }
        let audit = try await fixture.service.send(
            .get, "/v1/audit-events", as: .platformOwner)
        #expect(audit.text.contains("provider.secret_changed"))
        #expect(!audit.text.contains("canary"))
        #expect(!fixture.log.text.contains("canary"))
    }

    @Test func `a user who was signed out everywhere needs a newer token`() async throws {
        let fixture = try await make()
        try await fixture.register()
        try await fixture.invite("ann@ex.com")
        func token(_ times: [String: String?]) -> String {
            var claims: [String: String?] = [
                "email": #""ann@ex.com""#, "email_verified": "true",
            ]
            for (name, value) in times { claims[name] = value }
            return fixture.mint().token(claims)
        }
        let first = try await fixture.send(token([:]))
        let user = try #require(first.json["user"]?["id"]?.string, "\(first.text)")
        fixture.clock.advance(seconds: 100)
        let cut = fixture.clock.now.microseconds / 1_000_000
        let path = "/v1/tenants/acme/users/\(user)"
        let one = try await fixture.service.send(.post, "\(path)/suspend", as: .platformOwner)
        #expect(one.status == 200)
        _ = try await fixture.service.send(.post, "\(path)/resume", as: .platformOwner)
        // A suspension sets no cut.
        #expect(try await fixture.send(token(["iat": "\(cut - 50)"])).status == 200)
        let ended = try await fixture.service.send(
            .delete, "\(path)/sessions", as: .platformOwner)
        #expect(ended.status == 204)
        fixture.clock.advance(seconds: 5)
        let decisions = try await fixture.service.storage.platform.read(
            "SELECT 1 FROM decisions")
        for times in [
            ["iat": "\(cut - 1)"], ["iat": "\(cut)"],
            ["iat": "\(cut + 2)", "auth_time": "\(cut)"],
        ] as [[String: String?]] {
            let old = try await fixture.send(token(times))
            #expect(old.status == 401, "\(times) \(old.text)")
            #expect(old.json["detail"]?.string == "The id token is not accepted.")
        }
        let after = try await fixture.service.storage.platform.read("SELECT 1 FROM decisions")
        #expect(after.count == decisions.count)
        for times in [
            ["iat": "\(cut + 1)"], ["iat": "\(cut + 2)", "auth_time": "\(cut + 1)"],
        ] as [[String: String?]] {
            #expect(try await fixture.send(token(times)).status == 200, "\(times)")
        }
    }
}
