import Postgres
import Text

/// Removes jobs that can no longer be undone, with their rows.
extension Database {
    /// How many were removed; nil if another replica is sweeping. The rest of a large job waits for
    /// the next round.
    func removeJobs(keptUntil end: Timestamp, _ passed: inout PassedOver) async throws -> Int? {
        let found = try await platform.read(
            """
            SELECT tenant_id, id FROM jobs WHERE kept_until <= \(end) AND \(passed.others("id"))
            ORDER BY kept_until LIMIT \(Self.purgeBatch)
            """)
        var (count, steps) = (0, 0)
        for row in found {
            let (tenant, id): (UUID, UUID) = (try row.get(0), try row.get(1))
            guard !passed.leaves(tenant) else { continue }
            var isGone = false
            do {
                while !isGone {
                    if steps == Self.sweepBatches { return count }
                    steps += 1
                    let removed = try await scope(tenant).change(by: .system) { change in
                        try await change.removeRows(ofJob: id, keptUntil: end)
                    }
                    guard let removed else { return nil }
                    isGone = removed
                }
                count += 1
            } catch {
                try passed.add(id, of: tenant, error)
            }
        }
        return count
    }
}

extension Change {
    /// One batch; true if the job is gone, nil if another replica is sweeping.
    fileprivate func removeRows(ofJob id: UUID, keptUntil end: Timestamp) async throws -> Bool? {
        guard try await Database.takeSweepLock(transaction) else { return nil }
        // Its undo may have begun meanwhile.
        let held = try await query(
            """
            SELECT 1 FROM jobs WHERE tenant_id = \(tenant) AND id = \(id) AND kept_until <= \(end)
            FOR UPDATE
            """)
        if held.isEmpty { return true }
        let rows = try await query(
            """
            DELETE FROM job_rows WHERE tenant_id = \(tenant) AND ctid = ANY (ARRAY(
                SELECT ctid FROM job_rows WHERE tenant_id = \(tenant) AND job_id = \(id)
                LIMIT \(Database.sweepBatch)))
            """
        ).affected
        guard rows < Database.sweepBatch else { return false }
        try await query("DELETE FROM jobs WHERE tenant_id = \(tenant) AND id = \(id)")
        return true
    }
}
