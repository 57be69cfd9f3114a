import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct OperatorsTests {
    private static let body =
        #"{"email":"New@Example.com","role":"support","name":"New","scope":{"platform":true}}"#

    private static func body(in tenant: TenantRow) -> String {
        #"{"email":"New@Example.com","role":"support","name":"New","scope":{"tenant":"\#(tenant.slug)"}}"#
    }

    @Test func `a new operator's scope is asked for, and read in three forms`() async throws {
        let (service, acme) = try await TestService.makeWithTenant()
        func make(_ scope: String?, as who: TestService.Credential) async throws -> TestAnswer {
            let email = "\(UUID.random())@a.example"
            let rest = scope.map { #","scope":\#($0)"# } ?? ""
            return try await service.send(
                .post, "/v1/operators", json: #"{"email":"\#(email)","role":"admin"\#(rest)}"#,
                as: who)
        }
        for who: TestService.Credential in [.platformOwner, .tenantAdmin(acme)] {
            for scope in [nil, "{}", #"{"platform":false}"#, #"{"platform":true,"tenant":"acme"}"#]
            {
                let answer = try await make(scope, as: who)
                #expect(answer.status == 422, "\(scope ?? "none") \(answer.text)")
                #expect(answer.json["errors"]?.array?.first?["pointer"]?.string == "/scope")
            }
            for scope in [
                #"{"tenant":"acme"}"#, #"{"tenant":"\#(acme.id)"}"#,
                #"{"tenant_id":"\#(acme.id)"}"#,
            ] {
                let answer = try await make(scope, as: who)
                #expect(answer.status == 201, "\(scope) \(answer.text)")
                #expect(answer.json["scope"]?["tenant_id"]?.string == acme.id.description)
            }
        }
        let wide = try await make(#"{"platform":true}"#, as: .platformOwner)
        #expect(wide.status == 201 && wide.json["scope"]?["tenant_id"]?.isNull == true)
        #expect(try await make(#"{"platform":true}"#, as: .tenantAdmin(acme)).status == 403)
        #expect(try await make(#"{"tenant":"none"}"#, as: .platformOwner).status == 422)
    }

    @Test func `a new operator signs in once by the link`() async throws {
        let service = try await TestService.make()
        let made = try await service.send(
            .post, "/v1/operators", json: Self.body, as: .platformOwner)
        #expect(made.status == 201)
        #expect(made.json["status"]?.string == "pending")
        #expect(made.json["scope"]?["tenant_id"]?.isNull == true)
        #expect(made.first("cache-control") == "no-store")
        let link = made.json["sign_in_url"]?.string ?? ""
        #expect(link.hasPrefix("http://gatehouse.test/console/sign-in#token="))
        let token = link.split(separator: "=").last.map(String.init) ?? ""
        let signIn = #"{"token":"\#(token)"}"#
        #expect(try await service.send(.post, "/v1/session", json: signIn).status == 201)
        #expect(try await service.send(.post, "/v1/session", json: signIn).status == 401)
        let again = try await service.send(
            .post, "/v1/operators", json: Self.body, as: .platformOwner)
        #expect(again.status == 409)
        #expect(again.json["code"]?.string == "email_taken")
    }

    @Test func `input is checked, and the right is asked for`() async throws {
        let service = try await TestService.make()
        let bad = try await service.send(
            .post, "/v1/operators", json: #"{"email":"x","role":"king","scope":{"platform":true}}"#,
            as: .platformOwner)
        #expect(bad.status == 422)
        #expect(try await service.send(.post, "/v1/operators", json: Self.body).status == 401)
        let support = try await service.session(role: .support, tenant: nil)
        #expect(
            try await service.send(
                .post, "/v1/operators", json: Self.body, as: .session(support)
            ).status == 403)
        #expect(
            try await service.send(
                .get, "/v1/operators/\(UUID.random())", as: .platformOwner
            ).status == 404)
    }

    @Test func `a tenant's owner manages only the tenant's operators`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let made = try await service.send(
            .post, "/v1/operators", json: Self.body(in: acme), as: .tenantAdmin(acme))
        #expect(made.status == 201)
        #expect(made.json["scope"]?["tenant_id"]?.string == acme.id.description)
        #expect(made.json["scope"]?["tenant_name"]?.string == acme.name)
        let own = "/v1/operators/\(made.json["id"]?.string ?? "")"
        for who in [TestService.Credential.platformOwner, .tenantAdmin(acme)] {
            let one = try await service.send(.get, own, as: who)
            #expect(one.json["scope"]?["tenant_name"]?.string == acme.name, "\(one.text)")
            let same = try await service.send(
                .patch, own, json: String(decoding: one.json.encoded(), as: UTF8.self), as: who)
            #expect(same.json["scope"]?["tenant_name"]?.string == acme.name, "\(same.text)")
        }
        let listed = try await service.send(.get, "/v1/operators", as: .platformOwner)
        let names = listed.json["items"]?.array?.compactMap { $0["scope"]?["tenant_name"]?.string }
        #expect(Set(names ?? []) == [acme.name], "\(listed.text)")
        let path = "/v1/operators/\(made.json["id"]?.string ?? "")"
        for method in [HTTP.Method.get, .delete] {
            #expect(try await service.send(method, path, as: .tenantAdmin(other)).status == 404)
        }
        let foreign = try await service.send(
            .post, "/v1/operators",
            json:
                #"{"email":"b@example.com","role":"admin","scope":{"tenant_id":"\#(other.id)"}}"#,
            as: .tenantAdmin(acme))
        #expect(foreign.status == 404)
        let list = try await service.send(.get, "/v1/operators", as: .tenantAdmin(acme))
        #expect(list.json["items"]?.array?.count == 2)
        #expect(list.json["total"]?["value"]?.int == 2)
    }

    @Test func `the last owner stays`() async throws {
        let service = try await TestService.make()
        _ = try await service.session(role: .owner, tenant: nil)
        let list = try await service.send(.get, "/v1/operators", as: .platformOwner)
        let path = "/v1/operators/\(list.json["items"]?.array?.first?["id"]?.string ?? "")"
        #expect(try await service.send(.delete, path, as: .platformOwner).status == 409)
        for json in [#"{"role":"admin"}"#, #"{"status":"suspended"}"#] {
            #expect(
                try await service.send(.patch, path, json: json, as: .platformOwner).status == 409)
        }
        let same = try await service.send(
            .patch, path, json: #"{"name":"First"}"#, as: .platformOwner)
        #expect(same.status == 200)
        #expect(same.json["name"]?.string == "First")
    }

    @Test func `a changed operator has another tag, and a removed one no session`() async throws {
        let service = try await TestService.make()
        let session = try await service.session(role: .support, tenant: nil)
        let me = try await service.send(.get, "/v1/session", as: .session(session))
        let path = "/v1/operators/\(me.json["operator"]?["id"]?.string ?? "")"
        let before = try await service.send(.get, path, as: .platformOwner)
        let changed = try await service.send(
            .patch, path, json: #"{"role":"auditor"}"#, as: .platformOwner,
            fields: [Field("if-match", before.first("etag") ?? "")])
        #expect(changed.status == 200)
        #expect(changed.json["role"]?.string == "auditor")
        #expect(
            try await service.send(
                .delete, path, as: .platformOwner,
                fields: [Field("if-match", before.first("etag") ?? "")]
            ).status == 412)
        #expect(try await service.send(.delete, path, as: .platformOwner).status == 204)
        #expect(
            try await service.send(.get, "/v1/session", as: .session(session)).status == 401)
    }

    @Test func `another start shows the same set-up link, and one that was made since`()
        async throws
    {
        let service = try await TestService.make()
        func shown() async throws -> String? {
            if case .token(let token) = try await service.storage.openSetup() { return token }
            return nil
        }
        let first = try #require(try await shown())
        #expect(try await shown() == first)
        let state = try await service.storage.setupState(
            tokenHash: try #require(TokenSecret.hash(first)))
        #expect(state == .open)
        let made = try #require(try await service.storage.renewSetup())
        #expect(made != first)
        #expect(try await shown() == made)
        // Of a version that kept a random one nobody else knows the token: it stays good.
        let token = TokenSecret.make()
        _ = try await service.storage.app.query(
            "UPDATE setup SET salt = NULL, token_hash = \(TokenSecret.hash(token))")
        #expect(try await shown() == nil)
        let known = try await service.storage.setupState(
            tokenHash: try #require(TokenSecret.hash(token)))
        #expect(known == .open)
    }

    @Test func `set-up makes the first owner once and is closed for ever after`() async throws {
        let service = try await TestService.make()
        func body(_ token: String, password: String = "a sentence is a password") -> String {
            #"{"token":"\#(token)","name":"Ada","email":"ada@example.com","password":"\#(password)"}"#
        }
        #expect(
            try await service.send(.post, "/v1/setup", json: body(TokenSecret.make())).status
                == 404)
        let token = try #require(try await service.storage.renewSetup())
        #expect(
            try await service.send(
                .post, "/v1/setup", json: body(token, password: "short")
            ).status == 422)
        #expect(
            try await service.send(.post, "/v1/setup", json: body(TokenSecret.make())).status
                == 401)
        func isSetUp() async throws -> Bool? {
            try await service.send(.get, "/v1/session/ways").json["set_up"]?.bool
        }
        #expect(try await isSetUp() == false)
        let made = try await service.send(.post, "/v1/setup", json: body(token))
        #expect(made.status == 201)
        #expect(try await isSetUp() == true)
        #expect(made.json["role"]?.string == "owner")
        #expect(made.first("set-cookie")?.hasPrefix("gatehouse=") == true)
        #expect(
            try await service.send(.post, "/v1/setup", json: body(token)).status == 404)
        #expect(try await service.storage.renewSetup() == nil)
        guard case .closed = try await service.storage.openSetup() else {
            Issue.record("the set-up is open again")
            return
        }
        let signIn = try await service.send(
            .post, "/v1/session",
            json: #"{"email":"ada@example.com","password":"a sentence is a password"}"#)
        #expect(signIn.status == 201)
    }
}
