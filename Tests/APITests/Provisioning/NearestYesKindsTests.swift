import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Each kind of change is proposed where it helps, and helps where it is made.
@Suite(.cleansUp) struct NearestYesKindsTests {
    private static let acme = "/v1/tenants/acme"
    private static let asked = #","tenant":"acme""#

    private static func make(
        policy: String = "{}", clock: TestClock? = nil
    ) async throws -> ProvisioningFixture {
        try await ProvisioningFixture.make(
            policy: policy, clock: TestClock.reading(clock))
    }

    /// What would admit, of a refusal for this reason.
    private static func told(
        _ fixture: ProvisioningFixture, _ refused: TestAnswer, _ reason: String,
        at place: String = acme, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [JSONValue] {
        #expect(
            refused.json["outcome"]?.string == "refused", "\(refused.text)",
            sourceLocation: sourceLocation)
        #expect(
            refused.json["reason"]?.string == reason, "\(refused.text)",
            sourceLocation: sourceLocation)
        let id = refused.json["decision_id"]?.string ?? ""
        let answer = try await fixture.service.send(
            .get, "\(place)/provisioning/decisions/\(id)?would_admit=true", as: .platformOwner)
        #expect(answer.status == 200, "\(answer.text)", sourceLocation: sourceLocation)
        return answer.json["would_admit"]?.array ?? []
    }

    private static func kinds(_ told: [JSONValue]) -> [String] {
        told.compactMap { $0["change"]?.string }
    }

    private static func expectAdmitted(
        _ answer: TestAnswer, _ outcome: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            answer.json["outcome"]?.string == outcome, "\(answer.text)",
            sourceLocation: sourceLocation)
        #expect(
            answer.json["reason"]?.string == nil, "\(answer.text)", sourceLocation: sourceLocation)
    }

    private static func edit(_ fixture: ProvisioningFixture, _ sql: SQL) async throws {
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
            try await $0.query(sql)
        }
    }

    @Test func `verify_domain, of the tenant that claims the domain`() async throws {
        let fixture = try await Self.make(policy: #"{"sign_up":"domain"}"#)
        try await fixture.service.manage(
            .post, "\(Self.acme)/domains", #"{"domain":"ex.com"}"#)
        let more = #","claims":{"hd":"ex.com"}"#
        let refused = try await fixture.google("1", "ann@ex.com", more: more)
        let told = try await Self.told(fixture, refused, "no_tenant", at: "/v1")
        #expect(Self.kinds(told) == ["invite", "verify_domain"], "\(told)")
        #expect(told.last?["tenant_id"]?.string == fixture.tenant.id.description)
        try await Self.edit(fixture, "/* test */ DELETE FROM domains")
        try await fixture.verifiedDomain("ex.com")
        Self.expectAdmitted(
            try await fixture.google("1", "ann@ex.com", more: more), "created")
    }

    @Test func `include_subdomains, of the domain above the address's`() async throws {
        let fixture = try await Self.make(policy: #"{"sign_up":"domain"}"#)
        try await fixture.verifiedDomain("ex.com")
        let more = Self.asked + #","claims":{"hd":"eu.ex.com"}"#
        let refused = try await fixture.google("1", "ann@eu.ex.com", more: more)
        let told = try await Self.told(fixture, refused, "no_tenant")
        #expect(
            Self.kinds(told) == ["invite", "include_subdomains", "policy_sign_up"], "\(told)")
        try await Self.edit(fixture, "UPDATE domains SET include_subdomains = true")
        Self.expectAdmitted(
            try await fixture.google("1", "ann@eu.ex.com", more: more), "created")
    }

    @Test func `policy_sign_up, where the domain is proved and the policy asks for an invite`()
        async throws
    {
        let fixture = try await Self.make()
        try await fixture.verifiedDomain("ex.com")
        let more = Self.asked + #","claims":{"hd":"ex.com"}"#
        let refused = try await fixture.google("1", "ann@ex.com", more: more)
        let told = try await Self.told(fixture, refused, "not_invited")
        #expect(Self.kinds(told) == ["invite", "domain_mode", "policy_sign_up"], "\(told)")
        #expect(told.last?["detail"]?.string == "Set the policy's sign_up to domain.")
    }

    @Test func `approve admits a user who signed in and waits`() async throws {
        let fixture = try await Self.make(policy: #"{"sign_up":"approval"}"#)
        try await fixture.verifiedDomain("ex.com")
        let more = Self.asked + #","claims":{"hd":"ex.com"}"#
        _ = try await fixture.google("1", "ann@ex.com", more: more)
        let refused = try await fixture.google(
            "1", "ann@ex.com", more: more + #","event_id":"2""#)
        let told = try await Self.told(fixture, refused, "approval_pending")
        #expect(Self.kinds(told).first == "approve", "\(told)")
        let user = try await fixture.service.send(
            .get, "\(Self.acme)/users", as: .platformOwner
        ).json["items"]?.array?.first?["id"]?.string
        try await fixture.service.manage(
            .post, "\(Self.acme)/users/\(user ?? "")/approve", "{}")
        Self.expectAdmitted(
            try await fixture.google("1", "ann@ex.com", more: more + #","event_id":"3""#),
            "existing")
    }

    @Test func `restore_user would admit a recently deleted user`() async throws {
        let fixture = try await Self.make()
        let user = try await fixture.row("ann@ex.com")
        _ = try await fixture.google("1", "ann@ex.com")
        let deleted = try await fixture.service.send(
            .delete, "\(Self.acme)/users/\(user)", as: .platformOwner)
        #expect(deleted.status == 204, "\(deleted.text)")
        let refused = try await fixture.google("1", "ann@ex.com", more: Self.asked)
        let told = try await Self.told(fixture, refused, "user_deleted")
        #expect(Self.kinds(told) == ["restore_user", "invite"], "\(told)")
        try await fixture.service.manage(
            .post, "\(Self.acme)/users/\(user)/restore", "{}")
        Self.expectAdmitted(
            try await fixture.google("1", "ann@ex.com", more: Self.asked), "existing")
    }

    @Test func `resume_tenant, of a suspended one`() async throws {
        let fixture = try await Self.make()
        try await fixture.row("ann@ex.com")
        _ = try await fixture.google("1", "ann@ex.com")
        try await fixture.service.manage(.post, "\(Self.acme)/suspend", "{}")
        let refused = try await fixture.google("1", "ann@ex.com", more: Self.asked)
        let told = try await Self.told(fixture, refused, "tenant_suspended")
        #expect(Self.kinds(told) == ["resume_tenant"], "\(told)")
        try await fixture.service.manage(.post, "\(Self.acme)/resume", "{}")
        Self.expectAdmitted(
            try await fixture.google("1", "ann@ex.com", more: Self.asked), "existing")
    }

    @Test func `trust_provider is reported once, for a provider without trust`() async throws {
        let fixture = try await Self.make()
        let made = try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"T","issuer":"https://idp.example","client_id":"web","#
                + #""email_trust":"none"}"#)
        try await fixture.row("ann@ex.com")
        func come() async throws -> TestAnswer {
            try await fixture.hook(
                #"{"provider":"oidc","issuer":"https://idp.example","subject":"1","#
                    + #""email":"ann@ex.com","email_verified":true\#(Self.asked)}"#)
        }
        let told = try await Self.told(fixture, try await come(), "email_unverified")
        #expect(Self.kinds(told) == ["relink", "trust_provider"], "\(told)")
        #expect(told.last?["tenant_id"]?.isNull == true, "\(told)")
        try await fixture.service.manage(
            .patch, "/v1/providers/\(made["id"]?.string ?? "")",
            #"{"email_trust":"verified_claim"}"#)
        Self.expectAdmitted(try await come(), "linked")
    }

    @Test func `raise_limit, where the rules admit by now, else what else admits`() async throws {
        let clock = TestClock()
        let fixture = try await Self.make(clock: clock)
        clock.startMinute()
        var last = try await fixture.google("0", "ann@ex.com", more: Self.asked)
        for number in 1...30 {
            last = try await fixture.google("\(number)", "ann@ex.com", more: Self.asked)
        }
        let before = try await Self.told(fixture, last, "rate_limited")
        #expect(Self.kinds(before) == ["invite", "policy_sign_up"], "\(before)")
        try await fixture.row("ann@ex.com")
        let after = try await Self.told(fixture, last, "rate_limited")
        #expect(Self.kinds(after).first == "raise_limit", "\(after)")
        Self.expectAdmitted(
            try await fixture.google("30", "ann@ex.com", more: Self.asked), "linked")
    }
}
