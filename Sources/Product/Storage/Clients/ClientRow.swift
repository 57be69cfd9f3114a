import JSON
import Postgres
import Text

/// A client contract of a tenant as stored; one that was never set is off and has no row.
package struct ClientRow: Sendable {
    package var name: String
    package var enabled: Bool
    /// `host` or `host:port`, lower-case, as A-labels.
    package var hosts: [String]
    package var redirectURIs: [String]
    /// The settings that the contract declares, by their names on the wire.
    package var settings: JSONValue
    package var version: Int
    package var createdAt: Timestamp?
    package var updatedAt: Timestamp?

    static let columns: SQL =
        """
        c.name, c.enabled, c.hosts, c.redirect_uris, c.settings::text, c.version, c.created_at,
        c.updated_at
        """

    init(_ row: Row, from start: Int = 0) throws(PostgresError) {
        name = try row.get(start)
        enabled = try row.get(start + 1)
        hosts = try row.get(start + 2)
        redirectURIs = try row.get(start + 3)
        settings = try row.json(start + 4)
        version = try row.get(start + 5)
        createdAt = try row.get(start + 6)
        updatedAt = try row.get(start + 7)
    }

    /// A client that was never set.
    package init(unset name: String) {
        self.name = name
        enabled = false
        hosts = []
        redirectURIs = []
        settings = .object([])
        version = 0
    }

    package var target: AuditTarget { AuditTarget("client", UUID.platform, name) }
}
