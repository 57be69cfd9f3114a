import Domain
import Postgres
import Text

/// A verified domain whose DNS record is due for a check.
package struct DueDomain: Sendable {
    package var tenant: UUID
    package var row: DomainRow
}

/// The result of checking the DNS record of a verified domain.
package enum DomainCheck: String, Sendable {
    /// The DNS record is present as before, or no name server answered.
    case unchanged
    /// The DNS record is missing for the first time.
    case lost
    /// The DNS record is still missing, and the grace period is not over.
    case missing
    /// The DNS record is present again.
    case found
    /// The grace period is over and the DNS record is still missing, so the claim is unproved
    /// again.
    case lapsed
}

/// Checks of verified domains, since a domain may be given up or sold after it was proved. Each
/// domain that was proved by DNS is checked every week, and every day while its record is missing.
/// After a week without the record the domain admits no new user, and another tenant may prove it;
/// existing users keep their accounts.
extension Database {
    static let domainCheckSeconds: Int64 = 7 * 86_400
    static let domainGraceSeconds: Int64 = 7 * 86_400
    static let lostDomainCheckSeconds: Int64 = 86_400
    static let silentNameServerSeconds: Int64 = 3600
    static let domainCheckBatch = 1000
    static let warnedOperators = 20

    /// Returns the domains proved by DNS whose check is due, the longest overdue first.
    package func dueDomains() async throws(PostgresError) -> [DueDomain] {
        let rows = try await platform.read(
            """
            SELECT \(DomainRow.columns), tenant_id FROM domains
            WHERE status = 'verified' AND method = 'dns'
                AND coalesce(check_at, verified_at) <= \(clock())
            ORDER BY coalesce(check_at, verified_at) LIMIT \(Self.domainCheckBatch)
            """)
        return try rows.map { row throws(PostgresError) in
            DueDomain(tenant: try row.get(DomainRow.columnCount), row: try DomainRow(row))
        }
    }
}

extension Change {
    /// Stores the result of a DNS check. `isThere` is whether the record is present; `nil` if no
    /// name server answered. Returns nil if another replica has already stored a result, or if the
    /// claim has changed.
    package func check(_ due: DomainRow, isThere: Bool?) async throws -> DomainCheck? {
        let rows = try await query(
            """
            SELECT \(DomainRow.columns) FROM domains
            WHERE tenant_id = \(tenant) AND id = \(due.id) AND status = 'verified'
                AND coalesce(check_at, verified_at) <= \(now) FOR UPDATE
            """)
        guard let domain = try rows.first.map(DomainRow.init) else { return nil }
        guard let isThere else {
            try await lookAgain(domain, after: Database.silentNameServerSeconds)
            return .unchanged
        }
        switch (isThere, domain.lostAt) {
        case (true, nil):
            try await lookAgain(domain, after: Database.domainCheckSeconds)
            return .unchanged
        case (true, .some):
            try await setLost(domain, since: nil, lookAfter: Database.domainCheckSeconds)
            try await audit(.domainFound, AuditTarget("domain", domain.id, domain.domain))
            return .found
        case (false, nil):
            try await setLost(domain, since: now, lookAfter: Database.lostDomainCheckSeconds)
            try await audit(.domainLost, AuditTarget("domain", domain.id, domain.domain))
            return .lost
        case (false, .some(let since))
        where now < since.adding(seconds: Database.domainGraceSeconds):
            try await lookAgain(domain, after: Database.lostDomainCheckSeconds)
            return .missing
        case (false, .some):
            try await lapse(domain)
            return .lapsed
        }
    }

    private func lookAgain(_ domain: DomainRow, after seconds: Int64) async throws {
        try await query(
            """
            UPDATE domains SET check_at = \(now.adding(seconds: seconds))
            WHERE tenant_id = \(tenant) AND id = \(domain.id)
            """)
    }

    private func setLost(
        _ domain: DomainRow, since: Timestamp?, lookAfter seconds: Int64
    ) async throws {
        try await query(
            """
            UPDATE domains SET lost_at = \(since), changed_at = \(now),
                check_at = \(now.adding(seconds: seconds))
            WHERE tenant_id = \(tenant) AND id = \(domain.id)
            """)
    }

    private func lapse(_ domain: DomainRow) async throws {
        try await query(
            """
            UPDATE domains SET status = 'pending', method = NULL, verified_at = NULL,
                check_at = NULL, changed_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(domain.id)
            """)
        try await query("SELECT directory_release_domain(\(domain.domain))")
        var changes = AuditChanges()
        changes.add("status", "verified", "pending")
        try await audit(.domainLapsed, AuditTarget("domain", domain.id, domain.domain), changes)
    }

    /// Sends a mail to the tenant's operators who are owners or admins. The mail says that the
    /// domain's record is missing, and what will follow. If the tenant has no such operator, the
    /// platform's owners and admins get the mail.
    package func warnOfLoss(
        _ domain: DomainRow, publicURL: String
    ) async throws {
        let able: SQL =
            """
             AND status = 'active' AND role IN ('owner', 'admin')\(ListQuery.everyTime("created_at"))
            ORDER BY created_at
            """
        let rows = try await query(
            """
            WITH own AS (SELECT id, email, created_at FROM operators
                WHERE tenant_id = \(tenant)\(able) LIMIT \(Database.warnedOperators)),
            others AS (SELECT id, email, created_at FROM operators
                WHERE tenant_id IS NULL AND NOT EXISTS (SELECT FROM own)\(able)
                LIMIT \(Database.warnedOperators))
            SELECT o.id, o.email, t.name, t.slug
            FROM (SELECT * FROM own UNION ALL SELECT * FROM others) AS o, tenants t
            WHERE t.id = \(tenant) ORDER BY o.created_at
            """)
        for row in rows {
            let person: UUID = try row.get(0)
            let slug: String = try row.get(3)
            // The mail to each recipient gets an id of its own, so that the mails do not replace
            // each other.
            let about = UUID(high: domain.id.high ^ person.high, low: domain.id.low ^ person.low)
            try await post(
                OutgoingMail(
                    .domainLost, to: try row.get(1), tenantName: try row.get(2),
                    link: "\(publicURL)/console/t/\(slug)/domains",
                    message: "\(domain.recordName) TXT \(domain.recordValue)",
                    expiresAt: now.adding(seconds: Database.domainGraceSeconds)),
                about: about)
        }
    }
}
