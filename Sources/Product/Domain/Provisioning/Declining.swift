import Text

extension Provisioning {
    /// Whether this person may decline what a tenant offers: the address is proved, and the tenant
    /// has a live invite, a pending row or a domain for it. No sign-in of the person leads there
    /// yet, and they have not declined it before.
    package static func mayDecline(
        _ tenant: UUID, attempt: Attempt, facts: Facts, now: Timestamp
    ) -> Bool {
        guard let provider = facts.provider, let found = facts.tenants[tenant],
            found.status == .active,
            !facts.known.contains(where: { $0.tenantID == tenant && $0.user.status == .active })
        else { return false }
        var run = Evaluation(attempt: attempt, facts: facts, now: now)
        run.addressTrust = run.computeAddressTrust(provider)
        guard run.addressTrust > .none, !run.isDeclined(found), let known = run.knows(found) else {
            return false
        }
        switch known {
        case .liveInvite, .pendingRow, .domain: return true
        default: return facts.pendingChoices.contains(tenant)
        }
    }

    /// What remains after a person declined one choice: their existing users, or the remaining
    /// choices. Nothing is written: what the rules would give becomes a choice.
    package static func rest(attempt: Attempt, facts: Facts, now: Timestamp) -> Verdict {
        var verdict = decide(attempt: attempt, facts: facts, now: now)
        verdict.effects = []
        switch verdict.outcome {
        case .existing, .deferred: return verdict
        case .created, .linked, .reserved:
            var rest = Verdict(.deferred, reason: .tenantChoiceRequired)
            rest.choices = verdict.tenantID.map { [$0] } ?? []
            rest.trace = verdict.trace
            return rest
        case .refused:
            // A stranger gets the same text for every refusal.
            guard verdict.reason == .noTenant, verdict.publicReason == nil else { return verdict }
            var rest = Verdict(.deferred)
            rest.trace = verdict.trace
            return rest
        }
    }
}
