import Testing
import Text

@testable import Domain

/// What an operator says of a sign-in: linked by hand, unlinked, and an address never proved.
struct HandLinkRuleTests {
    private let acme = Scene.acme
    private let ann = Scene.ann

    private func linked(
        _ row: UserFacts, asked: Bool, tenantsWord: Bool = false, invite: InviteFacts? = nil
    ) -> Scene {
        Scene(.oidc, email: "else@where.org", verified: nil)
            .tenant(acme, .closed, asked: asked) { $0.user = nil }
            .with {
                $0.facts.known = [
                    KnownIdentity(
                        identityID: UUID(high: 5, low: 1), tenantID: Scene.acme, user: row,
                        isAssertedByTenant: tenantsWord, isLinkedByHand: true, invite: invite)
                ]
            }
    }

    @Test(arguments: [true, false], [true, false])
    func `a pending row linked by hand is admitted whatever the address says`(
        asked: Bool, tenantsWord: Bool
    ) {
        let scene = linked(Scene.user(.pending), asked: asked, tenantsWord: tenantsWord)
        // A tenant's word is never found through the identity.
        guard asked || !tenantsWord else {
            #expect(scene.answer == "refused no_tenant")
            return
        }
        #expect(scene.answer == "linked")
        #expect(scene.verdict.effects == [.admitByAssertion(user: ann, role: .member)])
        let nameless = scene.with { $0.attempt.address = .missing }
        #expect(nameless.answer == "linked")
    }

    @Test func `suspended, deleted and waiting rows stay refused`() {
        #expect(linked(Scene.user(.suspended), asked: true).answer == "refused user_suspended")
        #expect(linked(Scene.user(.deleted), asked: true).answer == "refused user_deleted")
        #expect(
            linked(Scene.user(.pending, .approval), asked: true).answer
                == "refused approval_pending")
        let tenant = linked(Scene.user(.pending), asked: false).with {
            $0.facts.tenants[Scene.acme]?.status = .suspended
        }
        #expect(tenant.answer == "refused tenant_suspended")
    }

    @Test func `a row by an invite counts through that invite alone`() {
        let row = Scene.user(.pending, .invite)
        #expect(linked(row, asked: true).verdict.outcome == .refused)
        let live = linked(row, asked: true, invite: Scene.invite())
        #expect(live.answer == "linked")
        #expect(
            live.verdict.effects.contains(
                .markInviteAccepted(invite: UUID(high: 3, low: 1), user: ann)))
    }

    @Test func `a native sign-up under a linked name only reserves`() {
        let scene = linked(Scene.user(.pending), asked: true).with {
            $0.attempt.trigger = .nativeSignUp
        }
        #expect(scene.answer == "reserved")
    }

    @Test func `such a sign-up reserves the token that came, not an invite found by the address`() {
        let live = Scene.invite()
        let scene = linked(Scene.user(.pending), asked: true, invite: live)
            .with { $0.attempt.trigger = .nativeSignUp }
        #expect(scene.verdict.effects == [.reserve(tenant: acme, invite: nil)])
        var other = Scene.invite(email: "other@ex.com")
        other.invite.id = UUID(high: 3, low: 9)
        #expect(
            scene.token(other).verdict.effects
                == [.reserve(tenant: acme, invite: UUID(high: 3, low: 9))])
    }

    @Test func `a hand link shows what else is open, and a retry finds the same`() throws {
        let scene = linked(Scene.user(.pending), asked: false)
            .tenant(Scene.other) { $0.invite = Scene.invite(Scene.other, email: "else@where.org") }
            .with {
                $0.facts.provider?.emailTrust = .verifiedClaim
                $0.attempt.emailVerified = true
            }
        #expect(scene.answer == "linked")
        #expect(scene.verdict.tenantID == acme)
        #expect(scene.verdict.choices == [Scene.other])
        let retry = scene.with {
            $0.facts.known[0].user.status = .active
        }
        #expect(retry.answer == "existing")
        let recorded = Retry.Recorded(
            outcome: .linked, userID: ann, choices: scene.verdict.choices)
        #expect(Retry.isSame(recorded: recorded, recomputed: retry.verdict))
        // An address that is not vouched for, and a native sign-up, are shown none.
        let claimed = scene.with { $0.attempt.emailVerified = false }
        #expect(claimed.answer == "linked")
        #expect(claimed.verdict.choices.isEmpty)
        let native = scene.with { $0.attempt.trigger = .nativeSignUp }
        #expect(native.answer == "reserved")
        #expect(native.verdict.choices.isEmpty)
    }

    private func barred(_ change: (inout TenantFacts) -> Void) -> Scene {
        Scene().tenant(acme, .open, asked: true) {
            $0.barredSince = Scene.now.adding(seconds: -60)
            change(&$0)
        }
    }

    @Test func `who was unlinked stays out by rows, domains, open doors and older invites`() {
        #expect(barred { _ in }.answer == "refused identity_link_required")
        let row = barred { $0.user = Scene.user(.pending) }
        #expect(row.answer == "refused identity_link_required")
        let domain = barred { $0.domain = Scene.domain() }
            .with { $0.attempt.hostedDomain = "ex.com" }
        #expect(domain.answer == "refused identity_link_required")
        let old = barred {
            $0.invite = Scene.invite()
            $0.invite?.sentAt = Scene.now.adding(seconds: -60)
        }
        #expect(old.answer == "refused identity_link_required")
        let token = barred { _ in }.token(old.facts.tenants[acme]?.invite)
        #expect(token.answer == "refused identity_link_required")
        let unproved = barred { _ in }.with { $0.attempt.emailVerified = nil }
        #expect(unproved.answer == "refused email_unverified")
    }

    @Test func `a later invite and a link grant bring back who was unlinked`() {
        let later = barred {
            $0.invite = Scene.invite()
            $0.invite?.sentAt = Scene.now.adding(seconds: -59)
        }
        #expect(later.answer == "created")
        let granted = barred { $0.user = Scene.user(.active, proved: true) }.with {
            $0.facts.linkGrant = LinkGrant(
                id: UUID(high: 6, low: 1), userID: Scene.ann,
                expiresAt: Scene.now.adding(seconds: 1))
        }
        #expect(granted.answer == "linked")
    }

    @Test func `a bar in one tenant keeps nobody out of another`() {
        let scene = Scene().tenant(acme) {
            $0.user = Scene.user(.pending)
            $0.barredSince = Scene.now
        }
        .tenant(Scene.other) { $0.invite = Scene.invite(Scene.other) }
        #expect(scene.verdict.tenantID == Scene.other)
        #expect(scene.answer == "created")
    }

    @Test func `an active user without a sign-in takes none by the address alone`() {
        let scene = Scene().tenant { $0.user = Scene.user(.active) }
        #expect(scene.answer == "refused identity_link_required")
    }

    @Test func `the trace says that the account's address was never proved`() {
        var row = Scene.user(.active, proved: true)
        row.isAddressProved = false
        let scene = Scene().tenant {
            $0.user = row
            $0.policy.autoLink = .authoritative
        }
        .with { $0.attempt.hostedDomain = "ex.com" }
        #expect(scene.answer == "refused identity_link_required")
        #expect(scene.verdict.trace.contains { $0.result == TraceEntry.addressUnproved })
        row.isAddressProved = true
        let proved = scene.with { $0.facts.tenants[Scene.acme]?.user = row }
        #expect(proved.answer == "linked")
    }

    @Test func `a grant adds to an active row and wipes nothing there`() {
        let scene = Scene().tenant { $0.user = Scene.user(.active, unproved: true) }.with {
            $0.facts.linkGrant = LinkGrant(
                id: UUID(high: 6, low: 1), userID: Scene.ann,
                expiresAt: Scene.now.adding(seconds: 1))
        }
        #expect(scene.answer == "linked")
        #expect(!scene.verdict.effects.contains(.wipeUnverifiedCredentials(user: ann)))
    }
}
