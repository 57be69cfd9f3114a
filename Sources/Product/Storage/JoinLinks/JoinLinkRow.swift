import Domain
import Postgres
import Text

/// A join link as stored; of the token only a hash.
package struct JoinLinkRow: ListedRow {
    package var link: JoinLink
    /// Where its page leads in the end: an address of one of the tenant's clients; nil: nowhere.
    package var returnTo: String?
    /// The actor's type, such as `operator` or `key`.
    package var makerType: String
    /// The actor's id as text.
    package var makerID: String
    /// The actor's name when the link was made.
    package var makerName: String
    /// Increases with each change; the ETag is made of it.
    package var version: Int
    package var createdAt: Timestamp

    package var id: UUID { link.id }

    static let columns: SQL =
        """
        id, tenant_id, domains, max_uses, uses, expires_at, revoked_at, return_to, maker_type,
        maker_id, maker_name, version, created_at
        """

    /// How many there are: what is selected after `columns` begins here.
    static let end = 13

    init(_ row: Row) throws(PostgresError) {
        link = JoinLink(
            id: try row.get(0), tenantID: try row.get(1), domains: try row.get(2),
            maxUses: try row.get(3), uses: try row.get(4), expiresAt: try row.get(5),
            revokedAt: try row.get(6, as: Timestamp?.self))
        returnTo = try row.get(7, as: String?.self)
        (makerType, makerID, makerName) = (try row.get(8), try row.get(9), try row.get(10))
        version = try row.get(11)
        createdAt = try row.get(12)
    }

    /// What the audit row of its creation shows.
    var creation: AuditChanges {
        var changes = AuditChanges()
        changes.add("max_uses", nil, "\(link.maxUses)")
        changes.add("expires_at", nil, link.expiresAt.description)
        if !link.domains.isEmpty {
            changes.add("domains", nil, link.domains.joined(separator: " "))
        }
        return changes
    }

    var target: AuditTarget { AuditTarget("join_link", id, id.description) }
}

/// A request for a join link, its input checked.
package struct JoinLinkRequest: Sendable {
    /// A-labels; empty: every domain.
    package var domains: [String]
    package var maxUses: Int
    /// Exclusive.
    package var expiresAt: Timestamp
    /// Checked against the tenant's clients.
    package var returnTo: String?

    /// `returnTo` nil: the page leads nowhere.
    package init(domains: [String], maxUses: Int, expiresAt: Timestamp, returnTo: String?) {
        self.domains = domains
        self.maxUses = maxUses
        self.expiresAt = expiresAt
        self.returnTo = returnTo
    }
}
