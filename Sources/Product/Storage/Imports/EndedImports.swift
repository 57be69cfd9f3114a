import Postgres
import Text

/// Removes imports that have ended and uploads that broke off, with their rows: in batches, since a large
/// one outlasts every time limit of a transaction.
extension Database {
    /// How many were removed; what is left of a large one waits for the next call.
    @discardableResult
    package func removeImports() async throws -> Int {
        let found = try await platform.read(
            """
            SELECT tenant_id, id FROM imports WHERE expires_at <= \(clock())
            ORDER BY expires_at LIMIT \(Self.purgeBatch)
            """)
        var (count, steps) = (0, 0)
        for row in found {
            let (tenant, id): (UUID, UUID) = (try row.get(0), try row.get(1))
            while steps < Self.sweepBatches {
                steps += 1
                let isGone = try await scope(tenant).change(by: .system) { change in
                    try await change.removeRows(ofImport: id)
                }
                guard isGone else { continue }
                count += 1
                break
            }
        }
        return count
    }
}

extension Change {
    /// One batch; true if nothing is left, or another replica is at it.
    func removeRows(ofImport id: UUID) async throws -> Bool {
        let held = try await query(
            """
            SELECT 1 FROM imports WHERE tenant_id = \(tenant) AND id = \(id)
                AND expires_at <= \(now) FOR UPDATE SKIP LOCKED
            """)
        if held.isEmpty { return true }
        for table in ["import_keys", "import_rows"] as [SQL] {
            let rows = try await query(
                """
                DELETE FROM \(table) WHERE tenant_id = \(tenant) AND ctid = ANY (ARRAY(
                    SELECT ctid FROM \(table) WHERE tenant_id = \(tenant) AND import_id = \(id)
                    LIMIT \(Database.sweepBatch)))
                """
            ).affected
            guard rows < Database.sweepBatch else { return false }
        }
        try await query("DELETE FROM imports WHERE tenant_id = \(tenant) AND id = \(id)")
        return true
    }
}
