import Domain
import Postgres
import Text

extension TenantScope {
    /// How many people wait for an operator's approval. Restored users may exceed the limit.
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

/// The people of a tenant who wait for an operator's approval: at most `Provisioning.waitingMax`.
extension Change {
    /// Whether the limit is reached; locks nothing.
    func isWaitingRoomFull() async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND status = 'pending'
                AND source = 'approval'
            ORDER BY created_at, id OFFSET \(Provisioning.waitingMax - 1) LIMIT 1
            """)
        return !rows.isEmpty
    }

    /// Serialises the newcomers of one tenant, so that only one of them gets the last place. The
    /// lock row is the last one that a decision takes.
    func lockWaitingRoom() async throws(PostgresError) {
        try await query(
            """
            INSERT INTO provisioning_locks (key) VALUES ('\\x77'::bytea || uuid_send(\(tenant)))
            ON CONFLICT (key) DO UPDATE SET key = excluded.key
            """)
    }
}

extension EffectWriting {
    /// If the last place was taken since the facts were read, the call is decided again.
    func enterWaitingRoom() async throws {
        try await change.lockWaitingRoom()
        guard try await !change.isWaitingRoomFull() else { throw ProvisioningRace() }
    }
}
