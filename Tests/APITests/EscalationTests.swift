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
    private func key(_ stage: UserStage, _ scopes: String) async throws -> String {
        let made = try await stage.service.send(
            .post, "/v1/tenants/acme/api-keys", json: #"{"name":"k","scopes":[\#(scopes)]}"#,
            as: .tenantAdmin(stage.tenant))
        return try #require(made.json["key"]?.string, "\(made.text)")
    }

    @Test func `a tenant's key does not purge`() async throws {
        let stage = try await UserStage.make()
        let id = try await stage.make("a@a.example")
        let key = try await key(stage, #""users:write""#)
        let answer = try await stage.service.send(
            .delete, "/v1/tenants/acme/users/\(id)?purge=true", as: .bearer(key))
        #expect(answer.status == 403, "\(answer.text)")
        let deleted = try await stage.service.send(
            .delete, "/v1/tenants/acme/users/\(id)", as: .bearer(key))
        #expect(deleted.status == 204, "\(deleted.text)")
    }

    /// The row of a user who never signed in ends with the invite that made it.
    @Test func `a key outlives no user`() async throws {
        let stage = try await UserStage.make()
        let tenant = "/v1/tenants/acme"
        let owner = TestService.Credential.tenantAdmin(stage.tenant)
        let invite = try await stage.service.send(
            .post, tenant + "/invites", json: #"{"email":"x@a.example"}"#, as: owner)
        let pending = try await stage.send(.get, "?q=x@a.example").json["items"]?.array ?? []
        let user = try #require(pending.first?["id"]?.string)
        let made = try await stage.service.send(
            .post, tenant + "/api-keys",
            json: #"{"name":"k","owner":{"type":"user","id":"\#(user)"},"scopes":["smtp"]}"#,
            as: owner)
        let key = try #require(made.json["key"]?.string, "\(made.text)")
        #expect(try await stage.service.send(.get, "/v1/me", as: .bearer(key)).status == 401)
        let id = try #require(invite.json["id"]?.string, "\(invite.text)")
        let revoked = try await stage.service.send(
            .post, tenant + "/invites/\(id)/revoke", as: owner)
        #expect(revoked.status == 200, "\(revoked.text)")
        #expect(try await stage.send(.get, "/\(user)").status == 404)
        #expect(try await stage.service.send(.get, "/v1/me", as: .bearer(key)).status == 401)
    }

    @Test func `a key makes no operator who may do more than the key`() async throws {
        let stage = try await UserStage.make()
        let key = try await key(stage, #""operators:write""#)
        for role in ["owner", "admin", "auditor"] {
            let answer = try await stage.service.send(
                .post, "/v1/operators",
                json: #"{"email":"\#(role)@a.example","role":"\#(role)"}"#, as: .bearer(key))
            #expect(answer.status == 403, "\(role) \(answer.text)")
        }
    }

    @Test func `a suspended tenant's operators are refused until it is resumed`() async throws {
        let stage = try await UserStage.make()
        #expect(try await stage.send(.get, "").status == 200)
        for (verb, status) in [("suspend", 403), ("resume", 200)] {
            let done = try await stage.service.send(
                .post, "/v1/tenants/acme/\(verb)", as: .platformOwner)
            #expect(done.status == 200, "\(done.text)")
            let answer = try await stage.send(.get, "")
            #expect(answer.status == status, "\(answer.text)")
            let everywhere = try await stage.service.send(
                .get, "/v1/operators", as: .tenantAdmin(stage.tenant))
            #expect(everywhere.status == status, "\(everywhere.text)")
        }
    }

    @Test func `the console's cookie reads nothing for a page of another origin`() async throws {
        let stage = try await UserStage.make()
        let token = try await stage.service.session(role: "owner", tenant: nil)
        for (site, status) in [("same-site", 403), ("cross-site", 403), ("same-origin", 200)] {
            let fields = [
                Field("cookie", "gatehouse=\(token)"), Field("sec-fetch-site", site),
            ]
            let answer = try await stage.service.send(
                .get, "/v1/tenants/acme/users", fields: fields)
            #expect(answer.status == status, "\(site) \(answer.text)")
        }
    }

    @Test func `a write by the console's cookie has to come from our own origin`() async throws {
        let stage = try await UserStage.make()
        let token = try await stage.service.session(role: "owner", tenant: nil)
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
            let answer = try await stage.service.send(
                .post, "/v1/tenants", json: #"{"slug":"t\#(index)x","name":"T"}"#,
                fields: cookie + more)
            #expect(answer.status == status, "\(more) \(answer.text)")
        }
    }

    @Test func `a sign-in that meets a suspension does not lift it`() async throws {
        let stage = try await UserStage.make()
        let storage = stage.service.storage
        let person = try await storage.createOperator(
            email: "o@a.example", emailKey: "o@a.example", name: "O", role: "owner",
            tenant: nil, passwordHash: nil, by: .system)
        _ = try await stage.service.session(role: "owner", tenant: nil)
        let suspended = try await stage.service.send(
            .patch, "/v1/operators/\(person.id)", json: #"{"status":"suspended"}"#,
            as: .platformOwner)
        #expect(suspended.status == 200, "\(suspended.text)")
        // The password was proved against the row as it was before.
        let hash = try #require(TokenSecret.hash(TokenSecret.make()))
        await #expect(throws: StorageFailure.self) {
            try await storage.startOperatorSession(
                person, tokenHash: hash, userAgent: nil, by: .system)
        }
        #expect(try await storage.operatorRow(person.id)?.status == "suspended")
    }
}
