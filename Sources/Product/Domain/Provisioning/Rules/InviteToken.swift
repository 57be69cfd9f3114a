extension Evaluation {
    /// Rule 3: checks the invite token of the attempt. If the token is not valid, the attempt is
    /// refused and no other rule runs.
    mutating func inviteToken() -> Verdict? {
        guard carriesInvite else {
            note(.inviteToken, "no token", "")
            return nil
        }
        guard let found = facts.invite else { return refuse(.inviteToken, .inviteUnknown, "") }
        let id = found.invite.id
        let about = [TraceReference.invite(found.invite)]
        switch found.invite.status(at: now) {
        case .accepted: return used(found)
        case .revoked:
            return refuse(.inviteToken, .inviteRevoked, "\(id)", invite: id, about: about)
        case .expired:
            return refuse(.inviteToken, .inviteExpired, "\(id)", invite: id, about: about)
        case .pending: break
        }
        if found.invite.email != attempt.email {
            let policy = facts.tenants[found.invite.tenantID]?.policy ?? TenantPolicy()
            // The token proves only the invited address, so another address needs a proof of its
            // own.
            guard !policy.inviteEmailMustMatch,
                addressTrust > .none || attempt.trigger.isUnprovedNative
            else {
                return refuse(.inviteToken, .inviteEmailMismatch, "\(id)", invite: id, about: about)
            }
            otherAddress = true
        }
        invite = found
        note(.inviteToken, otherAddress ? "live, another address" : "live", "\(id)", about: about)
        return nil
    }

    private mutating func used(_ found: InviteFacts) -> Verdict {
        let id = found.invite.id
        let about = [TraceReference.invite(found.invite)]
        guard attempt.trigger != .invitePage, found.acceptedBy == attempt.identity,
            let user = found.acceptedUser,
            let tenant = facts.tenants[found.invite.tenantID]
        else { return refuse(.inviteToken, .inviteUsed, "\(id)", invite: id, about: about) }
        let both = about + [.user(user.id, of: tenant.id)]
        switch user.status {
        case .active:
            note(.inviteToken, "existing", "replayed \(id)", about: both)
            var verdict = Verdict(.existing)
            verdict.tenantID = tenant.id
            verdict.userID = user.id
            verdict.inviteID = id
            verdict.effects = attempt.trigger.isUnprovedNative ? [] : closing(tenant.id)
            return verdict
        case .suspended:
            return refuse(
                .inviteToken, .userSuspended, "\(user.id)", user: user.id, invite: id, about: both)
        case .deleted:
            return refuse(
                .inviteToken, .userDeleted, "\(user.id)", user: user.id, invite: id, about: both)
        case .pending: return refuse(.inviteToken, .inviteUsed, "\(id)", invite: id, about: both)
        }
    }
}

extension Evaluation {
    /// Rule 3 for the token of a join link. If the token is not valid, the attempt is refused and
    /// no other rule runs.
    mutating func joinToken() -> Verdict? {
        guard carriesJoin else { return nil }
        guard let found = facts.joinLink else { return refuse(.inviteToken, .joinUnknown, "") }
        let about = [TraceReference.joinLink(found.link)]
        var reason: Reason?
        switch found.link.status(at: now) {
        case .revoked: reason = .joinRevoked
        case .expired: reason = .joinExpired
        case .usedUp: reason = .joinUsedUp
        case .active where !found.makerMayInvite: reason = .joinRevoked
        case .active: break
        }
        if let reason { return refuse(.inviteToken, reason, "\(found.link.id)", about: about) }
        joinLink = found
        note(.inviteToken, "live join link", "\(found.link.id)", about: about)
        return nil
    }
}
