import Postgres
import Text

/// Purges users who cannot be restored any more.
extension Database {
    /// Users that are looked up at once; each is purged in its own transaction, so that the locks
    /// are those of an operator's purge and a crash leaves the next user to the next round.
    static let purgeBatch = 100

    /// The oldest deletions, across tenants, but for those that were passed over.
    static func usersSQL(deletedBy end: Timestamp, but passed: PassedOver) -> SQL {
        """
        SELECT tenant_id, id FROM users WHERE status = 'deleted' AND deleted_at <= \(end)
            AND \(passed.others("id"))
        ORDER BY deleted_at LIMIT \(purgeBatch)
        """
    }

    /// How many were purged; nil if another replica is sweeping.
    func purgeUsers(deletedBy end: Timestamp, _ passed: inout PassedOver) async throws -> Int? {
        let found = try await platform.read(Self.usersSQL(deletedBy: end, but: passed))
        var count = 0
        for row in found {
            let (tenant, id): (UUID, UUID) = (try row.get(0), try row.get(1))
            guard !passed.leaves(tenant) else { continue }
            do {
                guard let isDone = try await purge(id, of: tenant, deletedBy: end) else {
                    return nil
                }
                count += isDone ? 1 : 0
            } catch {
                try passed.add(id, of: tenant, error)
            }
        }
        return count
    }

    /// False if the user was restored or purged meanwhile.
    private func purge(_ id: UUID, of tenant: UUID, deletedBy end: Timestamp) async throws -> Bool?
    {
        try await scope(tenant).change(by: .system) { change -> Bool? in
            guard try await Self.takeSweepLock(change.transaction) else { return nil }
            guard let row = try await change.lockUser(id, deletedBy: end) else { return false }
            try await change.purgeUser(row, database: self)
            return true
        }
    }
}

extension Change {
    fileprivate func lockUser(_ id: UUID, deletedBy end: Timestamp) async throws -> UserRow? {
        let rows = try await query(
            """
            SELECT \(UserRow.columns(of: tenant)) FROM users WHERE tenant_id = \(tenant) AND id = \(id)
                AND \(SQL.unindexed("status")) = 'deleted' AND deleted_at <= \(end)
            FOR UPDATE OF users
            """)
        return try rows.first.map(UserRow.init)
    }
}
