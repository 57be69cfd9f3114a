import Text

extension Verdict {
    /// A confirmation with another `sub` than the one that is bound: it binds and completes nothing.
    /// `identity`: the one that the name stood for, once there is one.
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

/// What a pool's native user name may not do: look like a federated one, or stand for the person
/// who had it before.
extension Evaluation {
    /// A new native user may not take a name that begins as those of the pool's federated users do.
    /// The two are apart by their keys; this keeps people and other systems from mistaking them.
    mutating func userName(_ provider: Provider) -> Verdict? {
        guard attempt.trigger == .nativeSignUp else { return nil }
        let upstreams = provider.upstreams.map(\.name) + facts.shownUpstreams
        guard CognitoMapping.looksFederated(attempt.identity.subject, among: upstreams) else {
            return nil
        }
        return refuse(.userName, .identityConflict, "begins with an upstream's name")
    }

    /// A native name with another `sub` is another person. Who had it is not found by it any more,
    /// and the newcomer gets nothing by it: only an invite lets them in.
    mutating func formerHolder() -> Verdict? {
        guard let former = facts.formerHolders.first else { return nil }
        note(.knownIdentity, "name given anew", former.identityID.description)
        let isInvited =
            attempt.hasInviteToken
            || addressTrust > .none
                && facts.tenants.values.contains { $0.invite?.invite.isLive(at: now) == true }
        return isInvited ? nil : refuseNewcomer(.knownIdentity, former)
    }

    /// The same once rule 4 has found where the newcomer might go.
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

    /// To a stranger the refusals of rules 4 to 10 read alike while the address is only claimed:
    /// else they would tell who is known where. Who the identity itself names is no stranger.
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
