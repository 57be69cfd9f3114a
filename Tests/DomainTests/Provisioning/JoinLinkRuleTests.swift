import Domain
import Testing
import Text

@Suite struct JoinLinkRuleTests {
    typealias Fix = RuleFixture
    let acme = RuleFixture.acme
    let link = UUID(high: 6, low: 1)

    /// A person whom nobody knows, with a live link.
    private func newcomer(_ signUp: TenantPolicy.SignUp = .inviteOnly) -> RuleFixture {
        Fix().tenant(acme, signUp).joining(Fix.joinLink())
    }

    private func admits(_ fixture: RuleFixture) -> Bool {
        fixture.verdict.effects.contains(.useJoinLink(link: link))
    }

    @Test
    func `J1 a live link admits a proved address as a member, whatever the policy but closed`() {
        for signUp in TenantPolicy.SignUp.allCases where signUp != .closed {
            let verdict = newcomer(signUp).with {
                $0.facts.tenants[Fix.acme]?.policy.defaultRole = .manager
            }.verdict
            #expect(verdict.outcome == .created)
            #expect(verdict.tenantID == acme)
            #expect(
                verdict.effects == [
                    .createUser(status: .active, role: .member, source: .joinLink),
                    .linkIdentity(user: nil), .useJoinLink(link: link),
                ])
            #expect(verdict.trace.last?.rule == .openTenant)
            #expect(verdict.trace.contains { $0.about.contains(.joinLink(Fix.joinLink().link)) })
        }
        #expect(newcomer(.closed).answer == "refused not_invited")
    }

    @Test func `J1 the link comes before a verified domain, which would wait or give another role`()
    {
        for signUp in [TenantPolicy.SignUp.domain, .approval, .inviteOnly] {
            let fixture = Fix(.oidc, trust: .authoritative, domains: ["ex.com"])
                .tenant(acme, signUp) {
                    $0.domain = Fix.domain()
                    $0.policy.defaultRole = .manager
                }.joining(Fix.joinLink())
            #expect(fixture.answer == "created")
            #expect(admits(fixture))
        }
    }

    @Test func `J2 a bad link refuses and no later rule runs`() {
        let open = Fix().tenant(acme, .open, asked: true) { $0.invite = Fix.invite() }
        var revoked = Fix.joinLink()
        revoked.link.revokedAt = Fix.now
        var orphan = Fix.joinLink()
        orphan.makerMayInvite = false
        #expect(open.joining(nil).answer == "refused join_unknown")
        #expect(open.joining(revoked).answer == "refused join_revoked")
        #expect(open.joining(orphan).answer == "refused join_revoked")
        #expect(open.joining(Fix.joinLink(seconds: 0)).answer == "refused join_expired")
        #expect(open.joining(Fix.joinLink(uses: 10)).answer == "refused join_used_up")
        #expect(open.joining(Fix.joinLink(uses: 9)).verdict.isSuccess)
    }

    @Test func `J2 with an invite's token both must be valid, and the invite decides`() {
        let both = newcomer().token(Fix.invite())
        #expect(both.answer == "created")
        #expect(both.verdict.inviteID == UUID(high: 3, low: 1))
        #expect(!admits(both))
        #expect(newcomer().token(nil).answer == "refused invite_unknown")
        let dead = Fix().tenant().token(Fix.invite()).joining(Fix.joinLink(uses: 10))
        #expect(dead.answer == "refused join_used_up")
        let elsewhere = newcomer().tenant(Fix.other).token(Fix.invite(Fix.other))
        #expect(elsewhere.answer == "refused no_tenant")
    }

    @Test func `J3 the link's tenant is the one asked, and must be active`() {
        let named = newcomer().tenant(Fix.other, asked: true)
        #expect(named.answer == "refused no_tenant")
        for (status, reason) in [
            (Tenant.Status.suspended, "tenant_suspended"), (.deleted, "tenant_deleted"),
        ] {
            let shut = newcomer().with { $0.facts.tenants[Fix.acme]?.status = status }
            #expect(shut.answer == "refused \(reason)")
        }
        // Another tenant's invite is not seen: the link asks for its own.
        let invited = newcomer().tenant(Fix.other) { $0.invite = Fix.invite(Fix.other) }
        #expect(invited.answer == "created")
        #expect(invited.verdict.tenantID == acme)
    }

    @Test
    func `J4 a person whom the tenant knows is decided as without the link, and uses no place`() {
        let rows: [(UserFacts, String)] = [
            (Fix.user(.suspended), "refused user_suspended"),
            (Fix.user(.pending, .approval), "refused approval_pending"),
            (Fix.user(.pending, .operator), "linked"), (Fix.user(.pending, .import), "linked"),
            (Fix.user(.active), "refused identity_link_required"),
        ]
        for (row, answer) in rows {
            let without = Fix().tenant(acme, asked: true) { $0.user = row }
            let with = newcomer().with { $0.facts.tenants[Fix.acme]?.user = row }
            #expect(without.answer == answer)
            #expect(with.answer == answer)
            #expect(!admits(with))
        }
        let deleted = newcomer().with {
            $0.facts.tenants[Fix.acme]?.deleted = Fix.user(.deleted)
        }
        #expect(deleted.answer == "refused user_deleted")
        let invited = newcomer().with { $0.facts.tenants[Fix.acme]?.invite = Fix.invite() }
        #expect(invited.verdict.inviteID == UUID(high: 3, low: 1))
        #expect(!admits(invited))
        let known = newcomer().known(Fix.user(.active))
        #expect(known.answer == "existing")
        #expect(!admits(known))
        // A known sign-in comes before the token, dead or not.
        #expect(known.joining(Fix.joinLink(uses: 10)).answer == "existing")
    }

    @Test func `J4 a row that no rule counts is replaced or adopted, and a place is used`() {
        let dead = newcomer().with {
            $0.facts.tenants[Fix.acme]?.user = Fix.user(.pending, .invite)
        }
        #expect(dead.answer == "created")
        #expect(admits(dead))
        let signUp = newcomer().with {
            $0.facts.tenants[Fix.acme]?.user = Fix.user(.pending, .signUp, unproved: true)
        }
        #expect(signUp.answer == "linked")
        #expect(signUp.verdict.effects.first == .wipeUnverifiedCredentials(user: Fix.ann))
        #expect(admits(signUp))
    }

    @Test func `J5 the address must be proved, within the link's domains and the allowed ones`() {
        #expect(
            Fix(verified: nil).tenant().joining(Fix.joinLink()).answer
                == "refused email_unverified")
        #expect(
            Fix(verified: false).tenant().joining(Fix.joinLink()).answer
                == "refused email_unverified")
        #expect(newcomer().joining(Fix.joinLink(domains: ["ex.com"])).answer == "created")
        #expect(
            newcomer().joining(Fix.joinLink(domains: ["other.com"])).answer
                == "refused not_invited")
        // Whole domains: a link for a domain is not one for its subdomains.
        #expect(
            Fix(email: "ann@sub.ex.com").tenant().joining(Fix.joinLink(domains: ["ex.com"])).answer
                == "refused not_invited")
        func filtered(_ external: Bool) -> RuleFixture {
            newcomer().with {
                $0.facts.tenants[Fix.acme]?.policy.allowedDomains = ["other.com"]
                $0.facts.tenants[Fix.acme]?.policy.externalInvites = external
            }
        }
        #expect(filtered(false).answer == "refused not_invited")
        #expect(filtered(true).answer == "created")
    }

    @Test func `J5 with an unproved address a stranger reads one reason`() {
        let row = newcomer().with {
            $0.attempt.emailVerified = false
            $0.facts.tenants[Fix.acme]?.user = Fix.user(.suspended)
        }
        #expect(row.verdict.reason == .userSuspended)
        #expect(row.verdict.publicReason == .emailUnverified)
        let dead = Fix(verified: false).tenant().joining(Fix.joinLink(uses: 10))
        #expect(dead.verdict.publicReason == nil)
    }

    @Test
    func `J6 a native sign-up reserves with the link, takes no place, and takes it when proved`() {
        let native = Fix(.cognito, trigger: .nativeSignUp).tenant().joining(Fix.joinLink())
        #expect(native.answer == "reserved")
        #expect(
            native.verdict.effects == [.reserve(tenant: acme, invite: nil, joinLink: link)])
        func proved(_ facts: JoinLinkFacts) -> RuleFixture {
            Fix(.cognito, trigger: .nativeProved).tenant().with {
                $0.facts.reservation = Reservation(
                    caller: UUID(high: 0, low: 0), tenantID: Fix.acme, joinLinkID: facts.link.id)
                $0.facts.joinLink = facts
            }
        }
        let done = proved(Fix.joinLink())
        #expect(done.answer == "created")
        #expect(admits(done))
        #expect(done.verdict.effects.contains(.endReservation(caller: UUID(high: 0, low: 0))))
        #expect(proved(Fix.joinLink(uses: 10)).answer == "refused join_used_up")
        #expect(proved(Fix.joinLink(seconds: 0)).answer == "refused join_expired")
    }

    @Test func `P10 a link does not bring back an unlinked identity`() {
        let barred = newcomer().with { $0.facts.tenants[Fix.acme]?.barredSince = Fix.now }
        #expect(barred.answer == "refused identity_link_required")
    }

    @Test func `P16 with a dead link the person is judged as one who comes without it`() {
        let dead = newcomer().joining(Fix.joinLink(uses: 10))
        let found = Provisioning.wouldAdmit(
            dead.attempt, facts: dead.facts, refused: .joinUsedUp, now: Fix.now)
        #expect(found.map(\.change) == [.invite, .policySignUp])
        let closed = newcomer(.closed)
        let opened = Provisioning.wouldAdmit(
            closed.attempt, facts: closed.facts, refused: .notInvited, now: Fix.now)
        #expect(opened.map(\.change) == [.policySignUp])
    }

    @Test func `a retry is told apart by the hash of the link's token`() {
        let attempt = newcomer().attempt
        func bytes(_ join: [UInt8]?, _ invite: [UInt8]? = nil) -> [UInt8] {
            Retry.digestInput(attempt: attempt, tenant: nil, tokenHash: invite, joinHash: join)
        }
        #expect(bytes([1]) != bytes([2]))
        #expect(bytes([1]) != bytes(nil))
        #expect(bytes([1]) != bytes(nil, [1]))
    }
}
