import Domain
import Testing
import Text

/// One test for each row of the table of edge cases that the rules decide.
@Suite struct EdgeCaseTests {
    let acme = Scene.acme
    let ann = Scene.ann

    func invited(_ scene: Scene) -> Scene { scene.tenant { $0.invite = Scene.invite() } }
    func joins(_ scene: Scene) -> Scene {
        scene.tenant(acme, .domain) { $0.domain = Scene.domain() }
    }

    @Test func `E2 an invite is not usable by a plus address`() {
        let scene = Scene(email: "ann+x@ex.com").tenant().token(Scene.invite())
        #expect(scene.answer == "refused invite_email_mismatch")
    }

    @Test func `E8 no email is refused, but a known identity signs in`() {
        let scene = Scene(.github).tenant().with { $0.attempt.address = .missing }
        #expect(scene.answer == "refused email_missing")
        #expect(scene.known(Scene.user(.active)).answer == "existing")
    }

    @Test func `V1 an unverified address gets in by a mailed token only`() {
        let scene = Scene(.oidc, trust: .verifiedClaim, verified: false).tenant {
            $0.invite = Scene.invite()
        }
        #expect(scene.answer == "refused email_unverified")
        #expect(scene.token(Scene.invite()).verdict.isSuccess)
        #expect(scene.token(Scene.invite(delivery: .link)).answer == "refused email_unverified")
    }

    @Test func `V1 a link and a password at the acceptance page accept that invite`() {
        let scene = Scene(.password, verified: nil, trigger: .invitePage).tenant()
            .token(Scene.invite(delivery: .link))
        #expect(scene.verdict.isSuccess)
    }

    @Test func `V2 google is authoritative only for gmail and its hd`() {
        #expect(joins(Scene()).answer == "refused email_unverified")
        #expect(joins(Scene().with { $0.attempt.hostedDomain = "ex.com" }).answer == "created")
        #expect(
            joins(Scene().with { $0.attempt.hostedDomain = "x.com" }).answer
                == "refused email_unverified")
        #expect(invited(Scene()).verdict.isSuccess)
    }

    @Test func `V3 a generic issuer is trusted as it is configured`() {
        #expect(invited(Scene(.oidc)).answer == "refused email_unverified")
        #expect(invited(Scene(.oidc, trust: .verifiedClaim)).verdict.isSuccess)
        #expect(joins(Scene(.oidc, trust: .authoritative, domains: ["ex.com"])).answer == "created")
    }

    @Test func `V3 an explicit false defeats an authoritative issuer`() {
        let scene = Scene(.oidc, trust: .authoritative, domains: ["ex.com"], verified: false)
        #expect(joins(scene).answer == "refused email_unverified")
    }

    @Test func `V3 a tenant's own issuer is authoritative only for domains it has verified`() {
        let scene = invited(Scene(.oidc, trust: .authoritative, domains: ["ex.com"])).with {
            $0.facts.provider?.tenantID = Scene.acme
        }
        #expect(scene.answer == "refused email_unverified")
        let proved = scene.with { $0.facts.tenants[Scene.acme]?.domain = Scene.domain() }
        #expect(proved.verdict.isSuccess)
    }

    @Test func `V3 an upstream's trust comes before its pool's`() {
        let pool = Scene(.cognito).with {
            $0.facts.provider?.upstreams = [.init(name: "Okta", emailTrust: .verifiedClaim)]
        }
        #expect(invited(pool).answer == "refused email_unverified")
        #expect(invited(pool.with { $0.attempt.upstream = "okta" }).verdict.isSuccess)
    }

    @Test func `V4 outside its domains an authoritative issuer is not trusted`() {
        let scene = Scene(.oidc, trust: .authoritative, domains: ["ex.org"])
        #expect(invited(scene).answer == "refused email_unverified")
    }

    @Test func `V5 a native sign-up only reserves and its proof vouches fully`() {
        let native = Scene(.cognito, trigger: .nativeSignUp)
        #expect(joins(native).answer == "reserved")
        #expect(joins(native.with { $0.attempt.trigger = .nativeProved }).answer == "created")
    }

    @Test func `V6 a new address at the provider is the same user`() {
        let scene = joins(Scene()).known(Scene.user(.active, id: Scene.bob))
        #expect(scene.answer == "existing")
        #expect(scene.verdict.userID == Scene.bob)
    }

    @Test func `V8 a recycled address does not reach the deleted user`() {
        let scene = joins(Scene().with { $0.attempt.hostedDomain = "ex.com" }).with {
            $0.facts.tenants[Scene.acme]?.deleted = Scene.user(.deleted)
        }
        #expect(scene.answer == "refused user_deleted")
    }

    @Test func `I1 a matching verified address accepts the invite without a token`() {
        let verdict = invited(Scene()).verdict
        #expect(verdict.inviteID == UUID(high: 3, low: 1))
        #expect(verdict.isSuccess)
    }

    @Test func `I2 an inviter who lost the role gives member`() {
        let scene = Scene().tenant {
            $0.invite = Scene.invite(role: .admin)
            $0.invite?.inviter = .person(mayGive: .manager)
        }
        let accepted = Effect.acceptInvite(
            invite: UUID(high: 3, low: 1), role: .member, downgraded: true)
        #expect(scene.verdict.effects.contains(accepted))
    }

    @Test func `I3 an external invite is looked at again when it is used`() {
        let scene = invited(Scene()).with {
            $0.facts.tenants[Scene.acme]?.policy.allowedDomains = ["ex.org"]
        }
        #expect(scene.verdict.isSuccess)
        let closed = scene.with {
            $0.facts.tenants[Scene.acme]?.policy.externalInvites = false
        }
        #expect(closed.answer == "refused not_invited")
    }

    @Test func `I5 expiry is exclusive and an expired invite without token counts as absent`() {
        let scene = Scene().tenant {
            $0.invite = Scene.invite(seconds: 0)
            $0.user = Scene.user(.pending, .invite)
        }
        #expect(scene.answer == "refused no_tenant")
    }

    @Test func `I6 a reservation does not outlive the revocation of its invite`() {
        var invite = Scene.invite()
        invite.invite.revokedAt = Scene.now
        let scene = Scene(.cognito, trigger: .nativeProved).tenant().with {
            $0.facts.invite = invite
            $0.facts.reservation = Reservation(
                caller: UUID(high: 7, low: 1), tenantID: Scene.acme, inviteID: invite.invite.id)
        }
        #expect(scene.answer == "refused invite_revoked")
    }

    @Test func `I10 two inviting tenants are both offered, a token picks its own`() {
        let scene = invited(Scene()).tenant(Scene.other) { $0.invite = Scene.invite(Scene.other) }
        #expect(scene.answer == "deferred tenant_choice_required")
        let token = scene.token(Scene.invite(Scene.other))
        #expect(token.verdict.tenantID == Scene.other)
        #expect(token.verdict.isSuccess)
    }

    @Test func `I13 a suspended tenant leaves the invite untouched`() {
        let scene = Scene().tenant { $0.status = .suspended }.token(Scene.invite())
        #expect(scene.answer == "refused tenant_suspended")
        #expect(scene.verdict.effects.isEmpty)
    }

    @Test func `I16 in one tenant the invite's role wins over the domain's`() {
        let scene = joins(Scene()).with { $0.facts.tenants[Scene.acme]?.invite = Scene.invite() }
        let made = Effect.createUser(status: .active, role: .manager, source: .invite)
        #expect(scene.verdict.effects.contains(made))
    }

    @Test func `U2 a row that somebody signed up for loses its credentials before it is used`() {
        let scene = joins(Scene().with { $0.attempt.hostedDomain = "ex.com" }).with {
            $0.facts.tenants[Scene.acme]?.user = Scene.user(.pending, .signUp, unproved: true)
        }
        #expect(scene.verdict.effects.first == .wipeUnverifiedCredentials(user: ann))
        #expect(scene.verdict.userID == ann)
    }

    @Test func `U4 an identity is never moved to another user`() {
        let scene = Scene().tenant { $0.user = Scene.user(.pending) }
            .known(Scene.user(.pending, id: Scene.bob))
        #expect(scene.answer == "refused identity_conflict")
    }

    @Test func `U9 a deleted identity comes back by a new invite only, on a new row`() {
        let scene = Scene().tenant().known(Scene.user(.deleted))
        #expect(scene.answer == "refused user_deleted")
        let invited = scene.with { $0.facts.tenants[Scene.acme]?.invite = Scene.invite() }
        #expect(invited.answer == "created")
        #expect(
            invited.verdict.effects.first == .tombstoneIdentity(identity: UUID(high: 5, low: 1)))
    }

    @Test func `D3 a subdomain matches only where the domain says so, on whole labels`() {
        #expect(!Scene.domain().covers("eu.ex.com"))
        #expect(Scene.domain(subdomains: true).covers("eu.ex.com"))
        #expect(!Scene.domain(subdomains: true).covers("notex.com"))
    }

    @Test func `D9 the client's tenant and the asked one must agree`() {
        let scene = Scene().tenant(acme, .open, asked: true).with {
            $0.attempt.clientID = "app"
            $0.facts.provider?.clientTenants = ["app": Scene.other]
        }
        #expect(scene.answer == "refused no_tenant")
    }
}
