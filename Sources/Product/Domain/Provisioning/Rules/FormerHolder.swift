import Text

extension Verdict {
    /// Returns the refusal for a confirmation whose `sub` differs from the stored one. The refusal
    /// has no effects. `identity` is the identity that had the user name until now, if there is
    /// one.
    package static func anotherSub(in tenant: UUID?, of identity: UUID?) -> Verdict {
        var verdict = Verdict(.refused, reason: .identityConflict)
        verdict.tenantID = tenant
        verdict.nameGivenAnew = identity
        verdict.trace = [
            TraceEntry(
                rule: .confirmation, result: Reason.identityConflict.rawValue,
                detail: "the pool has given the user name to another person")
        ]
        return verdict
    }
}

/// Rules for the native user names of a pool. A native name must not look like a federated one. If
/// the pool gives a name to another person, the name must not lead to the user of the person who
/// had it before.
extension Evaluation {
    /// Refuses a new native user whose name begins like the names of the pool's federated users.
    /// This service would not confuse the two users, but people and other systems could.
    mutating func userName(_ provider: Provider) -> Verdict? {
        guard attempt.trigger == .nativeSignUp else { return nil }
        let upstreams = provider.upstreams.map(\.name) + facts.shownUpstreams
        guard CognitoMapping.looksFederated(attempt.identity.subject, among: upstreams) else {
            return nil
        }
        return refuse(.userName, .identityConflict, "begins with an upstream's name")
    }

    /// Handles a native user name that came back with another `sub`, so it belongs to another
    /// person now. The name no longer leads to the former user, and the new person needs an invite.
    mutating func formerHolder() -> Verdict? {
        guard let former = facts.formerHolders.first else { return nil }
        note(.knownIdentity, "name given anew", former.identityID.description)
        let isInvited =
            attempt.hasInviteToken
            || addressTrust > .none
                && facts.tenants.values.contains { $0.invite?.invite.isLive(at: now) == true }
        return isInvited ? nil : refuseNewcomer(.knownIdentity, former)
    }

    /// Refuses the new holder of a user name (see `formerHolder`) if rule 4 found no valid invite
    /// for them.
    mutating func formerHolderUninvited() -> Verdict? {
        guard let former = facts.formerHolders.first, knowledge != .liveInvite else { return nil }
        return refuseNewcomer(.candidateTenant, former)
    }

    private mutating func refuseNewcomer(_ rule: Rule, _ former: KnownIdentity) -> Verdict {
        var verdict = refuse(
            rule, .identityConflict, "the pool has given the user name to another person",
            tenant: former.tenantID)
        verdict.nameGivenAnew = former.identityID
        return verdict
    }

    /// Returns the reason to show instead of the real one; `nil` to show the real one. While the
    /// address is not proved, rules 4 to 10 all show a stranger the same reason, since different
    /// ones would reveal who is known where. A person who has this identity already is not a
    /// stranger.
    func publicReason(_ verdict: Verdict) -> Reason? {
        guard verdict.outcome == .refused, addressTrust == .none,
            let rule = refusingRule?.number, rule >= 4,
            verdict.reason != .identityConflict || facts.formerHolders.isEmpty
        else { return nil }
        let isKnown = facts.known.contains { row in
            row.tenantID == verdict.tenantID && (asked != nil || !row.isAssertedByTenant)
        }
        return isKnown ? nil : .emailUnverified
    }
}
