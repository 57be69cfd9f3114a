import Postgres
import Text

/// One stored entry of an allow list.
package struct CORSOriginRow: ListedRow {
    package var tenant: UUID
    package var id: UUID
    /// Canonical.
    package var origin: String
    package var credentials: Bool
    package var label: String?
    package var expiresAt: Timestamp?
    package var createdByType: String
    package var createdByID: String
    package var createdAt: Timestamp

    static let columns: SQL =
        """
        tenant_id, id, origin, credentials, label, expires_at, created_by_type, created_by_id,
        created_at
        """

    init(_ row: Row) throws(PostgresError) {
        (
            tenant, id, origin, credentials, label, expiresAt, createdByType, createdByID, createdAt
        ) = try row.columns()
    }
}

/// The values of an entry to store.
package struct CORSOriginEntry: Sendable {
    package var origin: Origin
    package var credentials: Bool
    package var label: String?
    package var expiresAt: Timestamp?

    package init(_ origin: Origin, credentials: Bool, label: String?, expiresAt: Timestamp?) {
        self.origin = origin
        self.credentials = credentials
        self.label = label
        self.expiresAt = expiresAt
    }
}
