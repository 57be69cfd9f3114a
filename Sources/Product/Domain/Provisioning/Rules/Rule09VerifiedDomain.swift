extension Evaluation {
    /// Rule 9: the tenant has verified the address's domain. Only an assertion that is
    /// authoritative for that domain, or a proved mailbox, counts: a once verified account may
    /// outlive its mailbox.
    mutating func verifiedDomain(_ tenant: TenantFacts) -> Verdict? {
        guard let email = attempt.email, tenant.domain?.covers(email.domain) == true else {
            note(.verifiedDomain, "no verified domain", "")
            return nil
        }
        let policy = tenant.policy
        if let closed = refuseIfClosed(.verifiedDomain, tenant) { return closed }
        let about = tenant.domain.map { [TraceReference.domain($0)] } ?? []
        if policy.signUp == .inviteOnly {
            return refuse(.verifiedDomain, .notInvited, "invite_only", about: about)
        }
        guard policy.allows(domain: email.domain) else {
            return refuse(.verifiedDomain, .notInvited, "outside the allowed domains", about: about)
        }
        guard addressTrust >= .proved else {
            if asked != nil, policy.signUp == .open {
                note(.verifiedDomain, "not authoritative", addressTrust.rawValue, about: about)
                return nil
            }
            return refuse(.verifiedDomain, .emailUnverified, "not authoritative", about: about)
        }
        let waits = policy.signUp == .approval
        return create(
            .verifiedDomain, tenant, role: policy.givenRole, source: waits ? .approval : .signUp,
            status: waits ? .pending : .active)
    }
}
