import Testing
import Text

@testable import Domain

/// What an operator says of a sign-in: linked by hand, unlinked, and an address never proved.
struct HandLinkRuleTests {
    private let acme = RuleFixture.acme
    private let ann = RuleFixture.ann

    private func linked(
        _ row: UserFacts, asked: Bool, tenantsWord: Bool = false, invite: InviteFacts? = nil
    ) -> RuleFixture {
        RuleFixture(.oidc, email: "else@where.org", verified: nil)
            .tenant(acme, .closed, asked: asked) { $0.user = nil }
            .with {
                $0.facts.known = [
                    KnownIdentity(
                        identityID: UUID(high: 5, low: 1), tenantID: RuleFixture.acme, user: row,
                        isAssertedByTenant: tenantsWord, isLinkedManually: true, invite: invite)
                ]
            }
    }

    @Test(arguments: [true, false], [true, false])
    func `a pending row linked by hand is admitted whatever the address says`(
        asked: Bool, tenantsWord: Bool
    ) {
        let fixture = linked(RuleFixture.user(.pending), asked: asked, tenantsWord: tenantsWord)
        // A tenant's word is never found through the identity.
        guard asked || !tenantsWord else {
            #expect(fixture.answer == "refused no_tenant")
            return
        }
        #expect(fixture.answer == "linked")
        #expect(fixture.verdict.effects == [.admitByAssertion(user: ann, role: .member)])
        let nameless = fixture.with { $0.attempt.address = .missing }
        #expect(nameless.answer == "linked")
    }

    @Test func `suspended, deleted and waiting rows stay refused`() {
        #expect(
            linked(RuleFixture.user(.suspended), asked: true).answer == "refused user_suspended")
        #expect(linked(RuleFixture.user(.deleted), asked: true).answer == "refused user_deleted")
        #expect(
            linked(RuleFixture.user(.pending, .approval), asked: true).answer
                == "refused approval_pending")
        let tenant = linked(RuleFixture.user(.pending), asked: false).with {
            $0.facts.tenants[RuleFixture.acme]?.status = .suspended
        }
        #expect(tenant.answer == "refused tenant_suspended")
    }

    @Test func `a row by an invite counts through that invite alone`() {
        let row = RuleFixture.user(.pending, .invite)
        #expect(linked(row, asked: true).verdict.outcome == .refused)
        let live = linked(row, asked: true, invite: RuleFixture.invite())
        #expect(live.answer == "linked")
        #expect(
            live.verdict.effects.contains(
                .markInviteAccepted(invite: UUID(high: 3, low: 1), user: ann)))
    }

    @Test func `a native sign-up under a linked name only reserves`() {
        let fixture = linked(RuleFixture.user(.pending), asked: true).with {
            $0.attempt.trigger = .nativeSignUp
        }
        #expect(fixture.answer == "reserved")
    }

    @Test func `such a sign-up reserves the token that came, not an invite found by the address`() {
        let live = RuleFixture.invite()
        let fixture = linked(RuleFixture.user(.pending), asked: true, invite: live)
            .with { $0.attempt.trigger = .nativeSignUp }
        #expect(fixture.verdict.effects == [.reserve(tenant: acme, invite: nil)])
        var other = RuleFixture.invite(email: "other@ex.com")
        other.invite.id = UUID(high: 3, low: 9)
        #expect(
            fixture.token(other).verdict.effects
                == [.reserve(tenant: acme, invite: UUID(high: 3, low: 9))])
    }

    @Test func `a hand link shows what else is open, and a retry finds the same`() throws {
        let fixture = linked(RuleFixture.user(.pending), asked: false)
            .tenant(RuleFixture.other) {
                $0.invite = RuleFixture.invite(RuleFixture.other, email: "else@where.org")
            }
            .with {
                $0.facts.provider?.emailTrust = .verifiedClaim
                $0.attempt.emailVerified = true
            }
        #expect(fixture.answer == "linked")
        #expect(fixture.verdict.tenantID == acme)
        #expect(fixture.verdict.choices == [RuleFixture.other])
        let retry = fixture.with {
            $0.facts.known[0].user.status = .active
        }
        #expect(retry.answer == "existing")
        let recorded = Retry.Recorded(
            outcome: .linked, userID: ann, choices: fixture.verdict.choices)
        #expect(Retry.isSame(recorded: recorded, recomputed: retry.verdict))
        // An address that is not vouched for, and a native sign-up, are shown none.
        let claimed = fixture.with { $0.attempt.emailVerified = false }
        #expect(claimed.answer == "linked")
        #expect(claimed.verdict.choices.isEmpty)
        let native = fixture.with { $0.attempt.trigger = .nativeSignUp }
        #expect(native.answer == "reserved")
        #expect(native.verdict.choices.isEmpty)
    }

    private func barred(_ change: (inout TenantFacts) -> Void) -> RuleFixture {
        RuleFixture().tenant(acme, .open, asked: true) {
            $0.barredSince = RuleFixture.now.adding(seconds: -60)
            change(&$0)
        }
    }

    @Test func `rows, domains, open sign-up and older invites do not admit an unlinked sign-in`() {
        #expect(barred { _ in }.answer == "refused identity_link_required")
        let row = barred { $0.user = RuleFixture.user(.pending) }
        #expect(row.answer == "refused identity_link_required")
        let domain = barred { $0.domain = RuleFixture.domain() }
            .with { $0.attempt.hostedDomain = "ex.com" }
        #expect(domain.answer == "refused identity_link_required")
        let old = barred {
            $0.invite = RuleFixture.invite()
            $0.invite?.sentAt = RuleFixture.now.adding(seconds: -60)
        }
        #expect(old.answer == "refused identity_link_required")
        let token = barred { _ in }.token(old.facts.tenants[acme]?.invite)
        #expect(token.answer == "refused identity_link_required")
        let unproved = barred { _ in }.with { $0.attempt.emailVerified = nil }
        #expect(unproved.answer == "refused email_unverified")
    }

    @Test func `a later invite and a link grant admit an unlinked sign-in`() {
        let later = barred {
            $0.invite = RuleFixture.invite()
            $0.invite?.sentAt = RuleFixture.now.adding(seconds: -59)
        }
        #expect(later.answer == "created")
        let granted = barred { $0.user = RuleFixture.user(.active, proved: true) }.with {
            $0.facts.linkGrant = LinkGrant(
                id: UUID(high: 6, low: 1), userID: RuleFixture.ann,
                expiresAt: RuleFixture.now.adding(seconds: 1))
        }
        #expect(granted.answer == "linked")
    }

    @Test func `a barred identity of one tenant is not barred in another`() {
        let fixture = RuleFixture().tenant(acme) {
            $0.user = RuleFixture.user(.pending)
            $0.barredSince = RuleFixture.now
        }
        .tenant(RuleFixture.other) { $0.invite = RuleFixture.invite(RuleFixture.other) }
        #expect(fixture.verdict.tenantID == RuleFixture.other)
        #expect(fixture.answer == "created")
    }

    @Test func `an active user without a sign-in takes none by the address alone`() {
        let fixture = RuleFixture().tenant { $0.user = RuleFixture.user(.active) }
        #expect(fixture.answer == "refused identity_link_required")
    }

    @Test func `the trace says that the account's address was never proved`() {
        var row = RuleFixture.user(.active, proved: true)
        row.isAddressProved = false
        let fixture = RuleFixture().tenant {
            $0.user = row
            $0.policy.autoLink = .authoritative
        }
        .with { $0.attempt.hostedDomain = "ex.com" }
        #expect(fixture.answer == "refused identity_link_required")
        #expect(fixture.verdict.trace.contains { $0.result == TraceEntry.addressUnproved })
        row.isAddressProved = true
        let proved = fixture.with { $0.facts.tenants[RuleFixture.acme]?.user = row }
        #expect(proved.answer == "linked")
    }

    @Test func `a grant adds to an active row and wipes nothing there`() {
        let fixture = RuleFixture().tenant { $0.user = RuleFixture.user(.active, unproved: true) }
            .with {
                $0.facts.linkGrant = LinkGrant(
                    id: UUID(high: 6, low: 1), userID: RuleFixture.ann,
                    expiresAt: RuleFixture.now.adding(seconds: 1))
            }
        #expect(fixture.answer == "linked")
        #expect(!fixture.verdict.effects.contains(.wipeUnverifiedCredentials(user: ann)))
    }
}
