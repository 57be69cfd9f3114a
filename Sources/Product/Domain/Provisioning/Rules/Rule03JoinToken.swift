extension Evaluation {
    /// Rule 3 for a join link's token. A bad one refuses; no other rule runs.
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
