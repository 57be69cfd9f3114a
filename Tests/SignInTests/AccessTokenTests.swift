import API
import Cryptography
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct AccessTokenTests {
    private struct Fixture {
        var service: TestService
        var tenant: TenantRow
        var user: UserRow
        var claims: AccessTokenClaims
        var token: String

        static func make() async throws -> Fixture {
            let service = try await TestService.make()
            let tenant = try await service.makeTenant("acme")
            try await service.manage(
                .put, "/v1/tenants/acme/clients/immich", #"{"enabled":true}"#)
            let user = try await service.makeUser(
                "ann@acme.example", name: "Ann", password: "correct horse battery", in: tenant)
            let session = NewSession(
                tokenHash: RandomBytes.make(32), client: "immich", method: .oauth, seconds: 60)
            _ = try await service.storage.scope(tenant.id).change(by: .system) {
                try await $0.startSession(session, of: user.id)
            }
            let now = service.storage.clock()
            let claims = AccessTokenClaims(
                user: user.id, tenant: tenant.id, session: session.id, tokenID: "j",
                client: "immich", issuedAt: now, expiresAt: now.adding(seconds: 60))
            return Fixture(
                service: service, tenant: tenant, user: user, claims: claims,
                token: try await service.composition.application.tokens.sign(claims))
        }

        func me(_ token: String) async throws -> TestAnswer {
            try await service.send(.get, "/v1/me", as: .bearer(token))
        }
    }

    @Test func `a token of an app that is switched off is no credential`() async throws {
        let fixture = try await Fixture.make()
        #expect(try await fixture.me(fixture.token).status == 200)
        for (enabled, status) in [(false, 401), (true, 200)] {
            try await fixture.service.manage(
                .put, "/v1/tenants/acme/clients/immich", #"{"enabled":\#(enabled)}"#)
            let me = try await fixture.me(fixture.token)
            #expect(me.status == status, "\(me.text)")
            let told = try await fixture.service.send(
                .post, "/oauth/introspect", json: "token=\(fixture.token)", as: .platformOwner,
                fields: [Field("content-type", "application/x-www-form-urlencoded")])
            #expect(told.json["active"]?.bool == enabled)
        }
    }

    @Test func `a person in an app is a principal with the rights of their role`() async throws {
        let fixture = try await Fixture.make()
        let me = try await fixture.me(fixture.token)
        #expect(me.status == 200, "\(me.text)")
        #expect(me.json["principal"]?.string == "user")
        #expect(me.json["id"]?.string == fixture.user.id.description)
        let keys = try await fixture.service.send(.get, "/.well-known/jwks.json")
        #expect(keys.status == 200)
        #expect(keys.json["keys"]?.array?.count == 1)
        #expect(keys.json["keys"]?.array?.first?["alg"]?.string == "ES256")
        #expect(keys.json["keys"]?.array?.first?["d"] == nil)
        let tenants = try await fixture.service.send(
            .post, "/v1/tenants", json: #"{"slug":"mine","name":"M"}"#, as: .bearer(fixture.token))
        #expect(tenants.status == 403)
    }

    @Test
    func `a token is refused once its session is over, its person suspended, or it is changed`()
        async throws
    {
        let fixture = try await Fixture.make()
        let parts = fixture.token.split(separator: ".").map(String.init)
        let other = try SigningKey()
        let header = JSONValue.object([
            .init("alg", .string("ES256")), .init("typ", .string("at+jwt")),
            .init("kid", .string(other.thumbprint)),
        ])
        let forged = try JWS.sign(
            header: header.encoded(), payload: Base64URL.decode(parts[1]) ?? [], with: other)
        var late = fixture.claims
        late.expiresAt = late.issuedAt.adding(seconds: -1)
        let none = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + ".\(parts[1])."
        for token in [
            forged, none, "\(parts[0]).\(parts[1]).\(parts[2].reversed())",
            try await fixture.service.composition.application.tokens.sign(late),
        ] {
            #expect(try await fixture.me(token).status == 401)
        }
        let user = "/v1/tenants/acme/users/\(fixture.user.id)"
        _ = try await fixture.service.send(.post, "\(user)/suspend", as: .platformOwner)
        #expect(try await fixture.me(fixture.token).json["code"]?.string == "user_suspended")
        _ = try await fixture.service.send(.post, "\(user)/resume", as: .platformOwner)
        #expect(try await fixture.me(fixture.token).status == 200)
        _ = try await fixture.service.send(.delete, "\(user)/sessions", as: .platformOwner)
        #expect(try await fixture.me(fixture.token).status == 401)
    }
}
