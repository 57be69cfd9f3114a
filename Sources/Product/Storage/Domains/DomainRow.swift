import Domain
import Postgres
import Text

/// A claim on an email domain as stored.
package struct DomainRow: ListedRow {
    package var id: UUID
    /// A-label, lower case.
    package var domain: String
    package var display: String
    /// Whether the claim covers addresses at subdomains.
    package var includeSubdomains: Bool
    /// Who comes in by the domain; nil: as the policy says.
    package var mode: TenantDomain.Mode?
    /// Of who comes in by the domain; nil: the policy's default.
    package var role: UserRole?
    /// pending or verified.
    package var status: TenantDomain.Status
    /// How it was proved; nil while pending.
    package var method: String?
    /// 32 hexadecimal digits, for the TXT record.
    package var token: String
    package var createdAt: Timestamp
    package var verifiedAt: Timestamp?
    /// Since when the proving record has been missing.
    package var lostAt: Timestamp?
    /// When the service itself, or an edit, last changed it.
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

    /// The condition on a domain that is not proved, or whose record is missing, with its AND.
    static let unproved: SQL = " AND (status = 'pending' OR lost_at IS NOT NULL)"

    package var recordName: String { "_gatehouse.\(domain)" }
    package var recordValue: String { "gatehouse-verify=\(token)" }
}
