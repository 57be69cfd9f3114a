import Domain
import Testing
import Text

@Suite struct RuleTests {
    let acme = RuleFixture.acme
    let ann = RuleFixture.ann

    @Test func `rule 1 a known identity signs in without an email`() {
        let fixture = RuleFixture().tenant().known(RuleFixture.user(.active)).with {
            $0.attempt.address = .missing
        }
        #expect(fixture.answer == "existing")
        #expect(fixture.verdict.userID == ann)
    }

    @Test func `rule 1 marks a live invite to the user's address as accepted and keeps the role`() {
        let fixture = RuleFixture().tenant().known(
            RuleFixture.user(.active), invite: RuleFixture.invite())
        #expect(
            fixture.verdict.effects
                == [.markInviteAccepted(invite: UUID(high: 3, low: 1), user: ann)])
    }

    @Test func `rule 1 an identity in two tenants is existing with choices and no tenant`() {
        let fixture = RuleFixture().tenant().tenant(RuleFixture.other).known(
            RuleFixture.user(.active)
        )
        .known(RuleFixture.user(.active, id: RuleFixture.bob), RuleFixture.other)
        #expect(fixture.answer == "existing tenant_choice_required")
        #expect(fixture.verdict.choices == [acme, RuleFixture.other])
        #expect(fixture.verdict.tenantID == nil)
    }

    @Test func `rule 1 a suspended user is refused only if no active one is left`() {
        let suspended = RuleFixture().tenant().known(RuleFixture.user(.suspended))
        #expect(suspended.answer == "refused user_suspended")
        let both = suspended.tenant(RuleFixture.other)
            .known(RuleFixture.user(.active, id: RuleFixture.bob), RuleFixture.other)
        #expect(both.answer == "existing")
        #expect(both.verdict.tenantID == RuleFixture.other)
    }

    @Test func `rule 1 a suspended tenant and a wait for approval refuse`() {
        let tenant = RuleFixture().tenant { $0.status = .suspended }.known(
            RuleFixture.user(.active))
        #expect(tenant.answer == "refused tenant_suspended")
        let waits = RuleFixture().tenant().known(RuleFixture.user(.pending, .approval))
        #expect(waits.answer == "refused approval_pending")
    }

    @Test func `rule 1 looks only into the asked tenant`() {
        let fixture = RuleFixture().tenant(RuleFixture.other).known(
            RuleFixture.user(.active), RuleFixture.other
        )
        .tenant(acme, .open, asked: true)
        #expect(fixture.answer == "created")
        #expect(fixture.verdict.tenantID == acme)
    }

    @Test func `rule 2 a missing and a malformed address have different reasons`() {
        #expect(
            RuleFixture().with { $0.attempt.address = .missing }.answer == "refused email_missing")
        #expect(
            RuleFixture().with { $0.attempt.address = .malformed }.answer == "refused email_invalid"
        )
    }

    @Test func `rule 3 a bad token never falls through`() {
        let open = RuleFixture().tenant(acme, .open, asked: true)
        #expect(open.token(nil).answer == "refused invite_unknown")
        #expect(open.token(RuleFixture.invite(seconds: 0)).answer == "refused invite_expired")
        var revoked = RuleFixture.invite()
        revoked.invite.revokedAt = RuleFixture.now
        #expect(open.token(revoked).answer == "refused invite_revoked")
        var used = RuleFixture.invite()
        used.invite.acceptedAt = RuleFixture.now
        #expect(open.token(used).answer == "refused invite_used")
        #expect(
            open.token(RuleFixture.invite(email: "x@ex.com")).answer
                == "refused invite_email_mismatch")
    }

    @Test func `rule 3 a token replayed by the identity that used it is existing`() {
        var used = RuleFixture.invite()
        used.invite.acceptedAt = RuleFixture.now
        used.acceptedUser = RuleFixture.user(.active)
        used.acceptedBy = RuleFixture().attempt.identity
        #expect(RuleFixture().tenant().token(used).answer == "existing")
        // The acceptance page proves no identity: a person with the link is not known by it.
        let page = RuleFixture().with { $0.attempt.trigger = .invitePage }.tenant().token(used)
        #expect(page.answer == "refused invite_used")
        #expect(page.known(RuleFixture.user(.active)).answer == "refused invite_used")
    }

    @Test func `rule 3 another verified address may use the token where the policy allows it`() {
        var invite = RuleFixture.invite(email: "work@ex.com")
        invite.row = RuleFixture.user(.pending, .invite)
        let fixture = RuleFixture().tenant { $0.policy.inviteEmailMustMatch = false }.token(invite)
        #expect(fixture.answer == "linked")
        #expect(fixture.verdict.effects.contains(.auditOtherAddress(invite: invite.invite.id)))
        let unverified = fixture.with { $0.attempt.emailVerified = nil }
        #expect(unverified.answer == "refused invite_email_mismatch")
    }

    @Test func `rule 4 an address that no tenant knows is refused`() {
        #expect(RuleFixture().answer == "refused no_tenant")
        #expect(RuleFixture().tenant(acme, .open).answer == "refused no_tenant")
    }

    @Test func `rule 4 several tenants are deferred when vouched for and refused when not`() {
        let fixture = RuleFixture().tenant { $0.invite = RuleFixture.invite() }
            .tenant(RuleFixture.other, .domain) { $0.domain = RuleFixture.domain() }
        #expect(fixture.answer == "deferred tenant_choice_required")
        #expect(fixture.verdict.effects == [.recordChoices(tenants: [acme, RuleFixture.other])])
        #expect(
            fixture.with { $0.attempt.emailVerified = nil }.answer == "refused email_unverified")
    }

    @Test func `rule 4 a suspended user comes before a live invite`() {
        let fixture = RuleFixture().tenant {
            $0.user = RuleFixture.user(.suspended)
            $0.invite = RuleFixture.invite()
        }
        #expect(fixture.answer == "refused user_suspended")
    }

    @Test func `rule 4 a deleted user stays out for 30 days unless invited`() {
        let gone = RuleFixture().tenant(acme, .open, asked: true) {
            $0.deleted = RuleFixture.user(.deleted)
        }
        #expect(gone.answer == "refused user_deleted")
        let invited = gone.with {
            $0.facts.tenants[RuleFixture.acme]?.invite = RuleFixture.invite()
        }
        #expect(invited.answer == "created")
        let later = gone.with {
            $0.facts.tenants[RuleFixture.acme]?.deleted?.deletedAt = RuleFixture.now.adding(
                seconds: -30 * 86_400)
        }
        #expect(later.answer == "created")
    }

    @Test func `rule 5 an address without proof is refused`() {
        let fixture = RuleFixture(.oidc).tenant { $0.invite = RuleFixture.invite() }
        #expect(fixture.answer == "refused email_unverified")
    }

    @Test func `rule 5 a native sign-up reserves what would succeed and refuses what would not`() {
        let native = RuleFixture(.cognito, verified: nil, trigger: .nativeSignUp)
        let invited = native.tenant { $0.invite = RuleFixture.invite() }
        #expect(invited.answer == "reserved")
        // Found by the address alone it would count as a token later, for another address.
        #expect(invited.verdict.effects == [.reserve(tenant: acme, invite: nil)])
        #expect(
            invited.token(RuleFixture.invite()).verdict.effects
                == [.reserve(tenant: acme, invite: UUID(high: 3, low: 1))])
        #expect(
            native.tenant { $0.domain = RuleFixture.domain() }.answer == "refused not_invited")
    }

    @Test func `rule 6 links the pre-provisioned row with the invite's role`() {
        let fixture = RuleFixture().tenant {
            $0.invite = RuleFixture.invite()
            $0.user = RuleFixture.user(.pending, .invite)
        }
        #expect(fixture.answer == "linked")
        #expect(
            fixture.verdict.effects == [
                .activateUser(user: ann, role: .manager), .linkIdentity(user: ann),
                .acceptInvite(invite: UUID(high: 3, low: 1), role: .manager, downgraded: false),
            ])
    }

    @Test func `rule 6 a live invite approves a row that waits`() {
        let row = RuleFixture.user(.pending, .approval, proved: true)
        let fixture = RuleFixture().tenant {
            $0.invite = RuleFixture.invite()
            $0.user = row
        }.known(row, invite: RuleFixture.invite())
        #expect(fixture.verdict.isSuccess)
        #expect(fixture.verdict.effects.contains(.approveUser(user: ann, role: .manager)))
    }

    @Test func `rule 7 removes unproved credentials before it links`() {
        let fixture = RuleFixture().tenant {
            $0.user = RuleFixture.user(.pending, .import, unproved: true)
        }
        #expect(
            fixture.verdict.effects == [
                .wipeUnverifiedCredentials(user: ann), .activateUser(user: ann, role: .member),
                .linkIdentity(user: ann),
            ])
    }

    @Test func `rule 8 a second identity needs the first one, a grant or an authoritative issuer`()
    {
        let fixture = RuleFixture().tenant { $0.user = RuleFixture.user(.active, proved: true) }
        #expect(fixture.answer == "refused identity_link_required")
        let grant = LinkGrant(
            id: UUID(high: 6, low: 1), userID: ann, expiresAt: RuleFixture.now.adding(seconds: 1))
        let granted = fixture.with { $0.facts.linkGrant = grant }
        #expect(granted.answer == "linked")
        #expect(granted.verdict.effects.contains(.consumeLinkGrant(grant: grant.id)))
        let auto = fixture.with {
            $0.facts.tenants[RuleFixture.acme]?.policy.autoLink = .authoritative
        }
        #expect(auto.answer == "refused identity_link_required")
        #expect(auto.with { $0.attempt.hostedDomain = "ex.com" }.answer == "linked")
    }

    @Test(arguments: [
        (TenantPolicy.SignUp.domain, "created"), (.open, "created"), (.approval, "created"),
        (.inviteOnly, "refused not_invited"), (.closed, "refused not_invited"),
    ])
    func `rule 9 admits by the tenant's policy`(signUp: TenantPolicy.SignUp, answer: String) {
        let fixture = RuleFixture(.oidc, trust: .authoritative, domains: ["ex.com"], verified: nil)
            .tenant(acme, signUp) {
                $0.domain = RuleFixture.domain()
                $0.policy.defaultRole = .admin
            }
        #expect(fixture.answer == answer)
        #expect(fixture.verdict.maySignIn == (answer == "created" && signUp != .approval))
        #expect(
            !fixture.verdict.effects.contains(
                .createUser(status: .active, role: .admin, source: .signUp)))
    }

    @Test func `rule 9 filters by the allowed domains`() {
        let fixture = RuleFixture(.oidc, trust: .authoritative, domains: ["ex.com"])
            .tenant(acme, .domain) {
                $0.domain = RuleFixture.domain()
                $0.policy.allowedDomains = ["ex.org"]
            }
        #expect(fixture.answer == "refused not_invited")
    }

    @Test func `rule 10 an asked open tenant takes a vouched address`() {
        let fixture = RuleFixture().tenant(acme, .open, asked: true)
        #expect(fixture.answer == "created")
        #expect(
            fixture.with { $0.attempt.emailVerified = nil }.answer == "refused email_unverified")
    }

    @Test func `a closed tenant refuses invites, pending rows, domains and sign-ups`() {
        let closed = { (change: (inout TenantFacts) -> Void) in
            RuleFixture().tenant(RuleFixture.acme, .closed, asked: true, change).answer
        }
        #expect(closed { $0.invite = RuleFixture.invite() } == "refused not_invited")
        #expect(closed { $0.user = RuleFixture.user(.pending) } == "refused not_invited")
        #expect(closed { $0.domain = RuleFixture.domain() } == "refused not_invited")
    }

    @Test func `asked tenants that contradict each other are no tenant`() {
        let fixture = RuleFixture().tenant(acme, .open, asked: true).tenant(
            RuleFixture.other, .open, asked: true)
        #expect(fixture.answer == "refused no_tenant")
        let unknown = RuleFixture().with { $0.facts.asked = [AskedTenant(.attempt, nil)] }
        #expect(unknown.answer == "refused no_tenant")
        let deleted = RuleFixture().tenant(acme, asked: true) { $0.status = .deleted }
        #expect(deleted.answer == "refused tenant_deleted")
    }

    @Test func `the pool may let its operators make users that no rule matches`() {
        let fixture = RuleFixture(.cognito, trigger: .nativeAdminCreate)
        #expect(fixture.answer == "refused no_tenant")
        let allowed = fixture.with { $0.facts.provider?.allowsAdminCreate = true }
        #expect(allowed.answer == "reserved")
        #expect(allowed.verdict.effects.isEmpty)
    }
}
