extension Evaluation {
    /// Rule 10: the asked tenant admits every proved address.
    mutating func openTenant(_ tenant: TenantFacts) -> Verdict {
        let policy = tenant.policy
        guard asked != nil, policy.signUp == .open else {
            return refuse(
                .openTenant, .notInvited, policy.signUp.rawValue, about: [.tenant(tenant.id)])
        }
        guard let email = attempt.email, policy.allows(domain: email.domain) else {
            return refuse(
                .openTenant, .notInvited, "outside the allowed domains", about: [.tenant(tenant.id)]
            )
        }
        return create(.openTenant, tenant, role: policy.givenRole, source: .signUp, status: .active)
    }
}
