import Domain
import Postgres
import Text

/// How many HMACs a purge has left, and until when they bar the person.
package struct LeftTombstones: Sendable {
    package var count = 0
    package var until: Timestamp
}

/// What stays of a purged user: for 30 days HMACs of the address and the identities, by which the
/// tenant refuses them, as it does a deleted user.
extension Change {
    /// Seconds that a tombstone bars a sign-up.
    static let tombstoneSeconds: Int64 = 30 * 86_400

    /// `withAddress`: whether no other user of this tenant has the address.
    /// Returns how many it left.
    func bury(_ row: UserRow, withAddress: Bool, _ database: Database) async throws -> Int {
        var keys = row.identities.map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
        if withAddress { keys.append(database.personKey(emailKey: row.emailKey)) }
        let person = UUID.random()
        let end = now.adding(seconds: Self.tombstoneSeconds)
        for key in keys {
            try await query(
                """
                INSERT INTO tombstones (tenant_id, key, person, expires_at)
                VALUES (\(tenant), substring(\(key)::bytea FOR 36), \(person), \(end))
                ON CONFLICT (tenant_id, key) DO UPDATE
                SET person = excluded.person, expires_at = excluded.expires_at
                """)
        }
        return keys.count
    }

    /// An operator creates the user anew: the bar ends, for the identities as well.
    func endTombstone(_ emailKey: String, _ database: Database) async throws(PostgresError) {
        try await query(
            """
            DELETE FROM tombstones WHERE tenant_id = \(tenant) AND person IN (
                SELECT person FROM tombstones WHERE tenant_id = \(tenant)
                    AND key = ANY (person_keys(\(database.personKey(emailKey: emailKey)))))
            """)
    }

    /// A purged user as the rules see a deleted one; the id no longer names a row. `keys`: of the
    /// identity and the address.
    func buried(_ keys: [[UInt8]]) async throws(PostgresError) -> UserFacts? {
        let rows = try await query(
            """
            SELECT person FROM tombstones
            WHERE tenant_id = \(tenant) AND key = ANY (person_keys(\(Array(keys.joined()))))
                AND expires_at > \(now) LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        return UserFacts(id: try row.get(0), status: .deleted, source: .operator)
    }
}
