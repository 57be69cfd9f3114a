import Text

extension Evaluation {
    /// Rule 9: the tenant has verified the address's domain. The mode of the domain, or else the
    /// policy, decides who is admitted. The address counts only if its mailbox was proved, or if an
    /// issuer that is authoritative for the domain asserts it. The assertion of any other provider
    /// is not enough, because an account there may outlive the mailbox.
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

    /// Creates a user who waits for approval; refuses if too many people wait already.
    mutating func waiting(_ rule: Rule, _ tenant: TenantFacts, role: UserRole) -> Verdict {
        guard !tenant.isWaitingRoomFull else {
            return refuse(
                rule, .rateLimited, "\(Provisioning.waitingMax) people wait for approval",
                about: [.tenant(tenant.id)])
        }
        return create(rule, tenant, role: role, source: .approval, status: .pending)
    }
}

extension Evaluation {
    /// Rule 10 for a person who has a valid join link and is not known to the tenant otherwise. The
    /// person is admitted as if the tenant were open to all, but always with the role of a member.
    mutating func joined(_ tenant: TenantFacts) -> Verdict? {
        guard let link = joinLink?.link, case .joinLink = knowledge else { return nil }
        if let detail = refusalOfJoining(tenant) {
            return refuse(.openTenant, .notInvited, detail, about: [.joinLink(link)])
        }
        return create(
            .openTenant, tenant, role: .member, source: .joinLink, status: .active,
            also: [.useJoinLink(link: link.id)])
    }

    /// Returns why the tenant's policy or the link does not admit this address; `nil` if both admit
    /// it.
    func refusalOfJoining(_ tenant: TenantFacts) -> String? {
        if tenant.policy.signUp == .closed { return "the tenant is closed" }
        guard let email = attempt.email, let link = joinLink?.link else { return "no address" }
        guard link.takes(domain: email.domain) else { return "outside the link's domains" }
        guard tenant.policy.externalInvites || tenant.policy.allows(domain: email.domain) else {
            return "outside the allowed domains"
        }
        return nil
    }
}

extension Evaluation {
    /// Rule 10: the requested tenant admits everyone with a proved address, or lets everyone wait
    /// for approval.
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
        // Even in an open tenant, people of a domain whose mode is `ask` wait for approval.
        let asks = tenant.domain.map { $0.covers(email.domain) && $0.mode == .ask } ?? false
        guard policy.signUp == .open, !asks else {
            return waiting(.openTenant, tenant, role: policy.givenRole)
        }
        return create(.openTenant, tenant, role: policy.givenRole, source: .signUp, status: .active)
    }

    /// Whether a person may be admitted, or may wait for approval, just by requesting this tenant.
    func isOpenToAsking(_ tenant: TenantFacts) -> Bool {
        guard asked != nil else { return false }
        return tenant.policy.signUp == .open || tenant.policy.signUp == .approval
    }
}
