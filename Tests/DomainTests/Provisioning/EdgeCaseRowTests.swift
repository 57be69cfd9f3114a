import Testing
import Text

@testable import Domain

/// Rows of the edge-case table that stand on rules alone, by their ids.
struct EdgeCaseRowTests {
    @Test func `I4 a token in the hands of another address is refused and the invite stays live`() {
        let scene = Scene(email: "eve@ex.com").tenant().token(Scene.invite())
        #expect(scene.answer == "refused invite_email_mismatch")
        #expect(scene.verdict.effects.isEmpty)
    }

    @Test func `I7 a used invite lets in who used it and nobody else`() {
        var used = Scene.invite()
        used.invite.acceptedAt = Scene.now
        used.acceptedUser = Scene.user(.active)
        used.acceptedBy = Scene().attempt.identity
        #expect(Scene().tenant().token(used).answer == "existing")
        used.acceptedBy = IdentityKey(provider: .google, issuer: "iss", subject: "other")
        #expect(Scene().tenant().token(used).answer == "refused invite_used")
    }

    @Test func `U1 a pending row is linked to the first verified sign-in and keeps its id`() {
        let scene = Scene().tenant { $0.user = Scene.user(.pending) }
        #expect(scene.answer == "linked")
        #expect(scene.verdict.userID == Scene.ann)
    }

    @Test func `U3 a second verified sign-in is not linked by its address`() {
        let scene = Scene().tenant { $0.user = Scene.user(.active, proved: true) }
        #expect(scene.answer == "refused identity_link_required")
    }

    @Test func `U5 the same person in two tenants is two users, each seen from its own`() {
        let scene = Scene().tenant().tenant(Scene.other)
            .known(Scene.user(.active)).known(Scene.user(.active, id: Scene.bob), Scene.other)
        #expect(scene.verdict.tenantID == nil)
        #expect(scene.verdict.choices.count == 2)
        let asked = scene.with { $0.facts.asked.append(AskedTenant(.attempt, Scene.other)) }
        #expect(asked.verdict.userID == Scene.bob)
    }

    @Test func `U6 U7 a suspended user is refused, elsewhere the same person still gets in`() {
        let scene = Scene().tenant().known(Scene.user(.suspended))
        #expect(scene.answer == "refused user_suspended")
        let elsewhere = scene.tenant(Scene.other).known(
            Scene.user(.active, id: Scene.bob), Scene.other)
        #expect(elsewhere.verdict.userID == Scene.bob)
    }

    @Test func `U8 a suspended and a deleted tenant refuse, another is not touched`() {
        for (status, reason) in [
            (Tenant.Status.suspended, "tenant_suspended"), (.deleted, "tenant_deleted"),
        ] {
            let scene = Scene().tenant(asked: true) { $0.status = status }
            #expect(scene.answer == "refused \(reason)")
        }
        let other = Scene().tenant { $0.status = .suspended }
            .tenant(Scene.other) { $0.user = Scene.user(.pending) }
        #expect(other.verdict.tenantID == Scene.other)
    }

    @Test func `U12 a user made in the vendor's console follows the native rules`() {
        let scene = Scene(.cognito, verified: nil, trigger: .nativeAdminCreate).tenant()
        #expect(scene.answer == "refused no_tenant")
        #expect(scene.tenant { $0.invite = Scene.invite() }.answer == "reserved")
    }

    @Test func `D6 without the domain's claim members stay and nobody new comes in`() {
        #expect(Scene().tenant(Scene.acme, .domain).answer == "refused no_tenant")
        let member = Scene().tenant(Scene.acme, .domain).known(Scene.user(.active))
        #expect(member.answer == "existing")
    }

    @Test func `D7 an invite-only tenant takes nobody by domain, whatever its list says`() {
        let scene = Scene(trust: .authoritative, domains: ["ex.com"]).tenant {
            $0.domain = Scene.domain()
            $0.policy.allowedDomains = []
        }
        #expect(scene.answer == "refused not_invited")
    }
}
