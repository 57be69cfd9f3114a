import Text

extension Evaluation {
    /// Rule 4: finds the tenants that know this address. If there are several, the person must
    /// choose, so that a hostile invite cannot draw in a person whose domain belongs to another
    /// tenant. Tenants that would only refuse are not offered.
    mutating func candidateTenants() -> Verdict? {
        let found = candidates()
        let isAdmitted = found.contains { $0.standing == .admits }
        if let held = heldRefusal, !isAdmitted || !isTrustedOrNative {
            return refuse(.knownIdentity, held)
        }
        guard !found.isEmpty else { return refuse(.candidateTenant, .noTenant, "none") }
        guard isAdmitted else {
            return settle(on: found.min { $0.knowledge.rank < $1.knowledge.rank } ?? found[0])
        }
        let counted = found.filter { $0.standing != .refuses || ownsDomain($0.tenant) }
        for left in found where left.standing == .refuses {
            note(.candidateTenant, "would refuse", left.knowledge.name, about: left.about)
        }
        guard counted.count == 1, !isDomainOfSuspended else {
            return several(counted.filter { $0.standing != .refuses })
        }
        return settle(on: counted[0])
    }

    /// Returns every tenant that rule 4 considers for this person, with what the tenant knows about
    /// the person. The tenants are ordered by id.
    private func candidates() -> [Candidate] {
        let pool = asked.map { [$0] } ?? facts.tenants.values.filter { $0.status == .active }
        return pool.compactMap { tenant in
            knows(tenant).map {
                Candidate(tenant: tenant, knowledge: $0, standing: standing(of: tenant, $0))
            }
        }
        .sorted { $0.tenant.id < $1.tenant.id }
    }

    private mutating func settle(on chosen: Candidate) -> Verdict? {
        let tenant = chosen.tenant
        candidate = tenant
        knowledge = chosen.knowledge
        if asked == nil, facts.known.contains(where: { $0.tenantID == tenant.id }),
            let verdict = knownIdentity(in: tenant)
        {
            return verdict
        }
        func refuse(_ reason: Reason, _ user: UserFacts) -> Verdict {
            self.refuse(.candidateTenant, reason, "\(user.id)", user: user.id, about: chosen.about)
        }
        switch chosen.knowledge {
        case .suspendedUser(let user): return refuse(.userSuspended, user)
        case .awaitsApproval(let user): return refuse(.approvalPending, user)
        case .deletedUser(let user):
            return refuse(user.isDeclined ? .notInvited : .userDeleted, user)
        case .liveInvite:
            if invite == nil { invite = tenant.invite }
        case .pendingRow, .activeUser, .joinLink, .domain, .open: break
        }
        note(.candidateTenant, "one", "\(tenant.id) \(chosen.knowledge.name)", about: chosen.about)
        return nil
    }

    private mutating func several(_ choices: [Candidate]) -> Verdict {
        let about = choices.flatMap(\.about)
        guard isTrustedOrNative else {
            return refuse(.candidateTenant, .emailUnverified, "several tenants", about: about)
        }
        note(.candidateTenant, "deferred", "", about: about)
        var verdict = Verdict(.deferred, reason: .tenantChoiceRequired)
        verdict.choices = offered(choices.map(\.tenant.id))
        verdict.effects = [.recordChoices(tenants: verdict.choices)]
        return verdict
    }

    var isTrustedOrNative: Bool { addressTrust > .none || attempt.trigger.isUnprovedNative }

    func knows(_ tenant: TenantFacts) -> Knowledge? {
        if let user = tenant.user, user.status == .suspended { return .suspendedUser(user) }
        if invite?.invite.tenantID == tenant.id { return .liveInvite }
        if let live = tenant.invite?.invite, live.isLive(at: now) { return .liveInvite }
        if let user = tenant.user {
            switch (user.status, user.source) {
            case (.pending, .operator), (.pending, .import): return .pendingRow(user)
            case (.active, _): return .activeUser(user)
            case (.pending, .approval): return .awaitsApproval(user)
            // A pending user from an invite counts only with that invite. A pending user from a
            // sign-up without a proved address does not count.
            case (.pending, _), (.suspended, _), (.deleted, _): break
            }
        }
        if let user = recentlyDeleted(tenant) { return .deletedUser(user) }
        if joinLink?.link.tenantID == tenant.id { return .joinLink }
        if ownsDomain(tenant) { return .domain }
        return isOpenToAsking(tenant) ? .open : nil
    }

    private func ownsDomain(_ tenant: TenantFacts) -> Bool {
        attempt.email.map { tenant.domain?.covers($0.domain) == true } ?? false
    }

    /// Whether the address's domain belongs to a suspended tenant. That tenant admits no one now,
    /// and the person must choose another one explicitly.
    private var isDomainOfSuspended: Bool {
        asked == nil
            && facts.tenants.values.contains { $0.status == .suspended && ownsDomain($0) }
    }

    /// Returns a user who was deleted less than 30 days ago, found by the address or by this
    /// identity; `nil` if there is none.
    private func recentlyDeleted(_ tenant: TenantFacts) -> UserFacts? {
        let byIdentity = facts.known.filter {
            $0.tenantID == tenant.id && $0.user.status == .deleted
                && (asked != nil || !$0.isAssertedByTenant)
        }
        return ([tenant.deleted].compactMap { $0 } + byIdentity.map(\.user)).first { user in
            user.deletedAt.map { now < $0.adding(seconds: Provisioning.deletedFor) } ?? true
        }
    }
}

extension Evaluation {
    /// Returns what the rules after rule 5 would do with the person in this tenant.
    func standing(of tenant: TenantFacts, _ knowledge: Knowledge) -> Candidate.Standing {
        if let mine = facts.known.first(where: { $0.tenantID == tenant.id }) {
            switch mine.user.status {
            case .suspended: return .refuses
            case .active: return .admits
            case .pending:
                if mine.user.awaitsApproval, !isApprovedByInvite(mine) { return .refuses }
            case .deleted: break
            }
        }
        if isBarred(tenant) { return .refuses }
        let policy = tenant.policy
        let isFiltered = attempt.email.map { !policy.allows(domain: $0.domain) } ?? false
        switch knowledge {
        case .suspendedUser, .awaitsApproval, .deletedUser: return .refuses
        case .liveInvite:
            if policy.signUp == .closed || isFiltered && !policy.externalInvites { return .refuses }
            return tenant.user?.status == .active ? standing(ofActive: tenant) : .admits
        case .pendingRow: return policy.signUp == .closed ? .refuses : .admits
        case .activeUser: return standing(ofActive: tenant)
        case .joinLink:
            let isRefused = refusalOfJoining(tenant) != nil || block(in: tenant) != nil
            return isRefused ? .refuses : .admits
        case .domain:
            let signUp = tenant.domain.map { policy.signUp(by: $0) } ?? policy.signUp
            let isShut = signUp == .closed || signUp == .inviteOnly
            return isShut || isFiltered || block(in: tenant) != nil ? .refuses : .admits
        case .open: return isFiltered || block(in: tenant) != nil ? .refuses : .admits
        }
    }

    private func standing(ofActive tenant: TenantFacts) -> Candidate.Standing {
        tenant.user.map { mayTakeAnother($0, in: tenant) } ?? false ? .admits : .linkable
    }

    /// Returns the other tenants that have a valid invite or a pending user for this person, to be
    /// offered as choices. A tenant that was offered before stays a choice.
    func openElsewhere(than here: UUID?) -> [UUID] {
        guard addressTrust > .none, asked == nil else { return [] }
        let found = facts.tenants.values.filter { tenant in
            guard tenant.status == .active, tenant.id != here, let known = knows(tenant),
                standing(of: tenant, known) == .admits
            else { return false }
            switch known {
            case .liveInvite, .pendingRow: return !isDeclined(tenant)
            default: return facts.pendingChoices.contains(tenant.id)
            }
        }
        return found.map(\.id).sorted()
    }

    /// Returns the tenants without those that the person declined. If the person declined all of
    /// them, returns all.
    private func offered(_ tenants: [UUID]) -> [UUID] {
        let left = tenants.filter { id in facts.tenants[id].map { !isDeclined($0) } ?? true }
        return left.isEmpty ? tenants : left
    }

    /// Whether the person declined the tenant and got no invite from it since.
    func isDeclined(_ tenant: TenantFacts) -> Bool {
        guard let at = facts.declined[tenant.id] else { return false }
        guard let invite = tenant.invite, invite.invite.isLive(at: now) else { return true }
        return invite.sentAt.map { $0 <= at } ?? true
    }
}
