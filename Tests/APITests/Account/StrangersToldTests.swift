import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A refusal tells a person who calls in person no more than a stranger may know; the decision
/// keeps the true reason.
@Suite(.cleansUp) struct StrangersToldTests {
    /// The status of the row at the claimed address, and why the rules refuse.
    private static let rows = [
        ("suspended", "user_suspended"), ("deleted", "user_deleted"),
        ("active", "email_unverified"), ("approval", "approval_pending"), ("none", "no_tenant"),
    ]

    private static func make(_ status: String, _ fixture: PoolFixture) async throws {
        guard status != "none" else { return }
        let email = "\(status)@corp.example"
        let user = try await fixture.manage(
            .post, "/v1/tenants/victim/users", #"{"email":"\#(email)","name":"Real Name"}"#)
        let set: SQL =
            switch status {
            case "approval": "status = 'pending', source = 'approval'"
            case "deleted": "status = 'deleted', deleted_at = \(fixture.clock.now)"
            default: "status = \(status)"
            }
        try await fixture.service.storage.scope(fixture.victim.id).change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET \(set) WHERE tenant_id = \(change.tenant)
                    AND id = \(UUID(user["id"]?.string ?? ""))
                """)
        }
    }

    @Test func `an address that is only claimed reveals nothing about its user`() async throws {
        let fixture = try await PoolFixture.make()
        var texts: Set<String> = []
        for (status, reason) in Self.rows {
            try await Self.make(status, fixture)
            let answer = try await fixture.signIn(
                fixture.token(
                    "m-\(status)", sub: "m", "\(status)@corp.example", verified: false,
                    upstream: "AzureAD"))
            #expect(answer.outcome == "refused email_unverified", "\(answer.text)")
            for name in ["user", "tenant", "identity_id", "invite_id"] {
                #expect(answer.json[name]?.isNull == true, "\(name): \(answer.text)")
            }
            #expect(answer.json["choices"] == nil && answer.json["trace"] == nil)
            let recorded = try await fixture.lastDecision()
            #expect(recorded["reason"]?.string == reason)
            #expect(recorded["reference"] == answer.json["reference"])
            var members = answer.json.members ?? []
            members.removeAll { ["decision_id", "reference"].contains($0.name) }
            texts.insert(
                String(decoding: JSONValue.object(members).encoded(), as: UTF8.self))
        }
        #expect(texts.count == 1)
    }

    @Test func `a person with a proved address reads the reason, but no row`() async throws {
        let fixture = try await PoolFixture.make()
        for (status, reason) in Self.rows where status != "active" {
            try await Self.make(status, fixture)
            let answer = try await fixture.signIn(
                fixture.token(
                    "v-\(status)", sub: "v", "\(status)@corp.example", upstream: "AzureAD"))
            #expect(answer.outcome == "refused \(reason)", "\(answer.text)")
            #expect(!answer.text.contains("Real Name") && !answer.text.contains("victim"))
        }
    }

    @Test func `a person with a known identity reads the reason, whatever the address`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        try await fixture.invite("ann@corp.example")
        let first = try await fixture.signIn(
            fixture.token("ann", sub: "a", "ann@corp.example", upstream: "AzureAD"))
        #expect(first.json["user"]?["email"]?.string == "ann@corp.example")
        let id = first.json["user"]?["id"]?.string ?? ""
        try await fixture.manage(.post, "/v1/tenants/victim/users/\(id)/suspend", "{}")
        let later = try await fixture.signIn(
            fixture.token("ann", sub: "a", "else@x.example", verified: false, upstream: "AzureAD")
        )
        #expect(later.outcome == "refused user_suspended", "\(later.text)")
        #expect(later.json["user"]?.isNull == true && later.json["tenant"]?.isNull == true)
    }

    @Test func `a user of one tenant learns nothing about another tenant's users`() async throws {
        let fixture = try await PoolFixture.make()
        try await fixture.invite("mal@evil.example", to: "evil")
        let mal = fixture.token("mal", sub: "m", "mal@evil.example", upstream: "AzureAD")
        let first = try await fixture.signIn(mal)
        #expect(first.outcome == "linked", "\(first.text)")
        try await fixture.service.storage.scope(fixture.evil.id).change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET status = 'deleted', deleted_at = now() - interval '40 days'
                WHERE tenant_id = \(change.tenant)
                """)
        }
        try await Self.make("suspended", fixture)
        let claimed = try await fixture.signIn(
            fixture.token(
                "mal", sub: "m", "suspended@corp.example", verified: false,
                upstream: "AzureAD"))
        #expect(claimed.outcome == "refused email_unverified", "\(claimed.text)")
    }

    @Test func `the workspace app reveals only active users`() async throws {
        let fixture = try await PoolFixture.make()
        try await fixture.manage(
            .put, "/v1/tenants/victim/clients/thinkwork", #"{"enabled":true}"#)
        for (status, _) in Self.rows {
            try await Self.make(status, fixture)
            let token = fixture.token(
                "w-\(status)", sub: "w", "\(status)@corp.example", verified: false,
                upstream: "AzureAD")
            let answer = try await fixture.service.send(
                .get, "/t/victim/thinkwork/api/auth/me",
                fields: [Field("authorization", token)])
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["userId"]?.isNull == true, "\(answer.text)")
            #expect(!answer.text.contains("Real Name"), "\(answer.text)")
            #expect(answer.json["note"]?.string == "user_not_bootstrapped", "\(answer.text)")
        }
    }
}
