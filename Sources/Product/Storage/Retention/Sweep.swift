import Domain
import JSON
import Postgres
import Text

/// Deletes expired rows, in batches, one replica at a time.
extension Database {
    /// The most rows that one transaction deletes, so that no lock is held for long.
    static let sweepBatch = 1000
    /// Batches of one table in one round; the rest waits for the next.
    static let sweepBatches = 50
    /// The advisory lock of every batch: a replica that does not get it leaves the work to others.
    static let sweepLock: Int64 = 0x6761_7465_0001

    /// One round over every table. Calls `removed` for each batch; false if another replica is
    /// sweeping. Where a table fails, the others are swept before its error is thrown.
    package func sweep(
        removed: @Sendable (_ table: String, _ rows: Int) -> Void
    ) async throws -> Bool {
        var failure: (any Error)?
        for rows in EndedRows.all {
            do {
                guard try await sweep(rows, removed) else { return false }
            } catch {
                if (error as? PostgresError)?.kind == .unavailable { throw error }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return true
    }

    /// The tables that are swept, for labels of metrics.
    package static var sweptTables: [String] { EndedRows.all.map(\.table) }

    private func sweep(
        _ rows: EndedRows, _ removed: @Sendable (String, Int) -> Void
    ) async throws -> Bool {
        let end = clock().adding(seconds: -rows.seconds(retention))
        for _ in 0..<Self.sweepBatches {
            var count = 0
            switch rows.kind {
            case .system:
                guard let done = try await removeBatch(rows, past: end) else { return false }
                count = done
            case .tenant, .decisions:
                for tenant in try await tenants(with: rows, past: end) {
                    guard let done = try await removeBatch(rows, past: end, of: tenant) else {
                        return false
                    }
                    count += done
                }
            case .users:
                guard let done = try await purgeUsers(deletedBy: end) else { return false }
                count = done
            case .jobs:
                guard let done = try await removeJobs(keptUntil: end) else { return false }
                count = done
            case .imports:
                try await cancelPausedImports(after: retention.pausedImports)
                count = try await removeImports()
            case .tenants:
                guard let done = try await purgeTenants(deletedBy: end) else { return false }
                count = done
            }
            if count > 0 { removed(rows.table, count) }
            if count < rows.batch { break }
        }
        return true
    }

    private func removeBatch(_ rows: EndedRows, past end: Timestamp) async throws -> Int? {
        try await app.transaction { transaction in
            guard try await Self.takeSweepLock(transaction) else { return nil }
            return try await transaction.query(
                """
                DELETE FROM \(raw: rows.table) WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM \(raw: rows.table) WHERE \(raw: rows.column) <= \(end)
                    ORDER BY \(raw: rows.column) LIMIT \(Self.sweepBatch)))
                """
            ).affected
        }
    }

    private func removeBatch(
        _ rows: EndedRows, past end: Timestamp, of tenant: UUID
    ) async throws -> Int? {
        try await scope(tenant).change(by: .system) { change in
            guard try await Self.takeSweepLock(change.transaction) else { return nil }
            guard case .decisions = rows.kind else {
                return try await change.query(
                    """
                    DELETE FROM \(raw: rows.table) WHERE tenant_id = \(tenant) AND ctid = ANY (ARRAY(
                        SELECT ctid FROM \(raw: rows.table) WHERE tenant_id = \(tenant)
                            AND \(raw: rows.column) <= \(end)
                        ORDER BY \(raw: rows.column) LIMIT \(Self.sweepBatch)))
                    """
                ).affected
            }
            return try await change.removeDecisions(past: end)
        }
    }

    /// Tenants that own some of the rows that expired first.
    private func tenants(with rows: EndedRows, past end: Timestamp) async throws -> [UUID] {
        let found = try await platform.read(
            """
            SELECT DISTINCT tenant_id FROM (
                SELECT tenant_id FROM \(raw: rows.table) WHERE \(raw: rows.column) <= \(end)
                    AND \(raw: rows.column) > '-infinity'
                ORDER BY \(raw: rows.column) LIMIT \(Self.sweepBatch)) AS oldest
            """)
        return try found.map { row throws(PostgresError) in try row.get(0, as: UUID.self) }
    }

    static func takeSweepLock(_ transaction: Transaction) async throws -> Bool {
        let rows = try await transaction.query(
            "SELECT pg_try_advisory_xact_lock(\(Self.sweepLock))")
        return try rows.first?.get(0, as: Bool.self) ?? false
    }
}

extension Change {
    /// One batch, with an audit event.
    fileprivate func removeDecisions(past end: Timestamp) async throws -> Int {
        let found = try await query(
            "SELECT decisions_remove(\(tenant), \(end), \(Database.sweepBatch))")
        let count = try found.only { row throws(PostgresError) in try row.get(0, as: Int.self) }
        if count > 0 {
            var changes = AuditChanges()
            changes.add("removed", .null, .int(count))
            try await audit(.decisionsExpired, AuditTarget("tenant", tenant, "decisions"), changes)
        }
        return count
    }
}
