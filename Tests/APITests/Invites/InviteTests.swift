import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// `/v1/tenants/{tenant}/invites` and the acceptance page, over the real PostgreSQL.
@Suite(.cleansUp) struct InviteTests {
    private static let password = "correct horse battery staple"
    private static let invites = "/v1/tenants/acme/invites"

    private static func invite(
        _ service: TestService, _ body: String = #"{"email":"Ann@Example.com"}"#,
        as credential: TestService.Credential = .platformOwner, query: String = ""
    ) async throws -> TestAnswer {
        try await service.send(.post, invites + query, json: body, as: credential)
    }

    private static func accept(_ service: TestService, _ token: String) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","password":"\#(password)","name":"Ann"}"#)
    }

    @Test func `an invite is made once, with its link, and accepted once`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let made = try await Self.invite(service)
        #expect(made.status == 201)
        let token = try #require(made.json["token"]?.string)
        #expect(
            made.json["accept_url"]?.string == "http://gatehouse.test/invite#token=\(token)")
        #expect(token.utf8.count == 49)
        let again = try await Self.invite(service)
        #expect(again.status == 200)
        #expect(again.json["id"] == made.json["id"])
        #expect(again.json["token"] == nil)
        for _ in 0..<2 {
            let seen = try await service.send(
                .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#)
            #expect(seen.status == 200)
            #expect(seen.json["status"]?.string == "pending")
            #expect(seen.json["tenant"]?["name"]?.string == "acme")
        }
        let accepted = try await Self.accept(service, token)
        #expect(accepted.status == 200)
        #expect(accepted.json["user"]?["status"]?.string == "active")
        #expect(accepted.json["user"]?["role"]?.string == "member")
        #expect(accepted.json["user"]?["email"]?.string == "Ann@Example.com")
        let second = try await Self.accept(service, token)
        #expect(second.status == 409)
        #expect(second.json["code"]?.string == "invite_used")
        let dead = try await service.send(
            .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#)
        #expect(dead.status == 404)
        #expect(dead.json["code"]?.string == "invite_unknown")
        let taken = try await Self.invite(service)
        #expect(taken.status == 409)
        #expect(taken.json["conflicting_id"] == accepted.json["user"]?["id"])
    }

    @Test func `of many acceptances at once one succeeds`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let token = try #require(try await Self.invite(service).json["token"]?.string)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask { try await Self.accept(service, token).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 200 } == 1)
        #expect(statuses.count { $0 == 409 } == 5)
    }

    @Test func `many invitations of one address at once make one invite`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        _ = try await service.session(role: .owner, tenant: nil)
        let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
            for _ in 0..<6 { group.addTask { try await Self.invite(service) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 201 } == 1)
        #expect(answers.count { $0.status == 200 } == 5)
        #expect(Set(answers.compactMap { $0.json["id"]?.string }).count == 1)
    }

    @Test func `a revoked invite is dead at once and its unused row is gone`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let made = try await Self.invite(service)
        let id = try #require(made.json["id"]?.string)
        let token = try #require(made.json["token"]?.string)
        #expect(try await Self.users(service, tenant) == 1)
        for _ in 0..<2 {
            let revoked = try await service.send(
                .post, "\(Self.invites)/\(id)/revoke", as: .tenantAdmin(tenant))
            #expect(revoked.status == 200)
            #expect(revoked.json["status"]?.string == "revoked")
        }
        #expect(try await Self.users(service, tenant) == 0)
        let late = try await Self.accept(service, token)
        #expect(late.status == 409)
        #expect(late.json["code"]?.string == "invite_revoked")
        let resent = try await service.send(
            .post, "\(Self.invites)/\(id)/resend", as: .platformOwner)
        #expect(resent.json["code"]?.string == "invite_revoked")
        #expect(try await Self.invite(service).status == 201)
    }

    private static func users(_ service: TestService, _ tenant: TenantRow) async throws -> Int {
        try await service.storage.scope(tenant.id).read(
            "SELECT id FROM users WHERE tenant_id = \(tenant.id)"
        ).count
    }

    @Test func `resending ends the old token`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let made = try await Self.invite(service)
        let id = try #require(made.json["id"]?.string)
        let old = try #require(made.json["token"]?.string)
        let resent = try await service.send(
            .post, "\(Self.invites)/\(id)/resend", json: #"{"delivery":"link"}"#,
            as: .platformOwner)
        #expect(resent.status == 200)
        #expect(resent.json["sent_count"]?.int == 2)
        let token = try #require(resent.json["token"]?.string)
        #expect(try await Self.accept(service, old).status == 404)
        let asked = try await Self.invite(
            service, #"{"email":"ann@example.com","resend":true}"#)
        #expect(asked.status == 200)
        #expect(asked.json["id"]?.string == id)
        let newest = try #require(asked.json["token"]?.string)
        #expect(try await Self.accept(service, token).status == 404)
        #expect(try await Self.accept(service, newest).status == 200)
    }

    @Test func `an expired invite is shown as such, refused, and replaced`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let made = try await Self.invite(service)
        let id = try #require(made.json["id"]?.string)
        let token = try #require(made.json["token"]?.string)
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                """
                /* test */ UPDATE invites SET expires_at = \(change.now)
                WHERE tenant_id = \(tenant.id)
                """)
        }
        let expired = try await service.send(
            .get, "\(Self.invites)?status=expired&q=ann", as: .platformOwner)
        #expect(expired.json["items"]?.array?.first?["status"]?.string == "expired")
        #expect(expired.json["total"]?["value"]?.int == 1)
        let pending = try await service.send(
            .get, "\(Self.invites)?status=pending", as: .platformOwner)
        #expect(pending.json["items"]?.array?.isEmpty == true)
        let late = try await Self.accept(service, token)
        #expect(late.json["code"]?.string == "invite_expired")
        let again = try await Self.invite(service)
        #expect(again.status == 201)
        let before = try await service.send(
            .get, "\(Self.invites)/\(id)", as: .platformOwner)
        #expect(before.json["status"]?.string == "revoked")
    }

    @Test func `a list has a result for each line and a dry run writes nothing`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let body =
            #"{"invites":[{"email":"a@example.com"},{"email":"nobody"},{"email":"A@example.com"}]}"#
        _ = try await service.session(role: .owner, tenant: nil)
        let before = try await service.database.content()
        for query in ["?dry_run=true", ""] {
            let answer = try await Self.invite(service, body, query: query)
            #expect((try await service.database.content() == before) == !query.isEmpty)
            #expect(answer.status == 200)
            let results = try #require(answer.json["results"]?.array)
            #expect(
                results.map { $0["result"]?.string } == ["created", "refused", "existing"])
            #expect((results[0]["invite"]?["token"] != nil) == query.isEmpty)
            #expect(try await Self.users(service, tenant) == (query.isEmpty ? 1 : 0))
        }
    }

    @Test func `one response reports all faults of a new invite`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let bad = try await Self.invite(
            service, #"{"email":"x@y","expires_at":"2020-01-01T00:00:00Z","delivery":"mail"}"#)
        #expect(bad.status == 422)
        let pointers = bad.json["errors"]?.array?.compactMap { $0["pointer"]?.string }
        #expect(pointers == ["/email", "/expires_at", "/delivery"])
        #expect(try await Self.invite(service, #"{"mail":"x"}"#).status == 422)
        let made = try await Self.invite(service)
        let token = try #require(made.json["token"]?.string)
        let short = try await service.send(
            .post, "/v1/invites/accept", json: #"{"token":"\#(token)","password":"short"}"#)
        #expect(short.status == 422)
        #expect(short.json["errors"]?.array?.first?["code"]?.string == "too_short")
        let unknown = try await Self.accept(service, "nonsense")
        #expect(unknown.status == 404)
        #expect(unknown.json["code"]?.string == "invite_unknown")
    }

    @Test func `strangers and other tenants find nothing`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let other = try await service.makeTenant("other")
        let made = try await Self.invite(service)
        let id = try #require(made.json["id"]?.string)
        #expect(try await Self.invite(service, as: .anonymous).status == 401)
        #expect(try await Self.invite(service, as: .tenantAdmin(other)).status == 404)
        for path in ["", "/\(id)"] {
            let foreign = try await service.send(
                .get, Self.invites + path, as: .tenantAdmin(other))
            #expect(foreign.status == 404)
        }
        for verb in ["revoke", "resend"] {
            let foreign = try await service.send(
                .post, "/v1/tenants/other/invites/\(id)/\(verb)", as: .tenantAdmin(other))
            #expect(foreign.status == 404)
        }
    }

    @Test func `support can invite only members`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let support = TestService.Credential.session(
            try await service.session(role: .support, tenant: tenant.id))
        let wide = try await Self.invite(
            service, #"{"email":"a@example.com","role":"admin"}"#, as: support)
        #expect(wide.status == 403)
        #expect(try await Self.invite(service, as: support).status == 201)
        let admin = try await Self.invite(
            service, #"{"email":"a@example.com","role":"admin","resend":true}"#)
        #expect(admin.json["role"]?.string == "admin")
        let id = try #require(admin.json["id"]?.string)
        let revoked = try await service.send(
            .post, "\(Self.invites)/\(id)/revoke", as: support)
        #expect(revoked.status == 403)
    }
}
