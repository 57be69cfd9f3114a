import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What an operator may do so that a refused person gets in: computed by the rules, and checked
/// by doing it.
@Suite(.cleansUp) struct NearestYesTests {
    private static let acme = "/v1/tenants/acme"

    private static func make(clock: TestClock? = nil) async throws -> ProvisioningFixture {
        try await ProvisioningFixture.make(clock: TestClock.reading(clock))
    }

    private static func changes(_ answer: JSONValue) -> [String] {
        (answer["would_admit"]?.array ?? []).compactMap { $0["change"]?.string }
    }

    private static func asked(
        _ fixture: ProvisioningFixture, _ refused: TestAnswer,
        as credential: TestService.Credential = .platformOwner
    ) async throws -> JSONValue {
        let id = refused.json["decision_id"]?.string ?? ""
        return try await fixture.service.send(
            .get, "\(acme)/provisioning/decisions/\(id)?would_admit=true", as: credential
        ).json
    }

    @Test func `a suspended user gets in once resumed, and the answer says so`() async throws {
        let fixture = try await Self.make()
        let user = try await fixture.row("ann@ex.com")
        _ = try await fixture.google("1", "ann@ex.com")
        try await fixture.service.manage(
            .post, "\(Self.acme)/users/\(user)/suspend", "{}")
        let refused = try await fixture.google("1", "ann@ex.com", more: #","tenant":"acme""#)
        #expect(refused.json["reason"]?.string == "user_suspended", "\(refused.text)")
        #expect(refused.json["would_admit"] == nil)
        let answer = try await Self.asked(fixture, refused)
        #expect(Self.changes(answer) == ["resume_user"], "\(answer)")
        try await fixture.service.manage(
            .post, "\(Self.acme)/users/\(user)/resume", "{}")
        let admitted = try await fixture.google("1", "ann@ex.com", more: #","tenant":"acme""#)
        #expect(admitted.json["outcome"]?.string == "existing", "\(admitted.text)")
    }

    @Test func `an expired invite is sent again, a second sign-in is linked`() async throws {
        let fixture = try await Self.make()
        try await fixture.invite("ann@ex.com")
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
            try await $0.query("UPDATE invites SET expires_at = now() - interval '1 hour'")
        }
        let tenant = #","tenant":"acme""#
        let refused = try await fixture.google("1", "ann@ex.com", more: tenant)
        let answer = try await Self.asked(fixture, refused)
        #expect(Self.changes(answer).first == "resend_invite", "\(answer)")
        #expect(Self.changes(answer).contains("policy_sign_up"), "\(answer)")
        try await fixture.row("bob@ex.com")
        _ = try await fixture.google("2", "bob@ex.com")
        let second = try await fixture.google("3", "bob@ex.com", more: tenant)
        #expect(second.json["reason"]?.string == "identity_link_required")
        #expect(Self.changes(try await Self.asked(fixture, second)) == ["relink"])
    }

    @Test func `a dry run has the nearest yes too, and a tenant's reader sees only its own facts`()
        async throws
    {
        let fixture = try await Self.make()
        let other = ProvisioningFixture(
            service: fixture.service, tenant: try await fixture.service.makeTenant("other"))
        _ = try await other.row("ann@ex.com", source: "approval")
        let tried = try await fixture.service.send(
            .post, "/v1/provisioning/evaluate",
            json: #"{"provider":"google","subject":"1","email":"ann@ex.com","#
                + #""email_verified":true}"#, as: .platformOwner)
        #expect(tried.json["reason"]?.string == "approval_pending", "\(tried.text)")
        // Approved alone, the row would ask for its first sign-in.
        #expect(Self.changes(tried.json) == ["invite"], "\(tried.text)")
        let refused = try await fixture.google("1", "ann@ex.com", more: #","tenant":"acme""#)
        let answer = try await Self.asked(fixture, refused, as: .tenantAdmin(fixture.tenant))
        #expect(Self.changes(answer).first == "invite", "\(answer)")
        let named = (answer["would_admit"]?.array ?? []).compactMap { $0["tenant_id"]?.string }
        #expect(Set(named) == [fixture.tenant.id.description], "\(answer)")
    }

    @Test func `each reader of a decision about two tenants sees only the own part`()
        async throws
    {
        let fixture = try await Self.make()
        let other = ProvisioningFixture(
            service: fixture.service, tenant: try await fixture.service.makeTenant("other"))
        _ = try await other.row("ann@ex.com", source: "approval")
        let user = try await fixture.row("ann@ex.com")
        try await fixture.service.manage(.post, "\(Self.acme)/users/\(user)/suspend", "{}")
        let refused = try await fixture.google("1", "ann@ex.com")
        #expect(refused.json["reason"]?.string == "user_suspended", "\(refused.text)")
        let answer = try await Self.asked(fixture, refused, as: .tenantAdmin(fixture.tenant))
        #expect(Self.changes(answer).first == "resume_user", "\(answer)")
        let named = (answer["would_admit"]?.array ?? []).compactMap { $0["tenant_id"]?.string }
        #expect(Set(named) == [fixture.tenant.id.description], "\(answer)")
    }

    @Test func `the nearest yes waits for no row lock and counts as one of the caller's dry runs`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await Self.make(clock: clock)
        clock.startMinute()
        let user = try await fixture.row("ann@ex.com")
        try await fixture.service.manage(.post, "\(Self.acme)/users/\(user)/suspend", "{}")
        let refused = try await fixture.google("1", "ann@ex.com", more: #","tenant":"acme""#)
        let id = refused.json["decision_id"]?.string ?? ""
        let path = "\(Self.acme)/provisioning/decisions/\(id)"
        let other = TestService.Credential.tenantAdmin(fixture.tenant)
        #expect(try await fixture.service.send(.get, path, as: other).status == 200)
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            for table in ["tenants", "users"] {
                try await change.lockRows(of: table)
            }
            let answer = try await Self.asked(fixture, refused)
            #expect(Self.changes(answer) == ["resume_user"], "\(answer)")
        }
        func ask(_ more: String, _ who: TestService.Credential) async throws -> Int {
            try await fixture.service.send(.get, path + more, as: who).status
        }
        for number in 1..<60 {
            let status = try await ask("?would_admit=true", .platformOwner)
            #expect(status == 200, "\(number)")
        }
        #expect(try await ask("?would_admit=true", .platformOwner) == 429)
        #expect(try await ask("", .platformOwner) == 200)
        #expect(try await ask("?would_admit=true", other) == 200)
        clock.advance(seconds: 60)
        #expect(try await ask("?would_admit=true", .platformOwner) == 200)
    }

    @Test func `an admitted sign-in has no nearest yes`() async throws {
        let fixture = try await Self.make()
        try await fixture.row("ann@ex.com")
        let linked = try await fixture.google("1", "ann@ex.com")
        let answer = try await Self.asked(fixture, linked)
        #expect(answer["would_admit"]?.array?.isEmpty == true, "\(answer)")
    }
}
