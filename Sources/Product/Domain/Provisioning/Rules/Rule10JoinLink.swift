extension Evaluation {
    /// Rule 10 for a person who came with a live join link and whom no rule before knows: it admits
    /// as an open tenant does, always as a member.
    mutating func joined(_ tenant: TenantFacts) -> Verdict? {
        guard let link = joinLink?.link, case .joinLink = knowledge else { return nil }
        if let detail = refusalOfJoining(tenant) {
            return refuse(.openTenant, .notInvited, detail, about: [.joinLink(link)])
        }
        return create(
            .openTenant, tenant, role: .member, source: .joinLink, status: .active,
            also: [.useJoinLink(link: link.id)])
    }

    /// Why the tenant's policy or the link takes no one of this address; nil: it takes them.
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
