import Text

extension Evaluation {
    /// Rule 1: this identity is known. It works without an email. `only`: the tenant that was asked
    /// for or that rule 4 found. Without one, a tenant's own word for whose identity it is counts
    /// for nothing: it would lead people of other tenants to whoever claims their subjects.
    mutating func knownIdentity(in only: TenantFacts?) -> Verdict? {
        // The acceptance page proves a token and sets a password; it signs nobody in.
        guard attempt.trigger != .invitePage else {
            note("1", "not asked", attempt.trigger.rawValue)
            return nil
        }
        let rows = facts.known.filter { row in
            only.map { $0.id == row.tenantID } ?? !row.isTenantsWord
                && facts.tenants[row.tenantID].map { $0.status != .deleted } ?? false
        }
        let active = rows.filter { row in
            row.user.status == .active && facts.tenants[row.tenantID]?.status == .active
        }
        if let one = active.first, active.count == 1, let tenant = facts.tenants[one.tenantID] {
            return existing(one, in: tenant)
        }
        if active.count > 1 {
            var verdict = Verdict(.existing, reason: .tenantChoiceRequired)
            verdict.choices = active.map(\.tenantID).sorted()
            note("1", "existing", "\(active.count) tenants")
            return verdict
        }
        if let row = rows.first(where: { $0.user.status == .suspended }) {
            return refuse(
                "1", .userSuspended, "\(row.user.id)", tenant: row.tenantID, user: row.user.id)
        }
        if let row = rows.first(where: {
            $0.user.status == .active && facts.tenants[$0.tenantID]?.status == .suspended
        }) {
            return refuse(
                "1", .tenantSuspended, "\(row.tenantID)", tenant: row.tenantID, user: row.user.id)
        }
        if let row = rows.first(where: { $0.user.awaitsApproval && !isApprovedByInvite($0) }) {
            return refuse(
                "1", .approvalPending, "\(row.user.id)", tenant: row.tenantID, user: row.user.id)
        }
        note("1", "not known", "")
        return nil
    }

    private mutating func existing(_ row: KnownIdentity, in tenant: TenantFacts) -> Verdict {
        note("1", "existing", "\(row.user.id)")
        var verdict = Verdict(.existing)
        verdict.tenantID = tenant.id
        verdict.userID = row.user.id
        guard !attempt.trigger.isUnprovedNative else { return verdict }
        if let invite = row.invite?.invite, invite.isLive(at: now) {
            verdict.inviteID = invite.id
            verdict.effects = [.markInviteAccepted(invite: invite.id, user: row.user.id)]
        }
        verdict.effects += closing(tenant.id)
        return verdict
    }

    /// A live invite approves a row that waits; rule 6 sees to it once the address is vouched for.
    private func isApprovedByInvite(_ row: KnownIdentity) -> Bool {
        guard let email = attempt.email, let invite = row.invite?.invite else { return false }
        return invite.isLive(at: now) && invite.email == email
    }
}
