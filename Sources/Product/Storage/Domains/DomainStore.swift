import Cryptography
import Domain
import Postgres
import Text

/// A tenant's claim on an email domain, as stored.
package struct DomainRow: ListedRow {
    package var id: UUID
    /// The domain as an A-label, in lower case.
    package var domain: String
    package var display: String
    /// Whether the claim covers addresses at subdomains.
    package var includeSubdomains: Bool
    /// How the domain admits a new user; `nil` if the policy decides.
    package var mode: TenantDomain.Mode?
    /// The role of a user who joins by the domain; `nil` for the policy's default role.
    package var role: UserRole?
    /// Whether the claim is `pending` or `verified`.
    package var status: TenantDomain.Status
    /// How the domain was proved; `nil` while the claim is pending.
    package var method: String?
    /// The secret part of the TXT record: 32 hexadecimal digits.
    var token: String
    package var createdAt: Timestamp
    package var verifiedAt: Timestamp?
    /// The time since which the DNS record is missing; `nil` while it is present.
    package var lostAt: Timestamp?
    /// When the claim last changed, by a check or by an edit.
    package var changedAt: Timestamp?

    static let columns: SQL =
        """
        id, domain, display, status, method, token, created_at, verified_at, lost_at, changed_at,
        include_subdomains, mode, role
        """
    static let columnCount = 13

    init(_ row: Row) throws(PostgresError) {
        (
            id, domain, display, status, method, token, createdAt, verifiedAt, lostAt, changedAt,
            includeSubdomains, mode, role
        ) = try row.columns()
    }

    /// The condition, beginning with AND, for a domain that is not proved or whose DNS record is
    /// missing.
    static let unproved: SQL = " AND (status = 'pending' OR lost_at IS NOT NULL)"

    package var recordName: String { "_gatehouse.\(domain)" }
    package var recordValue: String { "gatehouse-verify=\(token)" }
}

/// Email domains. Many tenants may claim the same domain, but only one of them can verify it.
extension TenantScope {
    package func domain(_ id: UUID) async throws(PostgresError) -> DomainRow? {
        let rows = try await read(
            "SELECT \(DomainRow.columns) FROM domains WHERE tenant_id = \(tenant) AND id = \(id)")
        return try rows.first.map(DomainRow.init)
    }

    /// Returns the tenant's claim on exactly this domain. `name` is an A-label in lower case.
    package func domain(named name: String) async throws(PostgresError) -> DomainRow? {
        let rows = try await read(
            """
            SELECT \(DomainRow.columns) FROM domains
            WHERE tenant_id = \(tenant) AND domain = \(name)
            """)
        return try rows.first.map(DomainRow.init)
    }

    package func domains(
        _ list: ListQuery, status: String?, unproved: Bool = false, matching text: String? = nil
    ) async throws(PostgresError) -> ListPage<DomainRow> {
        var source: SQL = "domains WHERE tenant_id = \(tenant)"
        if let status { source += " AND status = \(status)" }
        if unproved { source += DomainRow.unproved }
        if let text {
            let patterns = Database.patterns(of: text)
            source +=
                " AND concat_ws(' ', domain, display) ILIKE ALL (\(patterns))"
        }
        let statement = ListStatement(
            columns: DomainRow.columns, source: source, isWide: status == nil && !unproved)
        return try await readLagging(statement.page(list)).page(list, DomainRow.init)
    }
}

extension Database {
    /// Returns the tenant that has verified the domain; `nil` if none has.
    package func tenant(ofDomain name: String) async throws(PostgresError) -> UUID? {
        try await app.read("SELECT directory_tenant_by_domain(\(name))").first?
            .get(0, as: UUID?.self)
    }
}

extension Change {
    /// Creates an unproved claim on a domain. Throws 409 with the claim's id if this tenant already
    /// has one. Throws 409 without an id if the tenant has reached its limit of claims.
    package func claimDomain(
        _ name: DomainName, includeSubdomains: Bool, mode: TenantDomain.Mode? = nil,
        role: UserRole? = nil
    ) async throws -> DomainRow {
        let rows = try await query(
            """
            INSERT INTO domains (tenant_id, id, domain, display, token, created_at,
                include_subdomains, mode, role)
            VALUES (\(tenant), \(UUID.random()), \(name.ascii), \(name.display),
                \(Hex.encode(RandomBytes.make(16))), \(now), \(includeSubdomains),
                \(mode), \(role))
            ON CONFLICT (tenant_id, domain) DO NOTHING RETURNING \(DomainRow.columns)
            """)
        guard let row = rows.first else {
            let held = try await query(
                "SELECT id FROM domains WHERE tenant_id = \(tenant) AND domain = \(name.ascii)")
            throw StorageFailure.conflict(
                code: "conflict", detail: "The tenant has claimed this domain already.",
                id: try held.first?.get(0))
        }
        try await requireRoomForDomain()
        let domain = try DomainRow(row)
        var changes = AuditChanges()
        changes.add("include_subdomains", nil, "\(includeSubdomains)")
        changes.add("mode", nil, domain.mode?.rawValue)
        changes.add("role", nil, domain.role?.rawValue)
        try await audit(.domainCreated, AuditTarget("domain", domain.id, domain.domain), changes)
        return domain
    }

    /// Throws 409 if the tenant now has more claims than it may have, including this transaction's
    /// claim. Takes a lock, so that the tenant's other claims wait until this transaction ends.
    private func requireRoomForDomain() async throws {
        try await query(
            "SELECT pg_advisory_xact_lock(hashtextextended('domains ' || \(tenant.description), 0))"
        )
        let claimed = try await query(
            """
            SELECT count(*) FROM (SELECT 1 FROM domains WHERE tenant_id = \(tenant)
                LIMIT \(TenantDomain.most + 1)) AS claimed
            """
        ).only { (row) throws(PostgresError) in try row.get(0, as: Int.self) }
        guard claimed > TenantDomain.most else { return }
        throw StorageFailure.conflict(
            code: "conflict",
            detail: "The tenant has claimed \(TenantDomain.most) domains; delete one first.",
            id: nil)
    }

    /// Returns the claim, locked until this transaction ends.
    package func lockDomain(_ id: UUID) async throws -> DomainRow {
        let rows = try await query(
            """
            SELECT \(DomainRow.columns) FROM domains
            WHERE tenant_id = \(tenant) AND id = \(id) FOR UPDATE
            """)
        guard let row = rows.first else { throw StorageFailure.notFound("domain") }
        return try DomainRow(row)
    }

    /// Marks a locked claim as proved; does nothing if the claim is already proved and its DNS
    /// record is not missing. Throws 409 if another tenant has proved the domain.
    package func verifyDomain(_ domain: DomainRow, method: String) async throws -> DomainRow {
        if domain.status == .verified, domain.lostAt == nil { return domain }
        guard try await claim("domain", domain.domain) else {
            throw StorageFailure.conflict(
                code: "conflict", detail: "Another tenant has verified this domain.", id: nil)
        }
        let rows = try await query(
            """
            UPDATE domains SET status = 'verified', method = \(method), verified_at = \(now),
                check_at = \(now.adding(seconds: Database.domainCheckSeconds)),
                lost_at = NULL, changed_at = NULL
            WHERE tenant_id = \(tenant) AND id = \(domain.id) RETURNING \(DomainRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("status", domain.status, .verified)
        changes.add("method", nil, method)
        try await audit(.domainVerified, AuditTarget("domain", domain.id, domain.domain), changes)
        return try rows.only(DomainRow.init)
    }

    /// Changes how the domain of a locked claim admits users, and which role they get.
    package func editDomain(
        _ domain: DomainRow, mode: TenantDomain.Mode?, role: UserRole?
    ) async throws -> DomainRow {
        if mode == domain.mode, role == domain.role {
            alreadyApplied()
            return domain
        }
        let rows = try await query(
            """
            UPDATE domains SET mode = \(mode), role = \(role), changed_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(domain.id) RETURNING \(DomainRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("mode", domain.mode?.rawValue, mode?.rawValue)
        changes.add("role", domain.role?.rawValue, role?.rawValue)
        try await audit(.domainUpdated, AuditTarget("domain", domain.id, domain.domain), changes)
        return try rows.only(DomainRow.init)
    }

    /// Deletes a locked claim. Another tenant may then verify the domain.
    package func removeDomain(_ domain: DomainRow) async throws {
        try await query("DELETE FROM domains WHERE tenant_id = \(tenant) AND id = \(domain.id)")
        try await query("SELECT directory_release_domain(\(domain.domain))")
        try await audit(.domainDeleted, AuditTarget("domain", domain.id, domain.domain))
    }
}
