import Domain
import Testing
import Text

/// One test for each row of the table of edge cases that the rules decide.
@Suite struct EdgeCaseTests {
    let acme = RuleFixture.acme
    let ann = RuleFixture.ann

    func invited(_ fixture: RuleFixture) -> RuleFixture {
        fixture.tenant { $0.invite = RuleFixture.invite() }
    }
    func joins(_ fixture: RuleFixture) -> RuleFixture {
        fixture.tenant(acme, .domain) { $0.domain = RuleFixture.domain() }
    }

    @Test func `E2 an invite is not usable by a plus address`() {
        let fixture = RuleFixture(email: "ann+x@ex.com").tenant().token(RuleFixture.invite())
        #expect(fixture.answer == "refused invite_email_mismatch")
    }

    @Test func `E8 no email is refused, but a known identity signs in`() {
        let fixture = RuleFixture(.github).tenant().with { $0.attempt.address = .missing }
        #expect(fixture.answer == "refused email_missing")
        #expect(fixture.known(RuleFixture.user(.active)).answer == "existing")
    }

    @Test func `V1 an unverified address gets in by a mailed token only`() {
        let fixture = RuleFixture(.oidc, trust: .verifiedClaim, verified: false).tenant {
            $0.invite = RuleFixture.invite()
        }
        #expect(fixture.answer == "refused email_unverified")
        #expect(fixture.token(RuleFixture.invite()).verdict.isSuccess)
        #expect(
            fixture.token(RuleFixture.invite(delivery: .link)).answer == "refused email_unverified")
    }

    @Test func `V1 a link and a password at the acceptance page accept that invite`() {
        let fixture = RuleFixture(.password, verified: nil, trigger: .invitePage).tenant()
            .token(RuleFixture.invite(delivery: .link))
        #expect(fixture.verdict.isSuccess)
    }

    @Test func `V2 google is authoritative only for gmail and its hd`() {
        #expect(joins(RuleFixture()).answer == "refused email_unverified")
        #expect(
            joins(RuleFixture().with { $0.attempt.hostedDomain = "ex.com" }).answer == "created")
        #expect(
            joins(RuleFixture().with { $0.attempt.hostedDomain = "x.com" }).answer
                == "refused email_unverified")
        #expect(invited(RuleFixture()).verdict.isSuccess)
    }

    @Test func `V3 a generic issuer is trusted as it is configured`() {
        #expect(invited(RuleFixture(.oidc)).answer == "refused email_unverified")
        #expect(invited(RuleFixture(.oidc, trust: .verifiedClaim)).verdict.isSuccess)
        #expect(
            joins(RuleFixture(.oidc, trust: .authoritative, domains: ["ex.com"])).answer
                == "created")
    }

    @Test func `V3 an explicit false defeats an authoritative issuer`() {
        let fixture = RuleFixture(
            .oidc, trust: .authoritative, domains: ["ex.com"], verified: false)
        #expect(joins(fixture).answer == "refused email_unverified")
    }

    @Test func `V3 a tenant's own issuer is authoritative only for domains it has verified`() {
        let fixture = invited(RuleFixture(.oidc, trust: .authoritative, domains: ["ex.com"])).with {
            $0.facts.provider?.tenantID = RuleFixture.acme
        }
        #expect(fixture.answer == "refused email_unverified")
        let proved = fixture.with {
            $0.facts.tenants[RuleFixture.acme]?.domain = RuleFixture.domain()
        }
        #expect(proved.verdict.isSuccess)
    }

    @Test func `V3 an upstream's trust comes before its pool's`() {
        let pool = RuleFixture(.cognito).with {
            $0.facts.provider?.upstreams = [.init(name: "Okta", emailTrust: .verifiedClaim)]
        }
        #expect(invited(pool).answer == "refused email_unverified")
        #expect(invited(pool.with { $0.attempt.upstream = "okta" }).verdict.isSuccess)
    }

    @Test func `V4 outside its domains an authoritative issuer is not trusted`() {
        let fixture = RuleFixture(.oidc, trust: .authoritative, domains: ["ex.org"])
        #expect(invited(fixture).answer == "refused email_unverified")
    }

    @Test func `V5 a native sign-up only reserves and its proof vouches fully`() {
        let native = RuleFixture(.cognito, trigger: .nativeSignUp)
        #expect(joins(native).answer == "reserved")
        #expect(joins(native.with { $0.attempt.trigger = .nativeProved }).answer == "created")
    }

    @Test func `V6 a new address at the provider is the same user`() {
        let fixture = joins(RuleFixture()).known(RuleFixture.user(.active, id: RuleFixture.bob))
        #expect(fixture.answer == "existing")
        #expect(fixture.verdict.userID == RuleFixture.bob)
    }

    @Test func `V8 a recycled address does not reach the deleted user`() {
        let fixture = joins(RuleFixture().with { $0.attempt.hostedDomain = "ex.com" }).with {
            $0.facts.tenants[RuleFixture.acme]?.deleted = RuleFixture.user(.deleted)
        }
        #expect(fixture.answer == "refused user_deleted")
    }

    @Test func `I1 a matching verified address accepts the invite without a token`() {
        let verdict = invited(RuleFixture()).verdict
        #expect(verdict.inviteID == UUID(high: 3, low: 1))
        #expect(verdict.isSuccess)
    }

    @Test func `I2 an inviter who lost the role gives member`() {
        let fixture = RuleFixture().tenant {
            $0.invite = RuleFixture.invite(role: .admin)
            $0.invite?.inviter = .person(mayGive: .manager)
        }
        let accepted = Effect.acceptInvite(
            invite: UUID(high: 3, low: 1), role: .member, downgraded: true)
        #expect(fixture.verdict.effects.contains(accepted))
    }

    @Test func `I3 an external invite is looked at again when it is used`() {
        let fixture = invited(RuleFixture()).with {
            $0.facts.tenants[RuleFixture.acme]?.policy.allowedDomains = ["ex.org"]
        }
        #expect(fixture.verdict.isSuccess)
        let closed = fixture.with {
            $0.facts.tenants[RuleFixture.acme]?.policy.externalInvites = false
        }
        #expect(closed.answer == "refused not_invited")
    }

    @Test func `I5 expiry is exclusive and an expired invite without token counts as absent`() {
        let fixture = RuleFixture().tenant {
            $0.invite = RuleFixture.invite(seconds: 0)
            $0.user = RuleFixture.user(.pending, .invite)
        }
        #expect(fixture.answer == "refused no_tenant")
    }

    @Test func `I6 a reservation does not outlive the revocation of its invite`() {
        var invite = RuleFixture.invite()
        invite.invite.revokedAt = RuleFixture.now
        let fixture = RuleFixture(.cognito, trigger: .nativeProved).tenant().with {
            $0.facts.invite = invite
            $0.facts.reservation = Reservation(
                caller: UUID(high: 7, low: 1), tenantID: RuleFixture.acme,
                inviteID: invite.invite.id)
        }
        #expect(fixture.answer == "refused invite_revoked")
    }

    @Test func `I10 two inviting tenants are both offered, a token picks its own`() {
        let fixture = invited(RuleFixture()).tenant(RuleFixture.other) {
            $0.invite = RuleFixture.invite(RuleFixture.other)
        }
        #expect(fixture.answer == "deferred tenant_choice_required")
        let token = fixture.token(RuleFixture.invite(RuleFixture.other))
        #expect(token.verdict.tenantID == RuleFixture.other)
        #expect(token.verdict.isSuccess)
    }

    @Test func `I13 a suspended tenant leaves the invite untouched`() {
        let fixture = RuleFixture().tenant { $0.status = .suspended }.token(RuleFixture.invite())
        #expect(fixture.answer == "refused tenant_suspended")
        #expect(fixture.verdict.effects.isEmpty)
    }

    @Test func `I16 in one tenant the invite's role wins over the domain's`() {
        let fixture = joins(RuleFixture()).with {
            $0.facts.tenants[RuleFixture.acme]?.invite = RuleFixture.invite()
        }
        let made = Effect.createUser(status: .active, role: .manager, source: .invite)
        #expect(fixture.verdict.effects.contains(made))
    }

    @Test func `U2 a row made by a sign-up loses its credentials before it is used`() {
        let fixture = joins(RuleFixture().with { $0.attempt.hostedDomain = "ex.com" }).with {
            $0.facts.tenants[RuleFixture.acme]?.user = RuleFixture.user(
                .pending, .signUp, unproved: true)
        }
        #expect(fixture.verdict.effects.first == .wipeUnverifiedCredentials(user: ann))
        #expect(fixture.verdict.userID == ann)
    }

    @Test func `U4 an identity is never moved to another user`() {
        let fixture = RuleFixture().tenant { $0.user = RuleFixture.user(.pending) }
            .known(RuleFixture.user(.pending, id: RuleFixture.bob))
        #expect(fixture.answer == "refused identity_conflict")
    }

    @Test func `U9 a deleted identity comes back by a new invite only, on a new row`() {
        let fixture = RuleFixture().tenant().known(RuleFixture.user(.deleted))
        #expect(fixture.answer == "refused user_deleted")
        let invited = fixture.with {
            $0.facts.tenants[RuleFixture.acme]?.invite = RuleFixture.invite()
        }
        #expect(invited.answer == "created")
        #expect(
            invited.verdict.effects.first == .tombstoneIdentity(identity: UUID(high: 5, low: 1)))
    }

    @Test func `D3 a subdomain matches only where the domain says so, on whole labels`() {
        #expect(!RuleFixture.domain().covers("eu.ex.com"))
        #expect(RuleFixture.domain(subdomains: true).covers("eu.ex.com"))
        #expect(!RuleFixture.domain(subdomains: true).covers("notex.com"))
    }

    @Test func `D9 the client's tenant and the asked one must agree`() {
        let fixture = RuleFixture().tenant(acme, .open, asked: true).with {
            $0.attempt.clientID = "app"
            $0.facts.provider?.clientTenants = ["app": RuleFixture.other]
        }
        #expect(fixture.answer == "refused no_tenant")
    }
}
