import Domain
import Postgres
import Text

/// Explains a refusal: read only then, and without locks.
extension FactsReading {
    /// Adds what was found and did not help, of the tenants that were read and, if none is asked,
    /// of those that claim the address's domain.
    mutating func readUnhelpful() async throws(PostgresError) {
        guard facts.provider != nil, let email = attempt.email else { return }
        let names = Self.suffixes(of: email.domain)
        // Without locks: claims come in no order of tenant ids, so locking could deadlock.
        let deciding = change
        change.locksRows = false
        defer { change = deciding }
        if facts.asked.isEmpty {
            let rows = try await change.query("SELECT domain_claimants(\(names))")
            for row in rows {
                let id: UUID = try row.get(0)
                if facts.tenants[id] == nil { try await readTenant(id) }
            }
        }
        for id in facts.tenants.keys.sorted() {
            let change = try await change.switching(to: id)
            let invite = try await change.lapsedInvite(to: email)
            let domains = try await change.unhelpfulDomains(among: names)
            explain(id) { tenant in
                tenant.lapsedInvite = invite
                tenant.unprovedDomain = domains.first { $0.status == .pending }
                tenant.parentDomain = domains.first { $0.status == .verified }
            }
        }
    }
}

extension Change {
    /// The newest invite to the address, if it is expired or revoked.
    fileprivate func lapsedInvite(to email: Email) async throws(PostgresError) -> InviteFacts? {
        let rows = try await query(
            """
            SELECT id, email, role, status, delivery, expires_at, updated_at FROM invites
            WHERE tenant_id = \(tenant) AND email_key = \(email.key) AND status <> 'accepted'
            ORDER BY created_at DESC, id LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        let isRevoked = try row.get(3, as: String.self) == "revoked"
        let ends: Timestamp = try row.get(5)
        guard isRevoked || ends <= now else { return nil }
        return InviteFacts(
            invite: Invite(
                id: try row.get(0), tenantID: tenant,
                email: Email(key: email.key, display: try row.get(1), domain: email.domain),
                role: try row.get(2), expiresAt: ends, delivery: try row.get(4),
                revokedAt: isRevoked ? try row.get(6) : nil))
    }

    /// Claims that would cover the address, and a verified domain above it that does not.
    fileprivate func unhelpfulDomains(
        among suffixes: [String]
    ) async throws(PostgresError) -> [TenantDomain] {
        let rows = try await query(
            """
            SELECT id, domain, display, status, include_subdomains, created_at, verified_at,
                mode, role
            FROM domains WHERE tenant_id = \(tenant) AND domain = ANY(\(suffixes))
                AND (status = 'pending' AND (include_subdomains OR domain = \(suffixes.first))
                    OR status = 'verified' AND NOT include_subdomains
                        AND domain <> \(suffixes.first))
            ORDER BY length(domain) DESC LIMIT 5
            """)
        return try rows.map { row throws(PostgresError) in
            TenantDomain(
                id: try row.get(0), tenantID: tenant, domain: try row.get(1),
                display: try row.get(2), status: try row.get(3),
                includeSubdomains: try row.get(4),
                mode: try row.get(7, as: TenantDomain.Mode?.self),
                role: try row.get(8, as: UserRole?.self), createdAt: try row.get(5),
                verifiedAt: try row.get(6, as: Timestamp?.self))
        }
    }
}
