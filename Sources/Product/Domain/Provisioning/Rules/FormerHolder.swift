import Text

extension Verdict {
    /// The verdict for a confirmation whose `sub` is not the bound one: it binds and completes
    /// nothing. `identity` is the name's identity so far, if any.
    package static func anotherSub(in tenant: UUID?, of identity: UUID?) -> Verdict {
        var verdict = Verdict(.refused, reason: .identityConflict)
        verdict.tenantID = tenant
        verdict.nameGivenAnew = identity
        verdict.trace = [
            TraceEntry(
                rule: .confirmation, result: Reason.identityConflict.rawValue,
                detail: "another sub than the one that is bound: the name was given anew")
        ]
        return verdict
    }
}

/// Rules for a pool's native user name: it must neither look federated nor inherit the user of a
/// previous holder.
extension Evaluation {
    /// A new native user must not take a name that begins like those of the pool's federated users.
    /// Their keys differ anyway; the rule prevents confusion in people and other systems.
    mutating func userName(_ provider: Provider) -> Verdict? {
        guard attempt.trigger == .nativeSignUp else { return nil }
        let upstreams = provider.upstreams.map(\.name) + facts.shownUpstreams
        guard CognitoMapping.looksFederated(attempt.identity.subject, among: upstreams) else {
            return nil
        }
        return refuse(.userName, .identityConflict, "begins with an upstream's name")
    }

    /// A native name with another `sub` is another person. The name no longer leads to the former
    /// holder, and the newcomer needs an invite.
    mutating func formerHolder() -> Verdict? {
        guard let former = facts.formerHolders.first else { return nil }
        note(.knownIdentity, "name given anew", former.identityID.description)
        let isInvited =
            attempt.hasInviteToken
            || addressTrust > .none
                && facts.tenants.values.contains { $0.invite?.invite.isLive(at: now) == true }
        return isInvited ? nil : refuseNewcomer(.knownIdentity, former)
    }

    /// The same as `formerHolder`, after rule 4 has found the newcomer's tenants.
    mutating func formerHolderUninvited() -> Verdict? {
        guard let former = facts.formerHolders.first, knowledge != .liveInvite else { return nil }
        return refuseNewcomer(.candidateTenant, former)
    }

    private mutating func refuseNewcomer(_ rule: Rule, _ former: KnownIdentity) -> Verdict {
        var verdict = refuse(
            rule, .identityConflict, "the name was given anew", tenant: former.tenantID)
        verdict.nameGivenAnew = former.identityID
        return verdict
    }

    /// While the address is only claimed, a stranger gets the same public reason for all refusals
    /// of rules 4 to 10: different ones would reveal who is known where. A person to whom the
    /// identity itself leads is not a stranger.
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
