extension Evaluation {
    /// Rule 6: accepts a valid invite, which works once. Links the sign-in to the invited user, who
    /// gets the invite's role. The invite was found before, either by the rule for the token
    /// (`inviteToken` in InviteToken.swift) or by the rule for candidate tenants
    /// (`candidateTenants` in CandidateTenants.swift).
    mutating func liveInvite(_ tenant: TenantFacts) -> Verdict? {
        guard let found = invite, case .liveInvite = knowledge else {
            note(.liveInvite, "no live invite", "")
            return nil
        }
        let id = found.invite.id
        if let closed = refuseIfClosed(.liveInvite, tenant) { return closed }
        if let email = attempt.email, !tenant.policy.externalInvites,
            !tenant.policy.allows(domain: email.domain)
        {
            return refuse(
                .liveInvite, .notInvited, "outside the allowed domains", invite: id,
                about: [.invite(found.invite)])
        }
        // Only rule 8 adds a second sign-in to an active user, even if the user has an invite.
        if let user = tenant.user, user.status == .active {
            note(
                .liveInvite, "the user is active", "\(user.id)",
                about: [.user(user.id, of: tenant.id)])
            return nil
        }
        let (role, downgraded) = invitedRole(found)
        var closing: [Effect] = [.acceptInvite(invite: id, role: role, downgraded: downgraded)]
        if otherAddress { closing.append(.auditOtherAddress(invite: id)) }

        let row = otherAddress ? found.row : tenant.user
        guard let row, row.status == .pending else {
            return create(
                .liveInvite, tenant, role: role, source: .invite, status: .active, invite: id,
                also: closing)
        }
        if row.awaitsApproval {
            return attach(
                .liveInvite, tenant, row, .approveUser(user: row.id, role: role), invite: id,
                also: closing)
        }
        return attach(
            .liveInvite, tenant, row, .activateUser(user: row.id, role: role), invite: id,
            also: closing)
    }

    /// Returns the invite's role, and false. If the inviter is a person who may no longer give this
    /// role, returns `member`, and whether that is a lower role.
    private func invitedRole(_ found: InviteFacts) -> (UserRole, downgraded: Bool) {
        let role = found.invite.role
        switch found.inviter {
        case .key: return (role, false)
        case .person(let bound):
            if let bound, role <= bound { return (role, false) }
            return (.member, role > .member)
        }
    }

    mutating func refuseIfClosed(_ rule: Rule, _ tenant: TenantFacts) -> Verdict? {
        guard tenant.policy.signUp == .closed else { return nil }
        return refuse(rule, .notInvited, "the tenant is closed", about: [.tenant(tenant.id)])
    }
}

extension Evaluation {
    /// Rule 7: links the sign-in to a pending user that an operator or an import created.
    mutating func pendingRow(_ tenant: TenantFacts) -> Verdict? {
        guard case .pendingRow(let row) = knowledge else {
            note(.pendingRow, "no pending row", "")
            return nil
        }
        if let closed = refuseIfClosed(.pendingRow, tenant) { return closed }
        return attach(.pendingRow, tenant, row, .activateUser(user: row.id, role: row.role))
    }
}
