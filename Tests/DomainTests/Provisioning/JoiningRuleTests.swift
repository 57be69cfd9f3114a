import TestSupport
import Testing
import Text

@testable import Domain

/// Who may join by a domain's mode or by asking, who waits, and who is kept out.
@Suite struct JoiningRuleTests {
    private let acme = RuleFixture.acme

    /// Google vouches as the owner of the domain, or only says that the address is verified.
    private func person(owns: Bool = true) -> RuleFixture {
        RuleFixture().with { $0.attempt.hostedDomain = owns ? "ex.com" : nil }
    }

    private func domain(_ mode: TenantDomain.Mode?, role: UserRole? = nil) -> TenantDomain {
        var domain = RuleFixture.domain()
        domain.mode = mode
        domain.role = role
        return domain
    }

    private func created(_ fixture: RuleFixture) -> (User.Status, UserRole)? {
        for case .createUser(let status, let role, _) in fixture.verdict.effects {
            return (status, role)
        }
        return nil
    }

    @Test func `D11 a domain's mode stands in place of the policy, and a closed policy above it`() {
        let rows: [(TenantPolicy.SignUp, TenantDomain.Mode?, String, User.Status?)] = [
            (.inviteOnly, .join, "created", .active), (.inviteOnly, .ask, "created", .pending),
            (.open, .inviteOnly, "refused not_invited", nil),
            (.domain, .inviteOnly, "refused not_invited", nil),
            (.domain, .ask, "created", .pending), (.approval, .join, "created", .active),
            (.closed, .join, "refused not_invited", nil),
            (.closed, .ask, "refused not_invited", nil),
            (.inviteOnly, nil, "refused not_invited", nil), (.approval, nil, "created", .pending),
        ]
        for asked in [false, true] {
            for (signUp, mode, answer, status) in rows {
                let fixture = person().tenant(acme, signUp, asked: asked) {
                    $0.domain = domain(mode)
                }
                #expect(fixture.answer == answer, "\(signUp) \(String(describing: mode))")
                #expect(created(fixture)?.0 == status, "\(signUp) \(String(describing: mode))")
            }
        }
    }

    @Test func `D12 the domain's role is given, at most manager, else the policy's`() {
        func role(_ role: UserRole?) -> UserRole? {
            created(
                person().tenant(acme, .domain) {
                    $0.domain = domain(.join, role: role)
                    $0.policy.defaultRole = .manager
                })?.1
        }
        #expect(role(.member) == .member)
        #expect(role(.admin) == .manager)
        #expect(role(nil) == .manager)
        // Who is let in by asking alone is not known to be of the domain.
        let asking = person(owns: false).tenant(acme, .open, asked: true) {
            $0.domain = domain(nil, role: .manager)
        }
        #expect(created(asking)?.1 == .member)
    }

    @Test func `D13 where only the authority is missing, asking counts as for anybody`() {
        func answer(
            _ signUp: TenantPolicy.SignUp, _ mode: TenantDomain.Mode?, asked: Bool = true
        ) -> String {
            let fixture = person(owns: false).tenant(acme, signUp, asked: asked) {
                $0.domain = domain(mode)
            }
            return created(fixture).map { $0.0.rawValue } ?? fixture.answer
        }
        #expect(answer(.open, nil) == "active")
        #expect(answer(.open, .join) == "active")
        #expect(answer(.open, .ask) == "pending")
        #expect(answer(.open, .inviteOnly) == "refused not_invited")
        #expect(answer(.approval, nil) == "pending")
        #expect(answer(.approval, .join) == "pending")
        #expect(answer(.domain, .ask) == "refused email_unverified")
        #expect(answer(.inviteOnly, .join) == "refused email_unverified")
        #expect(answer(.approval, .ask, asked: false) == "refused email_unverified")
    }

    @Test func `P6 a domain whose mode admits nobody is no candidate that would admit`() {
        func person(_ mode: TenantDomain.Mode?, _ policy: TenantPolicy.SignUp) -> RuleFixture {
            self.person()
                .tenant(acme, policy) { $0.domain = domain(mode) }
                .tenant(RuleFixture.other) {
                    $0.user = RuleFixture.user(.pending, id: RuleFixture.bob)
                }
        }
        // The domain's own tenant always counts, so that the other's offer is a choice.
        let shut = person(.inviteOnly, .domain).verdict
        #expect(shut.outcome == .deferred && shut.choices == [RuleFixture.other])
        let open = person(.join, .inviteOnly).verdict
        #expect(open.outcome == .deferred && open.choices == [acme, RuleFixture.other])
        let waits = person(.ask, .inviteOnly).verdict
        #expect(waits.choices == [acme, RuleFixture.other])
        #expect(person(.join, .closed).verdict.choices == [RuleFixture.other])
    }

    @Test func `A1 under approval whoever asks for the tenant waits, and nobody without asking`() {
        let asks = RuleFixture().tenant(acme, .approval, asked: true)
        #expect(asks.answer == "created")
        #expect(created(asks)?.0 == .pending)
        #expect(!asks.verdict.maySignIn)
        #expect(asks.verdict.trace.last?.rule == .openTenant)
        #expect(RuleFixture().tenant(acme, .approval).answer == "refused no_tenant")
        #expect(
            asks.with { $0.attempt.emailVerified = nil }.answer == "refused email_unverified")
        let outside = RuleFixture().tenant(acme, .approval, asked: true) {
            $0.policy.allowedDomains = ["elsewhere.example"]
        }
        #expect(outside.answer == "refused not_invited")
        let native = RuleFixture(.cognito, trigger: .nativeSignUp)
            .tenant(acme, .approval, asked: true)
        #expect(native.answer == "reserved")
    }

    @Test func `A3 a declined person is refused for 30 days and may ask again then`() {
        func asks(_ change: @escaping (inout TenantFacts) -> Void) -> RuleFixture {
            RuleFixture().tenant(acme, .approval, asked: true) {
                var row = RuleFixture.user(.deleted, .approval)
                row.isDeclined = true
                $0.deleted = row
                change(&$0)
            }
        }
        let declined = asks { _ in }
        #expect(declined.answer == "refused not_invited")
        #expect(declined.verdict.userID == RuleFixture.ann)
        let later = asks {
            $0.deleted?.deletedAt = RuleFixture.now.adding(seconds: -30 * 86_400)
        }
        #expect(created(later)?.0 == .pending)
        #expect(asks { $0.invite = RuleFixture.invite() }.answer == "created")
        #expect(asks { $0.user = RuleFixture.user(.pending) }.answer == "linked")
    }

    @Test func `A5 over the limit of those who wait the next is rate limited, others come in`() {
        let full = person().tenant(acme, .approval, asked: true) { $0.isWaitingRoomFull = true }
        #expect(full.answer == "refused rate_limited")
        #expect(full.verdict.effects.isEmpty)
        let byDomain = person().tenant {
            $0.isWaitingRoomFull = true
            $0.domain = domain(.ask)
        }
        #expect(byDomain.answer == "refused rate_limited")
        let joins = person().tenant {
            $0.isWaitingRoomFull = true
            $0.domain = domain(.join)
        }
        #expect(joins.answer == "created")
    }

    @Test func `A7 a blocked address does not come in by a domain or by asking`() {
        let blocks: [(String, (inout TenantPolicy) -> Void)] = [
            ("blocked_emails", { $0.blockedEmails = ["ann@ex.com"] }),
            ("blocked_domains", { $0.blockedDomains = ["ex.com"] }),
        ]
        for (member, block) in blocks {
            let asks = RuleFixture().tenant(acme, .open, asked: true) { block(&$0.policy) }
            #expect(asks.answer == "refused email_blocked")
            let step = asks.verdict.trace.last
            #expect(step?.rule == .blockList && step?.detail == member)
            let waits = RuleFixture().tenant(acme, .approval, asked: true) { block(&$0.policy) }
            #expect(waits.answer == "refused email_blocked")
            let domain = person().tenant(acme, .domain) {
                block(&$0.policy)
                $0.domain = self.domain(nil)
            }
            #expect(domain.answer == "refused email_blocked")
            let native = RuleFixture(.cognito, trigger: .nativeSignUp)
                .tenant(acme, .open, asked: true) { block(&$0.policy) }
            #expect(native.answer == "refused email_blocked")
        }
    }

    @Test func `A7 an invite, an operator's row and an existing user are not blocked`() {
        func blocked(_ change: @escaping (inout TenantFacts) -> Void) -> RuleFixture {
            RuleFixture().tenant(acme, .open, asked: true) {
                $0.policy.blockedEmails = ["ann@ex.com"]
                change(&$0)
            }
        }
        #expect(blocked { $0.invite = RuleFixture.invite() }.answer == "created")
        #expect(blocked { $0.user = RuleFixture.user(.pending) }.answer == "linked")
        #expect(blocked { _ in }.known(RuleFixture.user(.active)).answer == "existing")
        #expect(
            blocked { $0.user = RuleFixture.user(.active) }.answer
                == "refused identity_link_required")
    }

    @Test func `A7 a subdomain of a blocked domain is blocked, and a longer name is not`() {
        var policy = TenantPolicy()
        policy.blockedDomains = ["ex.com"]
        func block(_ email: String) -> TenantPolicy.Block? {
            policy.block(
                ofKey: email, domain: String(email.split(separator: "@").last ?? ""))
        }
        #expect(block("ann@ex.com") == .domain)
        #expect(block("ann@eu.ex.com") == .domain)
        #expect(block("ann@notex.com") == nil)
        #expect(block("ann@mailinator.com") == nil)
        policy.blockDisposable = true
        #expect(block("ann@mailinator.com") == .disposable)
        #expect(block("ann@mx.mailinator.com") == .disposable)
        #expect(block("ann@notmailinator.com") == nil)
        #expect(block("ann@gmail.com") == nil)
    }

    @Test func `the list of disposable domains holds plain names, each once`() throws {
        #expect(DisposableDomains.all.count > 100)
        for name in DisposableDomains.all {
            let parsed = try DomainName(name)
            #expect(sameBytes(parsed.ascii, name), "\(name)")
            #expect(!parsed.isPublicSuffix, "\(name)")
        }
    }

    @Test func `domain_mode is the nearest yes where the domain's mode refuses`() {
        func told(_ mode: TenantDomain.Mode?, _ policy: TenantPolicy.SignUp) -> [String] {
            let fixture = person().tenant(acme, policy, asked: true) { $0.domain = domain(mode) }
            return Provisioning.wouldAdmit(
                fixture.attempt, facts: fixture.facts, refused: .notInvited, now: RuleFixture.now
            ).map { $0.change.rawValue }
        }
        #expect(told(.inviteOnly, .open) == ["invite", "domain_mode"])
        #expect(told(nil, .inviteOnly) == ["invite", "domain_mode", "policy_sign_up"])
        #expect(told(.inviteOnly, .closed) == [])
    }
}
