extension Evaluation {
    /// After rule 8 only rules 9 and 10 are left, for people without an invite, an operator's row or
    /// a user: those are a deliberate act, which a list does not undo.
    mutating func blockedAddress(_ tenant: TenantFacts) -> Verdict? {
        guard let block = block(in: tenant) else { return nil }
        return refuse(.blockList, .emailBlocked, block.rawValue, about: [.tenant(tenant.id)])
    }

    func block(in tenant: TenantFacts) -> TenantPolicy.Block? {
        attempt.email.flatMap { tenant.policy.block(ofKey: $0.key, domain: $0.domain) }
    }
}
