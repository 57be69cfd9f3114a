import Text

extension Evaluation {
    /// Rule 9: the tenant has verified the address's domain, and the domain's mode, else the policy,
    /// says who comes in. Only an assertion that is authoritative for that domain, or a proved
    /// mailbox, counts: a once verified account may outlive its mailbox.
    mutating func verifiedDomain(_ tenant: TenantFacts) -> Verdict? {
        guard let email = attempt.email, let domain = tenant.domain, domain.covers(email.domain)
        else {
            note(.verifiedDomain, "no verified domain", "")
            return nil
        }
        if let closed = refuseIfClosed(.verifiedDomain, tenant) { return closed }
        let about = [TraceReference.domain(domain)]
        guard tenant.policy.signUp(by: domain) != .inviteOnly else {
            let by = domain.mode == nil ? "invite_only" : "the domain's mode is invite_only"
            return refuse(.verifiedDomain, .notInvited, by, about: about)
        }
        guard tenant.policy.allows(domain: email.domain) else {
            return refuse(.verifiedDomain, .notInvited, "outside the allowed domains", about: about)
        }
        return joining(by: domain, tenant)
    }

    private mutating func joining(by domain: TenantDomain, _ tenant: TenantFacts) -> Verdict? {
        let about = [TraceReference.domain(domain)]
        guard addressTrust >= .proved else {
            guard isOpenToAsking(tenant) else {
                return refuse(.verifiedDomain, .emailUnverified, "not authoritative", about: about)
            }
            note(.verifiedDomain, "not authoritative", addressTrust.rawValue, about: about)
            return nil
        }
        let role = tenant.policy.givenRole(by: domain)
        if tenant.policy.signUp(by: domain) == .approval {
            return waiting(.verifiedDomain, tenant, role: role)
        }
        return create(.verifiedDomain, tenant, role: role, source: .signUp, status: .active)
    }

    /// A row that waits for approval, as long as there is room for it.
    mutating func waiting(_ rule: Rule, _ tenant: TenantFacts, role: UserRole) -> Verdict {
        guard !tenant.isWaitingRoomFull else {
            return refuse(
                rule, .rateLimited, "\(Provisioning.waitingMax) people wait for approval",
                about: [.tenant(tenant.id)])
        }
        return create(rule, tenant, role: role, source: .approval, status: .pending)
    }
}
