import Text

/// What a tenant knows about the attempt, first match.
enum Knowledge: Equatable {
    case suspendedUser(UserFacts)
    case liveInvite
    case pendingRow(UserFacts)
    case activeUser(UserFacts)
    case awaitsApproval(UserFacts)
    case deletedUser(UserFacts)
    case domain
    case open

    var name: String {
        switch self {
        case .suspendedUser: "suspended user"
        case .liveInvite: "live invite"
        case .pendingRow: "pending row"
        case .activeUser: "active user"
        case .awaitsApproval: "awaits approval"
        case .deletedUser: "deleted user"
        case .domain: "verified domain"
        case .open: "open"
        }
    }
}

extension Evaluation {
    /// Rule 4: which tenants know this address. Nothing is picked silently, so that no hostile
    /// invite captures a person whose domain belongs to another.
    mutating func candidateTenants() -> Verdict? {
        let pool = asked.map { [$0] } ?? facts.tenants.values.filter { $0.status == .active }
        let found = pool.compactMap { tenant in knows(tenant).map { (tenant, $0) } }
            .sorted { $0.0.id < $1.0.id }
        guard let (tenant, what) = found.first else { return refuse("4", .noTenant, "none") }
        guard found.count == 1 else { return several(found.map(\.0.id)) }
        candidate = tenant
        knowledge = what
        if asked == nil, facts.known.contains(where: { $0.tenantID == tenant.id }),
            let verdict = knownIdentity(in: tenant)
        {
            return verdict
        }
        switch what {
        case .suspendedUser(let user):
            return refuse("4", .userSuspended, "\(user.id)", user: user.id)
        case .awaitsApproval(let user):
            return refuse("4", .approvalPending, "\(user.id)", user: user.id)
        case .deletedUser(let user):
            return refuse("4", .userDeleted, "\(user.id)", user: user.id)
        case .liveInvite:
            if invite == nil { invite = tenant.invite }
        case .pendingRow, .activeUser, .domain, .open: break
        }
        note("4", "one", "\(tenant.id) \(what.name)")
        return nil
    }

    private mutating func several(_ tenants: [UUID]) -> Verdict {
        guard vouching > .none || attempt.trigger.isUnprovedNative else {
            return refuse("4", .emailUnverified, "\(tenants.count) tenants")
        }
        note("4", "deferred", "\(tenants.count) tenants")
        var verdict = Verdict(.deferred, reason: .tenantChoiceRequired)
        verdict.choices = tenants
        verdict.effects = [.recordChoices(tenants: tenants)]
        return verdict
    }

    private func knows(_ tenant: TenantFacts) -> Knowledge? {
        if let user = tenant.user, user.status == .suspended { return .suspendedUser(user) }
        if invite?.invite.tenantID == tenant.id { return .liveInvite }
        if let live = tenant.invite?.invite, live.isLive(at: now) { return .liveInvite }
        if let user = tenant.user {
            switch (user.status, user.source) {
            case (.pending, .operator), (.pending, .import): return .pendingRow(user)
            case (.active, _): return .activeUser(user)
            case (.pending, .approval): return .awaitsApproval(user)
            // A row by an invite counts only through that invite, and one that somebody signed up
            // for without proof counts for nothing.
            case (.pending, _), (.suspended, _), (.deleted, _): break
            }
        }
        if let user = recentlyDeleted(tenant) { return .deletedUser(user) }
        if let email = attempt.email, tenant.domain?.covers(email.domain) == true { return .domain }
        return asked != nil && tenant.policy.signUp == .open ? .open : nil
    }

    /// A user deleted within 30 days, by address or by this identity.
    private func recentlyDeleted(_ tenant: TenantFacts) -> UserFacts? {
        let byIdentity = facts.known.filter {
            $0.tenantID == tenant.id && $0.user.status == .deleted
                && (asked != nil || !$0.isTenantsWord)
        }
        return ([tenant.deleted].compactMap { $0 } + byIdentity.map(\.user)).first { user in
            user.deletedAt.map { now < $0.adding(seconds: Provisioning.deletedFor) } ?? true
        }
    }
}
