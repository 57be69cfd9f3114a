import Domain
import Postgres
import Text

/// A tenant as stored.
package struct TenantRow: ListedRow {
    package var id: UUID
    package var slug: String
    package var name: String
    package var locator: String
    package var status: Tenant.Status
    package var policyVersion: Int
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var deletedAt: Timestamp?
    /// The name in lower case, by which the list is ordered.
    package var nameKey: String

    /// The platform as a tenant, for calls that name none; the platform's own rows belong to it.
    package static func platform(named name: String, at now: Timestamp) -> TenantRow {
        TenantRow(platform: name, at: now)
    }

    private init(platform name: String, at now: Timestamp) {
        id = .platform
        slug = ""
        self.name = name
        locator = "000000"
        status = .active
        policyVersion = 0
        version = 0
        createdAt = now
        nameKey = name
        updatedAt = now
    }

    static let columns: SQL =
        """
        id, slug, name, locator, status, policy_version, version, created_at, updated_at,
        deleted_at, name_key
        """

    init(_ row: Row) throws(PostgresError) {
        (
            id, slug, name, locator, status, policyVersion, version, createdAt, updatedAt,
            deletedAt, nameKey
        ) = try row.columns()
    }

    package func value(of sort: ListQuery.Sort) -> String {
        sort == .name ? nameKey : "\(createdAt.microseconds)"
    }
}
