import Text

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
        if policy.signUp == .approval {
            return create(
                .verifiedDomain, tenant, role: policy.givenRole, source: .approval, status: .pending)
        }
        return create(.verifiedDomain, tenant, role: policy.givenRole, source: .signUp, status: .active)
    }

    /// Rule 10: the asked tenant admits every proved address.
    mutating func openTenant(_ tenant: TenantFacts) -> Verdict {
        let policy = tenant.policy
        guard asked != nil, policy.signUp == .open else {
            return refuse(.openTenant, .notInvited, policy.signUp.rawValue, about: [.tenant(tenant.id)])
        }
        guard let email = attempt.email, policy.allows(domain: email.domain) else {
            return refuse(
                .openTenant, .notInvited, "outside the allowed domains", about: [.tenant(tenant.id)])
        }
        return create(.openTenant, tenant, role: policy.givenRole, source: .signUp, status: .active)
    }
}
