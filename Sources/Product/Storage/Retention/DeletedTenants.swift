import Postgres
import Text

/// Purges tenants that cannot be restored any more, and completes purges that a crash interrupted.
extension Database {
    /// The oldest deletions.
    static func tenantsSQL(deletedBy end: Timestamp, but passed: PassedOver) -> SQL {
        """
        SELECT id FROM tenants WHERE status = 'deleted' AND deleted_at <= \(end)
            AND NOT id = ANY (\(passed.things))
        ORDER BY deleted_at LIMIT \(purgeBatch)
        """
    }

    /// How many were purged; nil if another replica is sweeping. The rest of a large tenant waits
    /// for the next round.
    func purgeTenants(deletedBy end: Timestamp, _ passed: inout PassedOver) async throws -> Int? {
        let found = try await platform.read(Self.tenantsSQL(deletedBy: end, but: passed))
        var (count, steps) = (0, 0)
        for row in found {
            let tenant: UUID = try row.get(0)
            var step = PurgeStep.more
            while case .more = step {
                if steps == Self.sweepBatches { return count }
                steps += 1
                do {
                    step = try await purgeStep(tenant, deletedBy: end, by: .system, isSweep: true)
                } catch {
                    try passed.add(tenant, of: tenant, error)
                    step = .notDue
                }
            }
            if case .elsewhere = step { return nil }
            if case .done = step { count += 1 }
        }
        return count
    }
}
