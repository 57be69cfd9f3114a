import Postgres
import Text

/// Users who are not as the schema says, since rules hold for what is written alone.
package struct AttributeViolations: Sendable {
    /// Of the users that were read.
    package var count = 0
    /// Whether all users were read.
    package var isExact = true
    /// The first of them, by their ids.
    package var users: [UUID] = []

    /// Users that are read.
    package static let readLimit = 10_000
    /// Ids that are shown.
    package static let shownLimit = 20
    /// Users of one statement.
    fileprivate static let batch = 500
}

extension TenantScope {
    /// Reads the tenant's users, in the order of their ids, up to a limit.
    package func attributeViolations(
        of schema: AttributeSchema
    ) async throws(PostgresError) -> AttributeViolations {
        var found = AttributeViolations()
        if schema.entries.isEmpty { return found }
        var last = UUID.platform
        for _ in 0..<AttributeViolations.readLimit / AttributeViolations.batch {
            let rows = try await read(
                """
                SELECT id, public_attributes, private_attributes FROM users
                WHERE tenant_id = \(tenant) AND id > \(last)\(SQL.everyID) AND status <> 'deleted'
                    AND status <> 'merged' ORDER BY id LIMIT \(raw: "\(AttributeViolations.batch)")
                """)
            for row in rows {
                let (id, shown, kept): (UUID, String, String) = try row.columns()
                last = id
                let pair = AttributePair(public: shown, private: kept)
                if schema.faults(pair, after: AttributePair(), isNew: true).isEmpty { continue }
                found.count += 1
                if found.users.count < AttributeViolations.shownLimit { found.users.append(id) }
            }
            if rows.count < AttributeViolations.batch { return found }
        }
        found.isExact = false
        return found
    }
}
