import Text

@testable import Domain

/// One attempt and its facts, with names short enough to read a rule's test at a glance.
struct RuleFixture {
    static let now = Timestamp(microseconds: 1_800_000_000_000_000)
    static let acme = UUID(high: 1, low: 1)
    static let other = UUID(high: 1, low: 2)
    static let ann = UUID(high: 2, low: 1)
    static let bob = UUID(high: 2, low: 2)

    var attempt: Attempt
    var facts: Facts

    init(
        _ kind: ProviderKind = .google, trust: EmailTrust? = nil, domains: [String] = [],
        email: String = "ann@ex.com", verified: Bool? = true, trigger: Attempt.Trigger = .federated
    ) {
        attempt = Attempt(
            trigger: trigger,
            identity: IdentityKey(provider: kind, issuer: "iss", subject: "s1"),
            address: .parsed(RuleFixture.email(email)), emailVerified: verified)
        facts = Facts(
            provider: Provider(
                id: UUID(high: 9, low: 9), kind: kind, name: "p", issuer: "iss", emailTrust: trust,
                domains: domains))
    }

    static func email(_ text: String) -> Email {
        let domain = text.split(separator: "@").last.map { String($0) } ?? ""
        return Email(key: text, display: text, domain: domain)
    }

    static func invite(
        _ tenant: UUID = acme, email text: String = "ann@ex.com", role: UserRole = .manager,
        delivery: Invite.Delivery = .mail, seconds: Int64 = 60
    ) -> InviteFacts {
        InviteFacts(
            invite: Invite(
                id: UUID(high: 3, low: tenant.low), tenantID: tenant, email: email(text),
                role: role, expiresAt: now.adding(seconds: seconds), delivery: delivery))
    }

    static func domain(_ name: String = "ex.com", subdomains: Bool = false) -> TenantDomain {
        TenantDomain(
            id: UUID(high: 4, low: 1), tenantID: acme, domain: name, display: name,
            status: .verified, includeSubdomains: subdomains, createdAt: now)
    }

    static func user(
        _ status: User.Status, _ source: User.Source = .operator, id: UUID = ann,
        proved: Bool = false, unproved: Bool = false
    ) -> UserFacts {
        UserFacts(
            id: id, status: status, source: source, hasProvedCredential: proved,
            hasUnprovedCredential: unproved, deletedAt: status == .deleted ? now : nil)
    }

    func tenant(
        _ id: UUID = acme, _ signUp: TenantPolicy.SignUp = .inviteOnly, asked: Bool = false,
        _ change: (inout TenantFacts) -> Void = { _ in }
    ) -> RuleFixture {
        var next = self
        var tenant = TenantFacts(id: id)
        tenant.policy.signUp = signUp
        change(&tenant)
        next.facts.tenants[id] = tenant
        if asked { next.facts.asked.append(AskedTenant(.attempt, id)) }
        return next
    }

    func known(_ user: UserFacts, _ tenant: UUID = acme, invite: InviteFacts? = nil) -> RuleFixture
    {
        with {
            $0.facts.known.append(
                KnownIdentity(
                    identityID: UUID(high: 5, low: tenant.low), tenantID: tenant, user: user,
                    invite: invite))
        }
    }

    func token(_ invite: InviteFacts?) -> RuleFixture {
        with {
            $0.attempt.hasInviteToken = true
            $0.facts.invite = invite
        }
    }

    static func joinLink(
        _ tenant: UUID = acme, domains: [String] = [], uses: Int = 0, seconds: Int64 = 60
    ) -> JoinLinkFacts {
        JoinLinkFacts(
            link: JoinLink(
                id: UUID(high: 6, low: tenant.low), tenantID: tenant, domains: domains,
                maxUses: 10, uses: uses, expiresAt: now.adding(seconds: seconds)))
    }

    func joining(_ link: JoinLinkFacts?) -> RuleFixture {
        with {
            $0.attempt.hasJoinToken = true
            $0.facts.joinLink = link
        }
    }

    func with(_ change: (inout RuleFixture) -> Void) -> RuleFixture {
        var next = self
        change(&next)
        return next
    }

    var verdict: Verdict {
        Provisioning.decide(attempt: attempt, facts: facts, now: RuleFixture.now)
    }
    var answer: String {
        let verdict = verdict
        return verdict.outcome.rawValue + (verdict.reason.map { " " + $0.rawValue } ?? "")
    }
}
