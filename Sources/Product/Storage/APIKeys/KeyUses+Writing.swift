import Postgres
import Replication
import Synchronization
import Text

extension Database {
    /// Writes the uses of one tenant's keys, or of all: every few seconds, before they are shown,
    /// and when the service stops. What fails is retried the next time. Returns the first fault that is
    /// no outage.
    @discardableResult
    package func writeKeyUses(of tenant: UUID? = nil) async -> (any Error)? {
        await keyUses.writing.write(of: tenant, among: keyUses.tenants) { tenant in
            let batch = keyUses.take(tenant)
            do {
                try await write(batch, of: tenant)
                return false
            } catch {
                // Uses that may be there are not counted twice.
                if (error as? PostgresError)?.kind != .commitUnknown {
                    keyUses.restore(batch, of: tenant)
                }
                throw error
            }
        }
    }

    private func write(_ batch: KeyUses.Batch, of tenant: UUID) async throws {
        if batch.isEmpty { return }
        // One order for all writers prevents deadlocks.
        let keys = batch.sorted { $0.key < $1.key }
        let hours = usesByHour(batch).sorted { $0.start < $1.start }
        let days = keys.flatMap { key, use in usesByDay(use).map { (key, $0.key, $0.value) } }
        try await app.tenantTransaction(tenant) { transaction in
            if tenant != .platform {
                // Uses from before a tenant's deletion are not written after its purge.
                let found = try await transaction.query(
                    "SELECT 1 FROM tenants WHERE id = \(tenant) FOR KEY SHARE")
                if found.isEmpty { return }
            }
            try await transaction.query(
                """
                UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, used.at),
                    last_used_ip = nullif(used.ip, ''),
                    previous_uses = k.previous_uses + used.previous,
                    previous_last_used_at = CASE WHEN used.previous > 0 THEN used.at
                        ELSE k.previous_last_used_at END
                FROM (SELECT * FROM unnest(\(keys.map(\.key))::uuid[], \(keys.map(\.value.at))::timestamptz[],
                    \(keys.map { $0.value.ip ?? "" })::text[],
                    \(keys.map { Int64($0.value.previous) })::bigint[])
                    AS given (id, at, ip, previous)) AS used
                WHERE k.tenant_id = \(tenant) AND k.id = used.id
                """)
            try await transaction.query(
                """
                INSERT INTO api_key_uses AS u (tenant_id, key_id, day, uses)
                SELECT anchor.id, given.key, given.day, given.uses
                FROM \(SQL.anchor(of: tenant)), unnest(\(days.map(\.0))::uuid[],
                    \(days.map { Timestamp(microseconds: $0.1) })::timestamptz[],
                    \(days.map { Int64($0.2) })::bigint[]) AS given (key, day, uses)
                WHERE anchor.id = \(tenant)
                ON CONFLICT (tenant_id, key_id, day)
                    DO UPDATE SET uses = u.uses + EXCLUDED.uses
                """)
            try await transaction.query(
                """
                INSERT INTO verification_counts AS c (tenant_id, hour, good, uses)
                SELECT anchor.id, given.hour, given.good, given.uses
                FROM \(SQL.anchor(of: tenant)), unnest(\(hours.map { Timestamp(microseconds: $0.start) })::timestamptz[],
                    \(hours.map { Int64($0.verified) })::bigint[],
                    \(hours.map { Int64($0.uses) })::bigint[]) AS given (hour, good, uses)
                WHERE anchor.id = \(tenant)
                ON CONFLICT (tenant_id, hour)
                    DO UPDATE SET good = c.good + EXCLUDED.good,
                        uses = c.uses + EXCLUDED.uses
                """)
        }
    }

    /// The uses of all keys of the batch, each hour once.
    private func usesByHour(_ batch: KeyUses.Batch) -> [KeyUses.Hour] {
        var sums: [Int64: KeyUses.Hour] = [:]
        for hour in batch.values.flatMap(\.hours) {
            sums[hour.start, default: KeyUses.Hour(start: hour.start)].uses += hour.uses
            sums[hour.start]?.verified += hour.verified
        }
        return Array(sums.values)
    }

    /// By the start of the day, in microseconds.
    private func usesByDay(_ use: KeyUses.Pending) -> [Int64: Int] {
        use.hours.reduce(into: [:]) { sums, hour in
            sums[hour.start / KeyUses.day * KeyUses.day, default: 0] += hour.uses
        }
    }
}
