extension Evaluation {
    /// Rule 10: the asked tenant admits every proved address, or lets every one wait for approval.
    mutating func openTenant(_ tenant: TenantFacts) -> Verdict {
        let policy = tenant.policy
        guard isOpenToAsking(tenant) else {
            return refuse(
                .openTenant, .notInvited, policy.signUp.rawValue, about: [.tenant(tenant.id)])
        }
        guard let email = attempt.email, policy.allows(domain: email.domain) else {
            return refuse(
                .openTenant, .notInvited, "outside the allowed domains", about: [.tenant(tenant.id)]
            )
        }
        // The people of a domain whose mode is `ask` wait in an open tenant too.
        let asks = tenant.domain.map { $0.covers(email.domain) && $0.mode == .ask } ?? false
        guard policy.signUp == .open, !asks else {
            return waiting(.openTenant, tenant, role: policy.givenRole)
        }
        return create(.openTenant, tenant, role: policy.givenRole, source: .signUp, status: .active)
    }

    /// Whether a person who asks for this tenant may come in, or wait for approval.
    func isOpenToAsking(_ tenant: TenantFacts) -> Bool {
        guard asked != nil else { return false }
        return tenant.policy.signUp == .open || tenant.policy.signUp == .approval
    }
}
