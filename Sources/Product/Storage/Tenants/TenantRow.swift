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
    /// The tenant's id in the platform's own system.
    package var externalID: String?
    /// What its sign-in, invite and join pages wear.
    package var appearance = Appearance()
    /// None in what a replica keeps in memory.
    package var attributes = AttributePair()
    /// Whether a reader is shown the public ones alone.
    package var hidesPrivate = false

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
        deleted_at, name_key, external_id, appearance_name, appearance_accent, logo_hash,
        public_attributes, private_attributes
        """

    /// How many there are: what is selected after `columns` begins here.
    static let end = 17

    init(_ row: Row) throws(PostgresError) {
        let (shown, kept): (String, String)
        (
            id, slug, name, locator, status, policyVersion, version, createdAt, updatedAt,
            deletedAt, nameKey, externalID, appearance.name, appearance.accent, appearance.logo,
            shown, kept
        ) = try row.columns()
        attributes = AttributePair(public: shown, private: kept)
    }

    package func value(of sort: ListQuery.Sort) -> String {
        sort == .name ? nameKey : "\(createdAt.microseconds)"
    }
}
