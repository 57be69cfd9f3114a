import Text

extension Evaluation {
    /// Rule 1: a user already has this identity; no email is required. `only` is the tenant that
    /// was requested or that rule 4 found. Without `only`, identities that only a tenant asserts do
    /// not count, because any tenant could claim the identities of other tenants' people.
    mutating func knownIdentity(in only: TenantFacts?) -> Verdict? {
        // Skips this rule at the page that accepts an invite: a person sets a password there, and
        // does not sign in.
        guard attempt.trigger != .invitePage else {
            note(.knownIdentity, "not asked", attempt.trigger.rawValue)
            return nil
        }
        let rows = facts.known.filter { row in
            only.map { $0.id == row.tenantID } ?? !row.isAssertedByTenant
                && facts.tenants[row.tenantID].map { $0.status != .deleted } ?? false
        }
        let open = rows.filter { facts.tenants[$0.tenantID]?.status == .active }
        let active = open.filter { $0.user.status == .active }
        if active.count > 1 { return several(active, .existing) }
        if let one = active.first, let tenant = facts.tenants[one.tenantID] {
            return existing(one, in: tenant)
        }
        let linked = open.filter { waitsByHand($0) }
        if linked.count > 1 { return several(linked, .deferred) }
        if let one = linked.first, let tenant = facts.tenants[one.tenantID] {
            return admit(one, to: tenant)
        }
        guard let refusal = refusal(of: rows) else {
            note(.knownIdentity, "not known", "")
            return nil
        }
        // Does not refuse yet: another tenant may admit the person by the address, as rule 4
        // decides.
        if only == nil, attempt.email != nil {
            note(.knownIdentity, refusal.reason.rawValue, refusal.detail, about: refusal.about)
            heldRefusal = refusal
            return nil
        }
        return refuse(.knownIdentity, refusal)
    }

    private mutating func several(_ rows: [KnownIdentity], _ outcome: Outcome) -> Verdict {
        var verdict = Verdict(outcome, reason: .tenantChoiceRequired)
        var choices = Set(rows.map(\.tenantID))
        if outcome == .existing { choices.formUnion(openElsewhere(than: nil)) }
        verdict.choices = choices.sorted()
        if outcome == .deferred { verdict.effects = [.recordChoices(tenants: verdict.choices)] }
        note(.knownIdentity, outcome.rawValue, "", about: verdict.choices.map { .tenant($0) })
        return verdict
    }

    private mutating func existing(_ row: KnownIdentity, in tenant: TenantFacts) -> Verdict {
        note(
            .knownIdentity, "existing", "\(row.user.id)", about: [.user(row.user.id, of: tenant.id)]
        )
        var verdict = Verdict(.existing)
        verdict.tenantID = tenant.id
        verdict.userID = row.user.id
        guard !attempt.trigger.isUnprovedNative else { return verdict }
        if let invite = row.invite?.invite, invite.isLive(at: now) {
            verdict.inviteID = invite.id
            verdict.effects = [.markInviteAccepted(invite: invite.id, user: row.user.id)]
        }
        verdict.effects += closing(tenant.id)
        if asked == nil { verdict.choices = openElsewhere(than: tenant.id) }
        return verdict
    }

    /// Whether the row is a pending user whose sign-in an operator linked by hand. This sign-in
    /// then activates the user, whatever its address. A user from an invite counts only while that
    /// invite is valid.
    func waitsByHand(_ row: KnownIdentity) -> Bool {
        guard row.isLinkedManually, row.user.status == .pending,
            asked != nil || !row.isAssertedByTenant
        else { return false }
        switch row.user.source {
        case .operator, .import, .signUp, .joinLink: return true
        case .invite: return row.invite?.invite.isLive(at: now) ?? false
        case .approval: return false
        }
    }

    private mutating func admit(_ row: KnownIdentity, to tenant: TenantFacts) -> Verdict {
        var effects: [Effect] = [.admitByAssertion(user: row.user.id, role: row.user.role)]
        var accepted: UUID?
        if let invite = row.invite?.invite, invite.isLive(at: now) {
            accepted = invite.id
            effects.append(.markInviteAccepted(invite: invite.id, user: row.user.id))
        }
        note(
            .knownIdentity, "linked by hand", "\(row.user.id)",
            about: [.user(row.user.id, of: tenant.id)])
        var verdict = succeed(
            .knownIdentity, .linked, tenant: tenant, user: row.user.id, invite: accepted,
            effects: effects)
        // Offer the same choices as for an active user, so that a retry gets the same answer.
        if asked == nil, !attempt.trigger.isUnprovedNative {
            verdict.choices = openElsewhere(than: tenant.id)
        }
        return verdict
    }

    /// Returns why the users of this identity cannot sign in; `nil` if there is no such reason.
    private func refusal(of rows: [KnownIdentity]) -> HeldRefusal? {
        func held(_ reason: Reason, _ row: KnownIdentity) -> HeldRefusal {
            let isTenants = reason == .tenantSuspended
            return HeldRefusal(
                reason: reason, tenant: row.tenantID, user: row.user.id,
                detail: "\(isTenants ? row.tenantID : row.user.id)",
                about: [
                    isTenants ? .tenant(row.tenantID) : .user(row.user.id, of: row.tenantID)
                ])
        }
        if let row = rows.first(where: { $0.user.status == .suspended }) {
            return held(.userSuspended, row)
        }
        if let row = rows.first(where: {
            ($0.user.status == .active || waitsByHand($0))
                && facts.tenants[$0.tenantID]?.status == .suspended
        }) {
            return held(.tenantSuspended, row)
        }
        return rows.first { $0.user.awaitsApproval && !isApprovedByInvite($0) }
            .map { held(.approvalPending, $0) }
    }

    /// Whether a valid invite replaces the approval for which the user waits. Rule 6 accepts that
    /// invite after the address is proved.
    func isApprovedByInvite(_ row: KnownIdentity) -> Bool {
        guard let email = attempt.email, let invite = row.invite?.invite else { return false }
        return invite.isLive(at: now) && invite.email == email
    }
}

/// A refusal by rule 1. It becomes final if no other tenant admits the person.
struct HeldRefusal {
    var reason: Reason
    var tenant: UUID
    var user: UUID
    var detail: String
    var about: [TraceReference]
}

extension Evaluation {
    mutating func refuse(_ rule: Rule, _ held: HeldRefusal) -> Verdict {
        refuse(
            rule, held.reason, held.detail, tenant: held.tenant, user: held.user,
            about: held.about)
    }
}
