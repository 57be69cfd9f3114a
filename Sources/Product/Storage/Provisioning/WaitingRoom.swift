import Domain
import Postgres
import Text

extension TenantScope {
    /// The number of people who wait for an operator's approval. It may exceed the limit, because
    /// restored users wait too; the count stops at twice the limit.
    package func waitingCount() async throws(PostgresError) -> Int {
        let rows = try await read(
            """
            SELECT count(*) FROM (SELECT 1 FROM users WHERE tenant_id = \(tenant)
                AND status = 'pending' AND source = 'approval'
                LIMIT \(2 * Provisioning.waitingMax)) AS waiting
            """)
        return try rows.first?.get(0) ?? 0
    }
}

/// A tenant's limit for people who wait for an operator's approval: `Provisioning.waitingMax`.
extension Change {
    /// Whether no further person may wait. Locks nothing.
    func isWaitingRoomFull() async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND status = 'pending'
                AND source = 'approval'
            ORDER BY created_at, id OFFSET \(Provisioning.waitingMax - 1) LIMIT 1
            """)
        return !rows.isEmpty
    }

    /// Locks the tenant's list of people who wait, so that only one person can get the last place.
    /// A decision takes this lock after all its others.
    func lockWaitingRoom() async throws(PostgresError) {
        try await query(
            """
            INSERT INTO provisioning_locks (key) VALUES ('\\x77'::bytea || uuid_send(\(tenant)))
            ON CONFLICT (key) DO UPDATE SET key = excluded.key
            """)
    }
}

extension EffectWriting {
    /// Takes one of the tenant's places for people who wait for approval. If none is left, throws,
    /// so that the call is decided again.
    func enterWaitingRoom() async throws {
        try await change.lockWaitingRoom()
        guard try await !change.isWaitingRoomFull() else { throw ProvisioningRace() }
    }
}
