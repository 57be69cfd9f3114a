import Text

extension Provisioning {
    /// Facts that were found and did not admit, as steps of the trace, by tenant.
    package static func unhelpful(facts: Facts, email: Email?, now: Timestamp) -> [TraceEntry] {
        facts.tenants.values.sorted { $0.id < $1.id }.flatMap { tenant in
            steps(of: tenant, facts, email, now)
        }
    }

    private static func steps(
        of tenant: TenantFacts, _ facts: Facts, _ email: Email?, _ now: Timestamp
    ) -> [TraceEntry] {
        var steps: [TraceEntry] = []
        func add(_ result: String, _ id: UUID, _ about: TraceReference) {
            steps.append(
                TraceEntry(
                    rule: .candidateTenant, result: result, detail: id.description, about: [about]))
        }
        if let invite = tenant.lapsedInvite?.invite {
            let isRevoked = invite.status(at: now) == .revoked
            add(isRevoked ? "invite_revoked" : "invite_expired", invite.id, .invite(invite))
        }
        let covers = email.map { tenant.domain?.covers($0.domain) == true } ?? false
        let isKnown = facts.known.contains { $0.tenantID == tenant.id }
        if tenant.status == .suspended,
            covers || isKnown || tenant.user != nil || tenant.invite != nil
        {
            add("tenant_suspended", tenant.id, .tenant(tenant.id))
        }
        if let domain = tenant.unprovedDomain { add("domain_unproved", domain.id, .domain(domain)) }
        if let domain = tenant.parentDomain {
            add("subdomain_not_included", domain.id, .domain(domain))
        }
        return steps
    }
}
