extension Evaluation {
    /// Refuses an identity that an operator unlinked in this tenant. A later invite, a link grant
    /// or an operator's link by hand admits it again; only the link by hand removes the lock for
    /// good.
    mutating func barredIdentity(_ tenant: TenantFacts) -> Verdict? {
        guard isBarred(tenant) else { return nil }
        return refuse(
            .activeUser, .identityLinkRequired, "unlinked by an operator",
            about: [.tenant(tenant.id)])
    }

    func isBarred(_ tenant: TenantFacts) -> Bool {
        guard let since = tenant.barredSince else { return false }
        if let user = tenant.user, let grant = facts.linkGrant, grant.opens(user.id, at: now) {
            return false
        }
        let own = invite.flatMap { $0.invite.tenantID == tenant.id ? $0 : nil } ?? tenant.invite
        guard let own, own.invite.isLive(at: now) else { return true }
        return own.sentAt.map { $0 <= since } ?? true
    }
}

extension Evaluation {
    /// Refuses an address on the tenant's block list. It runs after rule 8, so it affects only
    /// people whom rules 9 and 10 would admit. An invite takes precedence over the list, and so do
    /// active users and users whom an operator or an import created.
    mutating func blockedAddress(_ tenant: TenantFacts) -> Verdict? {
        guard let block = block(in: tenant) else { return nil }
        return refuse(.blockList, .emailBlocked, block.rawValue, about: [.tenant(tenant.id)])
    }

    func block(in tenant: TenantFacts) -> TenantPolicy.Block? {
        attempt.email.flatMap { tenant.policy.block(ofKey: $0.key, domain: $0.domain) }
    }
}
