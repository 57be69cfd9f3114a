import Cryptography
import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Ways to more than one was given.
@Suite(.serialized, .cleansUp) struct EscalationTests {
    private func key(_ fixture: UserFixture, _ scopes: String) async throws -> String {
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/api-keys", json: #"{"name":"k","scopes":[\#(scopes)]}"#,
            as: .tenantAdmin(fixture.tenant))
        return try #require(made.json["key"]?.string, "\(made.text)")
    }

    @Test func `a tenant's key does not purge`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("a@a.example")
        let key = try await key(fixture, #""users:write""#)
        let answer = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(id)?purge=true", as: .bearer(key))
        #expect(answer.status == 403, "\(answer.text)")
        let deleted = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(id)", as: .bearer(key))
        #expect(deleted.status == 204, "\(deleted.text)")
    }

    /// The row of a user who never signed in ends with the invite that made it.
    @Test func `a key outlives no user`() async throws {
        let fixture = try await UserFixture.make()
        let tenant = "/v1/tenants/acme"
        let owner = TestService.Credential.tenantAdmin(fixture.tenant)
        let invite = try await fixture.service.send(
            .post, tenant + "/invites", json: #"{"email":"x@a.example"}"#, as: owner)
        let pending = try await fixture.send(.get, "?q=x@a.example").json["items"]?.array ?? []
        let user = try #require(pending.first?["id"]?.string)
        let made = try await fixture.service.send(
            .post, tenant + "/api-keys",
            json: #"{"name":"k","owner":{"type":"user","id":"\#(user)"},"scopes":["smtp"]}"#,
            as: owner)
        let key = try #require(made.json["key"]?.string, "\(made.text)")
        #expect(try await fixture.service.send(.get, "/v1/me", as: .bearer(key)).status == 401)
        let id = try #require(invite.json["id"]?.string, "\(invite.text)")
        let revoked = try await fixture.service.send(
            .post, tenant + "/invites/\(id)/revoke", as: owner)
        #expect(revoked.status == 200, "\(revoked.text)")
        #expect(try await fixture.send(.get, "/\(user)").status == 404)
        #expect(try await fixture.service.send(.get, "/v1/me", as: .bearer(key)).status == 401)
    }

    @Test func `a key makes no operator with more rights than its own`() async throws {
        let fixture = try await UserFixture.make()
        let key = try await key(fixture, #""operators:write""#)
        for role in ["owner", "admin", "auditor"] {
            let answer = try await fixture.service.send(
                .post, "/v1/operators",
                json:
                    #"{"email":"\#(role)@a.example","role":"\#(role)","scope":{"tenant":"acme"}}"#,
                as: .bearer(key))
            #expect(answer.status == 403, "\(role) \(answer.text)")
        }
    }

    @Test func `a suspended tenant's operators are refused until it is resumed`() async throws {
        let fixture = try await UserFixture.make()
        #expect(try await fixture.send(.get, "").status == 200)
        for (verb, status) in [("suspend", 403), ("resume", 200)] {
            let done = try await fixture.service.send(
                .post, "/v1/tenants/acme/\(verb)", as: .platformOwner)
            #expect(done.status == 200, "\(done.text)")
            let answer = try await fixture.send(.get, "")
            #expect(answer.status == status, "\(answer.text)")
            let everywhere = try await fixture.service.send(
                .get, "/v1/operators", as: .tenantAdmin(fixture.tenant))
            #expect(everywhere.status == status, "\(everywhere.text)")
        }
    }

    @Test func `the console's cookie reads nothing for a page of another origin`() async throws {
        let fixture = try await UserFixture.make()
        let token = try await fixture.service.session(role: .owner, tenant: nil)
        for (site, status) in [("same-site", 403), ("cross-site", 403), ("same-origin", 200)] {
            let fields = [
                Field("cookie", "gatehouse=\(token)"), Field("sec-fetch-site", site),
            ]
            let answer = try await fixture.service.send(
                .get, "/v1/tenants/acme/users", fields: fields)
            #expect(answer.status == status, "\(site) \(answer.text)")
        }
    }

    @Test func `a write by the console's cookie has to come from our own origin`() async throws {
        let fixture = try await UserFixture.make()
        let token = try await fixture.service.session(role: .owner, tenant: nil)
        let cookie = [
            Field("cookie", "gatehouse=\(token)"), Field("x-gatehouse-console", "1"),
        ]
        let cases: [(String?, String?, Int)] = [
            (nil, nil, 403), (nil, "https://evil.example", 403), (nil, "null", 403),
            (nil, "http://gatehouse.test", 201), ("same-origin", nil, 201),
            ("none", nil, 403), ("same-site", "http://gatehouse.test", 403),
        ]
        for (index, (site, origin, status)) in cases.enumerated() {
            let more =
                (site.map { [Field("sec-fetch-site", $0)] } ?? [])
                + (origin.map { [Field("origin", $0)] } ?? [])
            let answer = try await fixture.service.send(
                .post, "/v1/tenants", json: #"{"slug":"t\#(index)x","name":"T"}"#,
                fields: cookie + more)
            #expect(answer.status == status, "\(more) \(answer.text)")
        }
    }

    @Test func `a sign-in that meets a suspension does not lift it`() async throws {
        let fixture = try await UserFixture.make()
        let storage = fixture.service.storage
        let person = try await storage.createOperator(
            email: "o@a.example", emailKey: "o@a.example", name: "O", role: .owner,
            tenant: nil, passwordHash: nil, by: .system)
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let suspended = try await fixture.service.send(
            .patch, "/v1/operators/\(person.id)", json: #"{"status":"suspended"}"#,
            as: .platformOwner)
        #expect(suspended.status == 200, "\(suspended.text)")
        // The password was proved against the row as it was before.
        let hash = try #require(TokenSecret.hash(TokenSecret.make()))
        await #expect(throws: StorageFailure.self) {
            try await storage.startOperatorSession(
                person, tokenHash: hash, userAgent: nil, method: .password, by: .system)
        }
        #expect(try await storage.operatorRow(person.id)?.status == .suspended)
    }
}
