import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// What `/oauth/introspect` tells of apps' tokens; of keys, `KeyVerificationTests` has more.
@Suite(.cleansUp) struct IntrospectionTests {
    private static let inactive = #"{"active":false}"#

    @Test func `introspection of an app's token contains the user's external id`()
        async throws
    {
        let service = try await TestService.make()
        let fixture = try await Fixture.make(service, try await service.makeTenant("acme"))
        for token in fixture.tokens {
            #expect(try await Self.introspected(token, service)["external_id"] == nil)
        }
        try await service.manage(
            .patch, "/v1/tenants/acme/users/\(fixture.user.id)", #"{"external_id":"former-7"}"#)
        for token in fixture.tokens {
            #expect(
                try await Self.introspected(token, service)["external_id"]?.string == "former-7")
        }
    }

    private struct Fixture {
        var service: TestService
        var tenant: TenantRow
        var user: UserRow
        var claims: AccessTokenClaims
        /// An access token and an opaque one, each with a session of its own.
        var tokens: [String]

        static func make(_ service: TestService, _ tenant: TenantRow) async throws -> Fixture {
            try await service.manage(
                .put, "/v1/tenants/acme/clients/immich", #"{"enabled":true}"#)
            let user = try await service.makeUser(
                "ann@acme.example", name: "Ann", password: "correct horse battery", in: tenant)
            let opaque = TenantToken.make(locator: tenant.locator)
            let sessions = [RandomBytes.make(32), TenantToken.hash(opaque)].map {
                NewSession(tokenHash: $0, client: "immich", method: .oauth, seconds: 60)
            }
            _ = try await service.storage.scope(tenant.id).change(by: .system) {
                for session in sessions { _ = try await $0.startSession(session, of: user.id) }
            }
            let now = service.storage.clock()
            let claims = AccessTokenClaims(
                user: user.id, tenant: tenant.id, session: sessions[0].id, tokenID: "j",
                client: "immich", issuedAt: now, expiresAt: now.adding(seconds: 60))
            let signed = try await service.composition.application.tokens.sign(claims)
            return Fixture(
                service: service, tenant: tenant, user: user, claims: claims,
                tokens: [signed, opaque])
        }

        func areActive() async throws -> [Bool?] {
            var found: [Bool?] = []
            for token in tokens {
                found.append(
                    try await IntrospectionTests.introspected(token, service)["active"]?.bool)
            }
            return found
        }

        func asPlatform(_ method: Method, _ path: String) async throws {
            let answer = try await service.send(
                method, "/v1/tenants/acme\(path)", as: .platformOwner)
            #expect((200..<300).contains(answer.status), "\(path): \(answer.text)")
        }
    }

    fileprivate static func introspected(
        _ token: String, _ service: TestService, as who: TestService.Credential = .platformOwner
    ) async throws -> JSONValue {
        let answer = try await service.send(
            .post, "/oauth/introspect", json: "token=\(token)", as: who,
            fields: [Field("content-type", "application/x-www-form-urlencoded")])
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    @Test func `the introspection of an app's token states its person, client and times`()
        async throws
    {
        let clock = TestClock()
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        let fixture = try await Fixture.make(service, tenant)
        let now = Int(clock.now.microseconds / 1_000_000)
        for token in fixture.tokens {
            let told = try await Self.introspected(token, service, as: .tenantAdmin(tenant))
            #expect(told["active"]?.bool == true, "\(told)")
            #expect(told["sub"]?.string == fixture.user.id.description)
            #expect(told["tenant_id"]?.string == tenant.id.description)
            #expect(told["username"]?.string == "ann@acme.example")
            #expect(told["client_id"]?.string == "immich")
            #expect(told["aud"]?.string == "immich")
            #expect(told["iss"]?.string == "http://gatehouse.test")
            #expect(told["token_type"]?.string == "Bearer")
            #expect(told["iat"]?.int == now)
            #expect(told["exp"]?.int == now + 60)
        }
    }

    @Test func `a token ends with its time, its session, its person and its tenant`()
        async throws
    {
        let clock = TestClock()
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        let fixture = try await Fixture.make(service, tenant)
        let user = "/users/\(fixture.user.id)"
        #expect(try await fixture.areActive() == [true, true])
        try await fixture.asPlatform(.post, "\(user)/suspend")
        #expect(try await fixture.areActive() == [false, false])
        try await fixture.asPlatform(.post, "\(user)/resume")
        #expect(try await fixture.areActive() == [true, true])
        try await fixture.asPlatform(.post, "/suspend")
        #expect(try await fixture.areActive() == [false, false])
        try await fixture.asPlatform(.post, "/resume")
        #expect(try await fixture.areActive() == [true, true])
        clock.advance(seconds: 60)
        #expect(try await fixture.areActive() == [false, false])
        clock.advance(seconds: -60)
        try await fixture.asPlatform(.delete, "\(user)/sessions")
        #expect(try await fixture.areActive() == [false, false])
    }

    @Test func `another tenant and a caller without the right learn nothing`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let fixture = try await Fixture.make(service, tenant)
        let other = try await service.makeTenant("other")
        for token in fixture.tokens {
            for who in [TestService.Credential.tenantAdmin(other), .bearer(fixture.tokens[0])] {
                let answer = try await Self.introspected(token, service, as: who)
                #expect(String(decoding: answer.encoded(), as: UTF8.self) == Self.inactive)
            }
        }
    }

    @Test func `a forged, a mixed and a misdirected token are not active`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let fixture = try await Fixture.make(service, tenant)
        let other = try await service.makeTenant("other")
        let parts = fixture.tokens[0].split(separator: ".").map(String.init)
        let forger = try SigningKey()
        let header = JSONValue.object([
            .init("alg", .string("ES256")), .init("typ", .string("at+jwt")),
            .init("kid", .string(forger.thumbprint)),
        ])
        var misdirected = fixture.claims
        misdirected.client = "relate"
        var moved = fixture.claims
        moved.tenant = other.id
        var lent = fixture.claims
        lent.user = UUID.random()
        let tokens = service.composition.application.tokens
        for token in [
            try JWS.sign(
                header: header.encoded(), payload: Base64URL.decode(parts[1]) ?? [],
                with: forger),
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])",
            try await tokens.sign(misdirected), try await tokens.sign(moved),
            try await tokens.sign(lent),
            try await tokens.sign(
                JSONValue(parsing: Base64URL.decode(parts[1]) ?? []), type: "JWT"),
            TenantToken.make(locator: tenant.locator),
            other.locator + fixture.tokens[1].dropFirst(6), "x", ".", "gate_live_x",
        ] {
            let answer = try await Self.introspected(token, service)
            #expect(String(decoding: answer.encoded(), as: UTF8.self) == Self.inactive)
        }
    }

    @Test func `a key over its limit stays active, and asking uses nothing of the limit up`()
        async throws
    {
        let clock = TestClock()
        clock.startMinute()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        let made = try await service.send(
            .post, "/v1/tenants/acme/api-keys",
            json: #"{"name":"k","scopes":["smtp"],"rate_limit":{"per_minute":2}}"#,
            as: .platformOwner)
        let key = try #require(made.json["key"]?.string, "\(made.text)")
        for _ in 0..<5 {
            #expect(try await Self.introspected(key, service)["active"]?.bool == true)
        }
        var statuses: [Int] = []
        for _ in 0..<3 {
            statuses.append(try await service.send(.get, "/v1/me", as: .bearer(key)).status)
        }
        #expect(statuses == [200, 200, 429])
        #expect(try await Self.introspected(key, service)["active"]?.bool == true)
    }
}
