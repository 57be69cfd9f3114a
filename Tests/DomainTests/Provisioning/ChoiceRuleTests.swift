import Testing
import Text

@testable import Domain

/// Rule 4 among several tenants, and what a known person is offered besides.
struct ChoiceRuleTests {
    private let acme = Scene.acme
    private let other = Scene.other

    private func invited(_ scene: Scene = Scene(), by tenant: UUID = Scene.other) -> Scene {
        scene.tenant(tenant) { $0.invite = Scene.invite(tenant) }
    }

    @Test(arguments: [
        Scene.user(.suspended), Scene.user(.pending, .approval), Scene.user(.active, proved: true),
    ])
    func `who would only refuse keeps nobody out of another tenant`(row: UserFacts) {
        let scene = invited().tenant { $0.user = row }
        // An account under another sign-in may still be linked: it stays a choice.
        let due = row.status == .active ? "deferred tenant_choice_required" : "created"
        #expect(scene.answer == due)
        #expect(row.status == .active || scene.verdict.tenantID == other)
    }

    @Test func `a deleted row, a closed tenant and a filtered invite do not count either`() {
        let deleted = invited().tenant { $0.deleted = Scene.user(.deleted) }
        #expect(deleted.verdict.tenantID == other)
        let closed = invited(invited(), by: acme).with {
            $0.facts.tenants[Scene.acme]?.policy.signUp = .closed
        }
        #expect(closed.verdict.tenantID == other)
        let filtered = invited(invited(), by: acme).with {
            $0.facts.tenants[Scene.acme]?.policy.allowedDomains = ["ex.org"]
            $0.facts.tenants[Scene.acme]?.policy.externalInvites = false
        }
        #expect(filtered.verdict.tenantID == other)
    }

    @Test func `beside the tenant of the address's domain an invite is a choice, never taken`() {
        let scene = invited().tenant(acme, .inviteOnly) { $0.domain = Scene.domain() }
        #expect(scene.answer == "deferred tenant_choice_required")
        #expect(scene.verdict.choices == [other])
        let suspended = invited().tenant(acme, .domain) {
            $0.domain = Scene.domain()
            $0.user = Scene.user(.suspended)
        }
        #expect(suspended.verdict.choices == [other])
        let dead = invited().tenant(acme, .domain) {
            $0.domain = Scene.domain()
            $0.status = .suspended
        }
        #expect(dead.verdict.choices == [other])
        let unproved = scene.with { $0.attempt.emailVerified = nil }
        #expect(unproved.answer == "refused email_unverified")
    }

    @Test func `where none would admit the first refusal of rule 4 is given`() {
        let scene = Scene().tenant(acme) { $0.deleted = Scene.user(.deleted) }
            .tenant(other) { $0.user = Scene.user(.suspended, id: Scene.bob) }
        #expect(scene.answer == "refused user_suspended")
        #expect(scene.verdict.tenantID == other)
        let shut = Scene().tenant(acme, .inviteOnly) { $0.domain = Scene.domain() }
            .tenant(other) { $0.user = Scene.user(.pending, .approval) }
        #expect(shut.answer == "refused approval_pending")
    }

    @Test func `a suspended account keeps its sign-in out of no tenant that invites it`() {
        let scene = invited().tenant { $0.user = Scene.user(.suspended) }
            .known(Scene.user(.suspended))
        #expect(scene.answer == "created")
        #expect(scene.verdict.tenantID == other)
        #expect(
            scene.with { $0.attempt.emailVerified = nil }.answer == "refused user_suspended")
        #expect(
            scene.with { $0.attempt.address = .missing }.answer == "refused user_suspended")
        let alone = scene.with { $0.facts.tenants[Scene.other]?.invite = nil }
        #expect(alone.answer == "refused user_suspended")
    }

    @Test func `a suspended account is not opened anew by its own tenant's domain`() {
        let scene = Scene(email: "new@ex.com").tenant(acme, .domain) {
            $0.domain = Scene.domain()
        }
        .known(Scene.user(.suspended)).with { $0.attempt.hostedDomain = "ex.com" }
        #expect(scene.answer == "refused user_suspended")
    }

    @Test func `who is at home in one tenant is offered what is open elsewhere`() {
        let home = Scene().tenant().known(Scene.user(.active))
        let scene = invited(home)
        #expect(scene.answer == "existing")
        #expect(scene.verdict.tenantID == acme)
        #expect(scene.verdict.choices == [other])
        #expect(scene.with { $0.attempt.emailVerified = nil }.verdict.choices == [])
        let row = home.tenant(other) { $0.user = Scene.user(.pending, id: Scene.bob) }
        #expect(row.verdict.choices == [other])
        let domain = home.tenant(other, .domain) { $0.domain = Scene.domain() }
        #expect(domain.verdict.choices == [])
        #expect(domain.with { $0.facts.pendingChoices = [Scene.other] }.verdict.choices == [other])
        let asked = scene.with { $0.facts.asked = [AskedTenant(.attempt, Scene.acme)] }
        #expect(asked.verdict.choices == [])
    }

    @Test func `what was declined is offered again only once it is sent anew`() {
        let scene = invited(Scene().tenant().known(Scene.user(.active))).with {
            $0.facts.declined[Scene.other] = Scene.now.adding(seconds: -10)
            $0.facts.tenants[Scene.other]?.invite?.sentAt = Scene.now.adding(seconds: -20)
        }
        #expect(scene.verdict.choices == [])
        let again = scene.with {
            $0.facts.tenants[Scene.other]?.invite?.sentAt = Scene.now.adding(seconds: -5)
        }
        #expect(again.verdict.choices == [other])
    }

    @Test func `declining leaves choices and takes nothing for the person`() {
        let scene = invited()
        #expect(scene.mayDecline(other))
        #expect(!scene.with { $0.attempt.emailVerified = nil }.mayDecline(other))
        #expect(!scene.known(Scene.user(.active), other).mayDecline(other))
        #expect(!scene.tenant().mayDecline(acme))
        let declined = scene.with {
            $0.facts.declined[Scene.other] = Scene.now
            $0.facts.tenants[Scene.other]?.domain = Scene.domain()
        }
        #expect(!declined.mayDecline(other))
        #expect(scene.rest.outcome == .deferred)
        #expect(scene.rest.choices == [other])
        #expect(scene.rest.effects == [])
        let none = Scene().rest
        #expect(none.outcome == .deferred)
        #expect(none.reason == nil)
        #expect(none.choices == [])
        let home = invited(Scene().tenant().known(Scene.user(.active))).rest
        #expect(home.outcome == .existing)
    }
}

extension Scene {
    fileprivate func mayDecline(_ tenant: UUID) -> Bool {
        Provisioning.mayDecline(tenant, attempt: attempt, facts: facts, now: Scene.now)
    }

    fileprivate var rest: Verdict {
        Provisioning.rest(attempt: attempt, facts: facts, now: Scene.now)
    }
}
