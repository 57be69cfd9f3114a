import Testing
import Text

@testable import Domain

/// Rows of the edge-case table that stand on rules alone, by their ids.
struct EdgeCaseRowTests {
    @Test func `I4 a token in the hands of another address is refused and the invite stays live`() {
        let fixture = RuleFixture(email: "eve@ex.com").tenant().token(RuleFixture.invite())
        #expect(fixture.answer == "refused invite_email_mismatch")
        #expect(fixture.verdict.effects.isEmpty)
    }

    @Test func `I7 a used invite admits the person who used it and no other`() {
        var used = RuleFixture.invite()
        used.invite.acceptedAt = RuleFixture.now
        used.acceptedUser = RuleFixture.user(.active)
        used.acceptedBy = RuleFixture().attempt.identity
        #expect(RuleFixture().tenant().token(used).answer == "existing")
        used.acceptedBy = IdentityKey(provider: .google, issuer: "iss", subject: "other")
        #expect(RuleFixture().tenant().token(used).answer == "refused invite_used")
    }

    @Test func `U1 a pending row is linked to the first verified sign-in and keeps its id`() {
        let fixture = RuleFixture().tenant { $0.user = RuleFixture.user(.pending) }
        #expect(fixture.answer == "linked")
        #expect(fixture.verdict.userID == RuleFixture.ann)
    }

    @Test func `U3 a second verified sign-in is not linked by its address`() {
        let fixture = RuleFixture().tenant { $0.user = RuleFixture.user(.active, proved: true) }
        #expect(fixture.answer == "refused identity_link_required")
    }

    @Test func `U5 the same person in two tenants is two users, each seen from its own`() {
        let fixture = RuleFixture().tenant().tenant(RuleFixture.other)
            .known(RuleFixture.user(.active)).known(
                RuleFixture.user(.active, id: RuleFixture.bob), RuleFixture.other)
        #expect(fixture.verdict.tenantID == nil)
        #expect(fixture.verdict.choices.count == 2)
        let asked = fixture.with { $0.facts.asked.append(AskedTenant(.attempt, RuleFixture.other)) }
        #expect(asked.verdict.userID == RuleFixture.bob)
    }

    @Test func `U6 U7 a suspended user is refused, elsewhere the same person still gets in`() {
        let fixture = RuleFixture().tenant().known(RuleFixture.user(.suspended))
        #expect(fixture.answer == "refused user_suspended")
        let elsewhere = fixture.tenant(RuleFixture.other).known(
            RuleFixture.user(.active, id: RuleFixture.bob), RuleFixture.other)
        #expect(elsewhere.verdict.userID == RuleFixture.bob)
    }

    @Test func `U8 a suspended and a deleted tenant refuse, another is not touched`() {
        for (status, reason) in [
            (Tenant.Status.suspended, "tenant_suspended"), (.deleted, "tenant_deleted"),
        ] {
            let fixture = RuleFixture().tenant(asked: true) { $0.status = status }
            #expect(fixture.answer == "refused \(reason)")
        }
        let other = RuleFixture().tenant { $0.status = .suspended }
            .tenant(RuleFixture.other) { $0.user = RuleFixture.user(.pending) }
        #expect(other.verdict.tenantID == RuleFixture.other)
    }

    @Test func `U12 a user made in the vendor's console follows the native rules`() {
        let fixture = RuleFixture(.cognito, verified: nil, trigger: .nativeAdminCreate).tenant()
        #expect(fixture.answer == "refused no_tenant")
        #expect(fixture.tenant { $0.invite = RuleFixture.invite() }.answer == "reserved")
    }

    @Test func `D6 without the domain's claim members stay and no new person is admitted`() {
        #expect(RuleFixture().tenant(RuleFixture.acme, .domain).answer == "refused no_tenant")
        let member = RuleFixture().tenant(RuleFixture.acme, .domain).known(
            RuleFixture.user(.active))
        #expect(member.answer == "existing")
    }

    @Test func `D7 an invite-only tenant admits no person by domain, whatever its list says`() {
        let fixture = RuleFixture(trust: .authoritative, domains: ["ex.com"]).tenant {
            $0.domain = RuleFixture.domain()
            $0.policy.allowedDomains = []
        }
        #expect(fixture.answer == "refused not_invited")
    }
}
