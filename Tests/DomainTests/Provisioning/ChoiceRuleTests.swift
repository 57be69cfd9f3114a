import Testing
import Text

@testable import Domain

/// Rule 4 among several tenants, and what a known person is offered besides.
struct ChoiceRuleTests {
    private let acme = RuleFixture.acme
    private let other = RuleFixture.other

    private func invited(
        _ fixture: RuleFixture = RuleFixture(), by tenant: UUID = RuleFixture.other
    ) -> RuleFixture {
        fixture.tenant(tenant) { $0.invite = RuleFixture.invite(tenant) }
    }

    @Test(arguments: [
        RuleFixture.user(.suspended), RuleFixture.user(.pending, .approval),
        RuleFixture.user(.active, proved: true),
    ])
    func `a tenant that would refuse does not prevent another tenant's admission`(row: UserFacts) {
        let fixture = invited().tenant { $0.user = row }
        // An account under another sign-in may still be linked: it stays a choice.
        let due = row.status == .active ? "deferred tenant_choice_required" : "created"
        #expect(fixture.answer == due)
        #expect(row.status == .active || fixture.verdict.tenantID == other)
    }

    @Test func `a deleted row, a closed tenant and a filtered invite do not count either`() {
        let deleted = invited().tenant { $0.deleted = RuleFixture.user(.deleted) }
        #expect(deleted.verdict.tenantID == other)
        let closed = invited(invited(), by: acme).with {
            $0.facts.tenants[RuleFixture.acme]?.policy.signUp = .closed
        }
        #expect(closed.verdict.tenantID == other)
        let filtered = invited(invited(), by: acme).with {
            $0.facts.tenants[RuleFixture.acme]?.policy.allowedDomains = ["ex.org"]
            $0.facts.tenants[RuleFixture.acme]?.policy.externalInvites = false
        }
        #expect(filtered.verdict.tenantID == other)
    }

    @Test func `beside the tenant of the address's domain an invite is a choice, never taken`() {
        let fixture = invited().tenant(acme, .inviteOnly) { $0.domain = RuleFixture.domain() }
        #expect(fixture.answer == "deferred tenant_choice_required")
        #expect(fixture.verdict.choices == [other])
        let suspended = invited().tenant(acme, .domain) {
            $0.domain = RuleFixture.domain()
            $0.user = RuleFixture.user(.suspended)
        }
        #expect(suspended.verdict.choices == [other])
        let dead = invited().tenant(acme, .domain) {
            $0.domain = RuleFixture.domain()
            $0.status = .suspended
        }
        #expect(dead.verdict.choices == [other])
        let unproved = fixture.with { $0.attempt.emailVerified = nil }
        #expect(unproved.answer == "refused email_unverified")
    }

    @Test func `when no tenant would admit, the first refusal of rule 4 is the answer`() {
        let fixture = RuleFixture().tenant(acme) { $0.deleted = RuleFixture.user(.deleted) }
            .tenant(other) { $0.user = RuleFixture.user(.suspended, id: RuleFixture.bob) }
        #expect(fixture.answer == "refused user_suspended")
        #expect(fixture.verdict.tenantID == other)
        let shut = RuleFixture().tenant(acme, .inviteOnly) { $0.domain = RuleFixture.domain() }
            .tenant(other) { $0.user = RuleFixture.user(.pending, .approval) }
        #expect(shut.answer == "refused approval_pending")
    }

    @Test func `a suspended account keeps its sign-in out of no tenant that invites it`() {
        let fixture = invited().tenant { $0.user = RuleFixture.user(.suspended) }
            .known(RuleFixture.user(.suspended))
        #expect(fixture.answer == "created")
        #expect(fixture.verdict.tenantID == other)
        #expect(
            fixture.with { $0.attempt.emailVerified = nil }.answer == "refused user_suspended")
        #expect(
            fixture.with { $0.attempt.address = .missing }.answer == "refused user_suspended")
        let alone = fixture.with { $0.facts.tenants[RuleFixture.other]?.invite = nil }
        #expect(alone.answer == "refused user_suspended")
    }

    @Test func `a suspended account is not opened anew by its own tenant's domain`() {
        let fixture = RuleFixture(email: "new@ex.com").tenant(acme, .domain) {
            $0.domain = RuleFixture.domain()
        }
        .known(RuleFixture.user(.suspended)).with { $0.attempt.hostedDomain = "ex.com" }
        #expect(fixture.answer == "refused user_suspended")
    }

    @Test func `a member of one tenant is offered the others that invite`() {
        let home = RuleFixture().tenant().known(RuleFixture.user(.active))
        let fixture = invited(home)
        #expect(fixture.answer == "existing")
        #expect(fixture.verdict.tenantID == acme)
        #expect(fixture.verdict.choices == [other])
        #expect(fixture.with { $0.attempt.emailVerified = nil }.verdict.choices == [])
        let row = home.tenant(other) { $0.user = RuleFixture.user(.pending, id: RuleFixture.bob) }
        #expect(row.verdict.choices == [other])
        let domain = home.tenant(other, .domain) { $0.domain = RuleFixture.domain() }
        #expect(domain.verdict.choices == [])
        #expect(
            domain.with { $0.facts.pendingChoices = [RuleFixture.other] }.verdict.choices == [other]
        )
        let asked = fixture.with { $0.facts.asked = [AskedTenant(.attempt, RuleFixture.acme)] }
        #expect(asked.verdict.choices == [])
    }

    @Test func `a declined invite is offered again only after it is sent again`() {
        let fixture = invited(RuleFixture().tenant().known(RuleFixture.user(.active))).with {
            $0.facts.declined[RuleFixture.other] = RuleFixture.now.adding(seconds: -10)
            $0.facts.tenants[RuleFixture.other]?.invite?.sentAt = RuleFixture.now.adding(
                seconds: -20)
        }
        #expect(fixture.verdict.choices == [])
        let again = fixture.with {
            $0.facts.tenants[RuleFixture.other]?.invite?.sentAt = RuleFixture.now.adding(
                seconds: -5)
        }
        #expect(again.verdict.choices == [other])
    }

    @Test func `declining leaves choices and takes nothing for the person`() {
        let fixture = invited()
        #expect(fixture.mayDecline(other))
        #expect(!fixture.with { $0.attempt.emailVerified = nil }.mayDecline(other))
        #expect(!fixture.known(RuleFixture.user(.active), other).mayDecline(other))
        #expect(!fixture.tenant().mayDecline(acme))
        let declined = fixture.with {
            $0.facts.declined[RuleFixture.other] = RuleFixture.now
            $0.facts.tenants[RuleFixture.other]?.domain = RuleFixture.domain()
        }
        #expect(!declined.mayDecline(other))
        #expect(fixture.rest.outcome == .deferred)
        #expect(fixture.rest.choices == [other])
        #expect(fixture.rest.effects == [])
        let none = RuleFixture().rest
        #expect(none.outcome == .deferred)
        #expect(none.reason == nil)
        #expect(none.choices == [])
        let home = invited(RuleFixture().tenant().known(RuleFixture.user(.active))).rest
        #expect(home.outcome == .existing)
    }
}

extension RuleFixture {
    fileprivate func mayDecline(_ tenant: UUID) -> Bool {
        Provisioning.mayDecline(tenant, attempt: attempt, facts: facts, now: RuleFixture.now)
    }

    fileprivate var rest: Verdict {
        Provisioning.rest(attempt: attempt, facts: facts, now: RuleFixture.now)
    }
}
