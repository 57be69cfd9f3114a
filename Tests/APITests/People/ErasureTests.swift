import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What is left of a person who was purged, and who may come back.
@Suite(.serialized, .cleansUp) struct ErasureTests {
    private static let address = "Ada.Gone@ex.com"
    private static let users = "/v1/tenants/acme/users"

    /// A tenant that takes anybody, and a hook's key, which outlives console sessions.
    private struct Fixture {
        let base: DeletionFixture
        let key: String

        var service: TestService { base.service }

        func google(
            _ subject: String, _ email: String, tenant: String = "acme"
        ) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"google","subject":"\#(subject)","email":"\#(email)","#
                    + #""email_verified":true,"name":"Ada Gone","tenant":"\#(tenant)"}"#,
                as: .bearer(key))
        }

        func open(_ tenant: String) async throws {
            let answer = try await service.send(
                .put, "/v1/tenants/\(tenant)/policy", json: #"{"sign_up":"open"}"#,
                as: .platformOwner, fields: [Field("if-match", "*")])
            #expect(answer.status == 200, "\(answer.text)")
        }

        func purge(_ user: String) async throws {
            let path = "\(ErasureTests.users)/\(user)?purge=true"
            let asked = try await service.send(.delete, path, as: .platformOwner)
            let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
            let done = try await service.send(
                .delete, "\(path)&confirm=\(confirm)", as: .platformOwner)
            #expect(done.status == 204, "\(done.text)")
        }
    }

    /// Ada signs up by herself in an open tenant.
    private static func make() async throws -> (Fixture, String) {
        let base = try await DeletionFixture.make()
        try await base.service.manage(
            .post, "/v1/providers", #"{"kind":"google","name":"Google","client_id":"web"}"#)
        let key = try await base.service.manage(
            .post, "/v1/api-keys", #"{"name":"hook","scopes":["hooks:signup"]}"#)
        let fixture = Fixture(base: base, key: try #require(key["key"]?.string))
        try await fixture.open("acme")
        let made = try await fixture.google("gone-1", address)
        let user = try #require(made.json["user"]?["id"]?.string, "\(made.text)")
        return (fixture, user)
    }

    @Test func `a purge leaves neither address nor name in any table`() async throws {
        let (fixture, user) = try await Self.make()
        let service = fixture.service
        let path = "\(Self.users)/\(user)"
        // Another spelling, another row of the same address, an invite, an unlinked sign-in.
        try await service.manage(.patch, path, #"{"name":"Ada Gone the Second"}"#)
        let linked = try await service.manage(
            .post, "\(path)/identities",
            #"{"provider":"github","issuer":"https://github.com","subject":"gone-2"}"#)
        let identity = try #require(linked["id"]?.string)
        _ = try await service.send(
            .delete, "\(path)/identities/\(identity)", as: .platformOwner)
        _ = try await service.send(
            .post, "\(path)/suspend", json: "{}", as: .platformOwner,
            fields: [Field("idempotency-key", "kept-1")])
        _ = try await service.send(
            .post, "\(path)/resume", json: "{}", as: .platformOwner,
            fields: [Field("idempotency-key", "kept-2")])
        _ = try await fixture.google("another-person", "ada.gone@EX.com")
        var words = ["da.gone@", "da.Gone@", "Ada Gone", "gone-1", "gone-2"]
        // Kept answers are bytes.
        words += words.map { Hex.encode(Array($0.utf8)) }
        let before = try await fixture.base.tables(with: words)
        #expect(before.contains("audit_events") && before.contains("idempotency"))
        try await fixture.purge(user)
        #expect(try await fixture.base.tables(with: words) == [])
        let events = try await service.send(
            .get, "/v1/tenants/acme/audit-events?limit=200", as: .platformOwner)
        let actions = events.json["items"]?.array?.compactMap { $0["action"]?.string } ?? []
        #expect(actions.contains("user.created") && actions.contains("user.purged"))
        let role = events.json["items"]?.array?.first {
            $0["action"]?.string == "user.created"
        }
        #expect(role?["changes"]?["role"]?.array?.last?.string == "member")
    }

    @Test(arguments: [false, true])
    func `a decision without a tenant forgets the address unless another tenant knows it`(
        isKnownElsewhere: Bool
    ) async throws {
        let (fixture, user) = try await Self.make()
        let lost = try await fixture.google("lost", Self.address, tenant: "nowhere")
        #expect(lost.json["reason"]?.string == "no_tenant", "\(lost.text)")
        if isKnownElsewhere {
            try await fixture.service.makeTenant("other")
            try await fixture.service.manage(
                .post, "/v1/tenants/other/users", #"{"email":"\#(Self.address)"}"#)
        }
        try await fixture.purge(user)
        let decision = try await fixture.service.send(
            .get, "/v1/provisioning/decisions/\(lost.json["decision_id"]?.string ?? "")",
            as: .platformOwner)
        #expect(decision.status == 200, "\(decision.text)")
        let left = decision.json["email"]?.string
        #expect(left == (isKnownElsewhere ? Self.address : nil), "\(decision.text)")
    }

    @Test func `a tenant's purge of a person reaches no other tenant's records`() async throws {
        let (fixture, _) = try await Self.make()
        let other = try await fixture.service.makeTenant("other")
        let storage = fixture.service.storage
        let none = [String]()
        for redaction: SQL in [
            "/* test */ SELECT person_redact(\(fixture.base.tenant.id), \(UUID.random()), '{}', '{}')",
            "SELECT decisions_redact(\(fixture.base.tenant.id), \(UUID.random()), \(none))",
            "SELECT audit_redact_tenant(\(fixture.base.tenant.id), \(none), 1)",
        ] {
            await #expect(throws: (any Error).self) {
                try await storage.scope(other.id).change(by: .system) {
                    try await $0.query(redaction)
                }
            }
        }
        #expect(try await fixture.base.tables(with: [Self.address]).contains("decisions"))
    }

    @Test func `a purged person is refused for 30 days, by address and by identity`() async throws {
        let (fixture, user) = try await Self.make()
        try await fixture.purge(user)
        for (subject, email) in [("gone-1", "new@ex.com"), ("other", Self.address)] {
            let back = try await fixture.google(subject, email)
            #expect(back.json["reason"]?.string == "user_deleted", "\(back.text)")
        }
        // In this tenant alone.
        let other = try await fixture.service.makeTenant("other")
        try await fixture.open(other.slug)
        let elsewhere = try await fixture.google("gone-1", Self.address, tenant: "other")
        #expect(elsewhere.json["outcome"]?.string == "created", "\(elsewhere.text)")
        fixture.base.clock.advance(seconds: 30 * 86_400 - 60)
        let late = try await fixture.google("gone-1", Self.address)
        #expect(late.json["reason"]?.string == "user_deleted", "\(late.text)")
        fixture.base.clock.advance(seconds: 120)
        #expect(try await fixture.base.sweep("tombstones") == 2)
        let free = try await fixture.google("gone-1", Self.address)
        #expect(free.json["outcome"]?.string == "created", "\(free.text)")
    }

    @Test func `an invite sent after the purge admits, and so does an operator's row`() async throws
    {
        let (fixture, user) = try await Self.make()
        try await fixture.purge(user)
        _ = try await fixture.service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"\#(Self.address)"}"#)
        let invited = try await fixture.google("gone-1", Self.address)
        #expect(invited.json["outcome"]?.string == "linked", "\(invited.text)")
        let (another, gone) = try await Self.make()
        try await another.purge(gone)
        let made = try await another.service.manage(
            .post, Self.users, #"{"email":"\#(Self.address)"}"#)
        let again = try await another.google("gone-1", Self.address)
        #expect(again.json["outcome"]?.string == "linked", "\(again.text)")
        #expect(again.json["user"]?["id"] == made["id"])
        #expect(
            try await another.base.tables(with: [made["id"]?.string ?? ""]).contains("users"))
        let left = try await another.base.administrator {
            try await $0.read("SELECT 1 FROM tombstones")
        }
        #expect(left.isEmpty)
    }

    @Test func `a tenant's purge leaves the names of what happened out`() async throws {
        let (fixture, _) = try await Self.make()
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"bo.gone@ex.com"}"#)
        #expect(try await fixture.base.send(.delete, "").status == 204)
        let confirm = try await fixture.base.confirm()
        #expect(
            try await fixture.base.send(.delete, "?purge=true&confirm=\(confirm)").status == 204)
        let words = ["da.gone@", "da.Gone@", "Ada Gone", "bo.gone"]
        #expect(try await fixture.base.tables(with: words) == [])
        let actions = try await fixture.base.administrator {
            try await $0.read(
                "SELECT 1 FROM audit_events WHERE action = 'invite.created'")
        }
        #expect(actions.count == 1)
    }
}
