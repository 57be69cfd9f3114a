import Domain
import Testing
import Text

@Suite struct RuleTests {
    let acme = Scene.acme
    let ann = Scene.ann

    @Test func `rule 1 a known identity signs in without an email`() {
        let scene = Scene().tenant().known(Scene.user(.active)).with {
            $0.attempt.address = .missing
        }
        #expect(scene.answer == "existing")
        #expect(scene.verdict.userID == ann)
    }

    @Test func `rule 1 marks a live invite to the user's address as accepted and keeps the role`() {
        let scene = Scene().tenant().known(Scene.user(.active), invite: Scene.invite())
        #expect(
            scene.verdict.effects
                == [.markInviteAccepted(invite: UUID(high: 3, low: 1), user: ann)])
    }

    @Test func `rule 1 an identity in two tenants is existing with choices and no tenant`() {
        let scene = Scene().tenant().tenant(Scene.other).known(Scene.user(.active))
            .known(Scene.user(.active, id: Scene.bob), Scene.other)
        #expect(scene.answer == "existing tenant_choice_required")
        #expect(scene.verdict.choices == [acme, Scene.other])
        #expect(scene.verdict.tenantID == nil)
    }

    @Test func `rule 1 a suspended user is refused only if no active one is left`() {
        let suspended = Scene().tenant().known(Scene.user(.suspended))
        #expect(suspended.answer == "refused user_suspended")
        let both = suspended.tenant(Scene.other)
            .known(Scene.user(.active, id: Scene.bob), Scene.other)
        #expect(both.answer == "existing")
        #expect(both.verdict.tenantID == Scene.other)
    }

    @Test func `rule 1 a suspended tenant and a wait for approval refuse`() {
        let tenant = Scene().tenant { $0.status = .suspended }.known(Scene.user(.active))
        #expect(tenant.answer == "refused tenant_suspended")
        let waits = Scene().tenant().known(Scene.user(.pending, .approval))
        #expect(waits.answer == "refused approval_pending")
    }

    @Test func `rule 1 looks only into the asked tenant`() {
        let scene = Scene().tenant(Scene.other).known(Scene.user(.active), Scene.other)
            .tenant(acme, .open, asked: true)
        #expect(scene.answer == "created")
        #expect(scene.verdict.tenantID == acme)
    }

    @Test func `rule 2 a missing and a malformed address are told apart`() {
        #expect(Scene().with { $0.attempt.address = .missing }.answer == "refused email_missing")
        #expect(Scene().with { $0.attempt.address = .malformed }.answer == "refused email_invalid")
    }

    @Test func `rule 3 a bad token never falls through`() {
        let open = Scene().tenant(acme, .open, asked: true)
        #expect(open.token(nil).answer == "refused invite_unknown")
        #expect(open.token(Scene.invite(seconds: 0)).answer == "refused invite_expired")
        var revoked = Scene.invite()
        revoked.invite.revokedAt = Scene.now
        #expect(open.token(revoked).answer == "refused invite_revoked")
        var used = Scene.invite()
        used.invite.acceptedAt = Scene.now
        #expect(open.token(used).answer == "refused invite_used")
        #expect(
            open.token(Scene.invite(email: "x@ex.com")).answer == "refused invite_email_mismatch")
    }

    @Test func `rule 3 a token replayed by the identity that used it is existing`() {
        var used = Scene.invite()
        used.invite.acceptedAt = Scene.now
        used.acceptedUser = Scene.user(.active)
        used.acceptedBy = Scene().attempt.identity
        #expect(Scene().tenant().token(used).answer == "existing")
        // The acceptance page signs nobody in: whoever has the link there is not known by it.
        let page = Scene().with { $0.attempt.trigger = .invitePage }.tenant().token(used)
        #expect(page.answer == "refused invite_used")
        #expect(page.known(Scene.user(.active)).answer == "refused invite_used")
    }

    @Test func `rule 3 another verified address may use the token where the policy allows it`() {
        var invite = Scene.invite(email: "work@ex.com")
        invite.row = Scene.user(.pending, .invite)
        let scene = Scene().tenant { $0.policy.inviteEmailMustMatch = false }.token(invite)
        #expect(scene.answer == "linked")
        #expect(scene.verdict.effects.contains(.auditOtherAddress(invite: invite.invite.id)))
        let unverified = scene.with { $0.attempt.emailVerified = nil }
        #expect(unverified.answer == "refused invite_email_mismatch")
    }

    @Test func `rule 4 nobody knows the address`() {
        #expect(Scene().answer == "refused no_tenant")
        #expect(Scene().tenant(acme, .open).answer == "refused no_tenant")
    }

    @Test func `rule 4 several tenants are deferred when vouched for and refused when not`() {
        let scene = Scene().tenant { $0.invite = Scene.invite() }
            .tenant(Scene.other, .domain) { $0.domain = Scene.domain() }
        #expect(scene.answer == "deferred tenant_choice_required")
        #expect(scene.verdict.effects == [.recordChoices(tenants: [acme, Scene.other])])
        #expect(
            scene.with { $0.attempt.emailVerified = nil }.answer == "refused email_unverified")
    }

    @Test func `rule 4 a suspended user comes before a live invite`() {
        let scene = Scene().tenant {
            $0.user = Scene.user(.suspended)
            $0.invite = Scene.invite()
        }
        #expect(scene.answer == "refused user_suspended")
    }

    @Test func `rule 4 a deleted user stays out for 30 days unless invited`() {
        let gone = Scene().tenant(acme, .open, asked: true) { $0.deleted = Scene.user(.deleted) }
        #expect(gone.answer == "refused user_deleted")
        let invited = gone.with { $0.facts.tenants[Scene.acme]?.invite = Scene.invite() }
        #expect(invited.answer == "created")
        let later = gone.with {
            $0.facts.tenants[Scene.acme]?.deleted?.deletedAt = Scene.now.adding(
                seconds: -30 * 86_400)
        }
        #expect(later.answer == "created")
    }

    @Test func `rule 5 an address without proof is refused`() {
        let scene = Scene(.oidc).tenant { $0.invite = Scene.invite() }
        #expect(scene.answer == "refused email_unverified")
    }

    @Test func `rule 5 a native sign-up reserves what would succeed and refuses what would not`() {
        let native = Scene(.cognito, verified: nil, trigger: .nativeSignUp)
        let invited = native.tenant { $0.invite = Scene.invite() }
        #expect(invited.answer == "reserved")
        // Found by the address alone it would count as a token later, for another address.
        #expect(invited.verdict.effects == [.reserve(tenant: acme, invite: nil)])
        #expect(
            invited.token(Scene.invite()).verdict.effects
                == [.reserve(tenant: acme, invite: UUID(high: 3, low: 1))])
        #expect(
            native.tenant { $0.domain = Scene.domain() }.answer == "refused not_invited")
    }

    @Test func `rule 6 links the pre-provisioned row with the invite's role`() {
        let scene = Scene().tenant {
            $0.invite = Scene.invite()
            $0.user = Scene.user(.pending, .invite)
        }
        #expect(scene.answer == "linked")
        #expect(
            scene.verdict.effects == [
                .activateUser(user: ann, role: .manager), .linkIdentity(user: ann),
                .acceptInvite(invite: UUID(high: 3, low: 1), role: .manager, downgraded: false),
            ])
    }

    @Test func `rule 6 a live invite approves a row that waits`() {
        let row = Scene.user(.pending, .approval, proved: true)
        let scene = Scene().tenant {
            $0.invite = Scene.invite()
            $0.user = row
        }.known(row, invite: Scene.invite())
        #expect(scene.verdict.isSuccess)
        #expect(scene.verdict.effects.contains(.approveUser(user: ann, role: .manager)))
    }

    @Test func `rule 7 wipes what nobody proved before it links`() {
        let scene = Scene().tenant { $0.user = Scene.user(.pending, .import, unproved: true) }
        #expect(
            scene.verdict.effects == [
                .wipeUnverifiedCredentials(user: ann), .activateUser(user: ann, role: .member),
                .linkIdentity(user: ann),
            ])
    }

    @Test func `rule 8 a second identity needs the first one, a grant or an authoritative issuer`()
    {
        let scene = Scene().tenant { $0.user = Scene.user(.active, proved: true) }
        #expect(scene.answer == "refused identity_link_required")
        let grant = LinkGrant(
            id: UUID(high: 6, low: 1), userID: ann, expiresAt: Scene.now.adding(seconds: 1))
        let granted = scene.with { $0.facts.linkGrant = grant }
        #expect(granted.answer == "linked")
        #expect(granted.verdict.effects.contains(.consumeLinkGrant(grant: grant.id)))
        let auto = scene.with { $0.facts.tenants[Scene.acme]?.policy.autoLink = .authoritative }
        #expect(auto.answer == "refused identity_link_required")
        #expect(auto.with { $0.attempt.hostedDomain = "ex.com" }.answer == "linked")
    }

    @Test(arguments: [
        (TenantPolicy.SignUp.domain, "created"), (.open, "created"), (.approval, "created"),
        (.inviteOnly, "refused not_invited"), (.closed, "refused not_invited"),
    ])
    func `rule 9 follows the policy`(signUp: TenantPolicy.SignUp, answer: String) {
        let scene = Scene(.oidc, trust: .authoritative, domains: ["ex.com"], verified: nil)
            .tenant(acme, signUp) {
                $0.domain = Scene.domain()
                $0.policy.defaultRole = .admin
            }
        #expect(scene.answer == answer)
        #expect(scene.verdict.maySignIn == (answer == "created" && signUp != .approval))
        #expect(
            !scene.verdict.effects.contains(
                .createUser(status: .active, role: .admin, source: .signUp)))
    }

    @Test func `rule 9 filters by the allowed domains`() {
        let scene = Scene(.oidc, trust: .authoritative, domains: ["ex.com"])
            .tenant(acme, .domain) {
                $0.domain = Scene.domain()
                $0.policy.allowedDomains = ["ex.org"]
            }
        #expect(scene.answer == "refused not_invited")
    }

    @Test func `rule 10 an asked open tenant takes a vouched address`() {
        let scene = Scene().tenant(acme, .open, asked: true)
        #expect(scene.answer == "created")
        #expect(
            scene.with { $0.attempt.emailVerified = nil }.answer == "refused email_unverified")
    }

    @Test func `a closed tenant refuses invites, pending rows, domains and sign-ups`() {
        let closed = { (change: (inout TenantFacts) -> Void) in
            Scene().tenant(Scene.acme, .closed, asked: true, change).answer
        }
        #expect(closed { $0.invite = Scene.invite() } == "refused not_invited")
        #expect(closed { $0.user = Scene.user(.pending) } == "refused not_invited")
        #expect(closed { $0.domain = Scene.domain() } == "refused not_invited")
    }

    @Test func `asked tenants that contradict each other are no tenant`() {
        let scene = Scene().tenant(acme, .open, asked: true).tenant(Scene.other, .open, asked: true)
        #expect(scene.answer == "refused no_tenant")
        let unknown = Scene().with { $0.facts.asked = [AskedTenant(.attempt, nil)] }
        #expect(unknown.answer == "refused no_tenant")
        let deleted = Scene().tenant(acme, asked: true) { $0.status = .deleted }
        #expect(deleted.answer == "refused tenant_deleted")
    }

    @Test func `the pool may let its operators make users that no rule matches`() {
        let scene = Scene(.cognito, trigger: .nativeAdminCreate)
        #expect(scene.answer == "refused no_tenant")
        let allowed = scene.with { $0.facts.provider?.allowsAdminCreate = true }
        #expect(allowed.answer == "reserved")
        #expect(allowed.verdict.effects.isEmpty)
    }
}
