import Domain
import TestSupport
import Testing
import Text

@Suite struct PropertyTests {
    @Test(arguments: 0..<20) func `any facts keep the invariants`(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        for _ in 0..<500 {
            let fixture = make(&random)
            let verdict = fixture.verdict
            let effects = verdict.effects
            #expect(verdict == fixture.verdict)
            #expect(!verdict.trace.isEmpty)
            #expect(effects.filter(\.touchesUser).count <= 1)
            let links = effects.filter {
                if case .linkIdentity = $0 { true } else { false }
            }
            #expect(links.count <= 1)
            // A row that waits, or waits from now on, may have had the sign-in before.
            let waits = effects.contains {
                if case .awaitApproval = $0 { true } else { false }
            }
            if verdict.outcome == .created { #expect(links.count == 1 || waits) }
            if verdict.outcome == .linked {
                #expect(links.count == 1 || effects.contains(where: \.touchesUser))
            }
            if !verdict.isSuccess { #expect(links.isEmpty) }
            #expect((verdict.outcome == .refused) <= effects.isEmpty)
            if verdict.outcome == .refused { #expect(verdict.reason != nil) }
            for case .createUser(let status, let role, let source) in effects
            where source != .invite {
                #expect(role < .admin)
                #expect((source == .approval) == (status == .pending))
                let tenant = verdict.tenantID.flatMap { fixture.facts.tenants[$0] }
                #expect(tenant?.policy.blockedDomains.isEmpty == true)
                #expect((status == .pending) <= (tenant?.isWaitingRoomFull == false))
            }
            for case .useJoinLink in effects {
                let link = fixture.facts.joinLink
                #expect(link?.link.status(at: RuleFixture.now) == .active)
                #expect(link?.makerMayInvite == true && link?.link.tenantID == verdict.tenantID)
                #expect(effects.contains { $0.role == .member && $0.touchesUser })
                #expect(fixture.facts.tenants[RuleFixture.acme]?.policy.signUp != .closed)
            }
            if fixture.attempt.trigger.isUnprovedNative {
                #expect(effects.allSatisfy { !$0.touchesUser } && links.isEmpty)
            }
        }
    }

    private func make(_ random: inout SeededNumbers) -> RuleFixture {
        var fixture = RuleFixture(
            random.pick(ProviderKind.allCases), trust: random.pick([nil] + EmailTrust.allCases),
            domains: ["ex.com"], verified: random.pick([nil, true, false]),
            trigger: random.pick(Attempt.Trigger.allCases))
        for id in [RuleFixture.acme, RuleFixture.other] where random.chance(2) {
            let policy = random.pick(TenantPolicy.SignUp.allCases)
            let row = random.chance(2) ? user(&random, live: true) : nil
            let invite = random.chance(3) ? RuleFixture.invite(id, role: .admin) : nil
            let hasDomain = random.chance(3)
            var domain = RuleFixture.domain()
            domain.mode = random.pick([nil] + TenantDomain.Mode.allCases)
            domain.role = random.pick([nil] + UserRole.allCases)
            let (isBlocked, isFull) = (random.chance(5), random.chance(5))
            let status = random.pick([Tenant.Status.active, .active, .active, .suspended])
            fixture = fixture.tenant(id, policy, asked: random.chance(4)) {
                $0.status = status
                $0.user = row
                $0.invite = invite
                $0.domain = hasDomain ? domain : nil
                $0.policy.defaultRole = .admin
                $0.policy.blockedDomains = isBlocked ? ["ex.com"] : []
                $0.isWaitingRoomFull = isFull
            }
            if random.chance(4) { fixture = fixture.known(row ?? user(&random, live: false), id) }
        }
        if random.chance(4) { fixture = fixture.token(random.pick([nil, RuleFixture.invite()])) }
        return random.chance(4) ? fixture.joining(link(&random)) : fixture
    }

    private func link(_ random: inout SeededNumbers) -> JoinLinkFacts? {
        var link = RuleFixture.joinLink(
            domains: random.pick([[], ["ex.com"], ["other.com"]]),
            uses: random.pick([0, 0, 10]), seconds: random.pick([60, 60, 0]))
        link.makerMayInvite = !random.chance(4)
        return random.chance(5) ? nil : link
    }

    private func user(_ random: inout SeededNumbers, live: Bool) -> UserFacts {
        let live: [User.Status] = live ? [.pending, .active, .suspended] : User.Status.allCases
        return RuleFixture.user(
            random.pick(live), random.pick(User.Source.allCases),
            id: random.pick([RuleFixture.ann, RuleFixture.bob]), proved: random.chance(2),
            unproved: random.chance(3))
    }
}

extension Effect {
    /// The role that it gives.
    fileprivate var role: UserRole? {
        switch self {
        case .createUser(_, let role, _), .activateUser(_, let role): role
        default: nil
        }
    }
}

/// Implication, so that an invariant reads as a sentence.
private func <= (left: Bool, right: Bool) -> Bool { !left || right }
