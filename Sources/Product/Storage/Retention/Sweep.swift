import Domain
import JSON
import Postgres
import Text

/// The sweep, which deletes expired rows in batches. Only one replica sweeps at a time.
extension Database {
    /// The maximum number of rows that one transaction deletes, so that no lock is held for long.
    static let sweepBatch = 1000
    /// The maximum number of batches of one table in one round. Further rows are left to the next
    /// round.
    static let sweepBatches = 50
    /// The key of the advisory lock that each batch takes. A replica that does not get the lock
    /// stops its round, since another replica is sweeping.
    static let sweepLock: Int64 = 0x6761_7465_0001

    /// Runs one round over every table and calls `removed` for each batch. Returns false if another
    /// replica is sweeping. A row or a table that fails is skipped until the next round, and
    /// everything else is still swept. If anything failed, throws the first `PassedOver` at the
    /// end.
    package func sweep(
        removed: @Sendable (_ table: String, _ rows: Int) -> Void
    ) async throws -> Bool {
        var failure: (any Error)?
        for rows in EndedRows.all {
            var passed = PassedOver(rows.table)
            do {
                guard try await sweep(rows, &passed, removed) else { return false }
            } catch {
                if (error as? PostgresError)?.kind == .unavailable { throw error }
                try passed.add(nil, of: nil, error)
            }
            if passed.count > 0 { failure = failure ?? passed }
        }
        if let failure { throw failure }
        return true
    }

    /// The names of the tables that are swept, for the labels of metrics.
    package static var sweptTables: [String] { EndedRows.all.map(\.table) }

    private func sweep(
        _ rows: EndedRows, _ passed: inout PassedOver, _ removed: @Sendable (String, Int) -> Void
    ) async throws -> Bool {
        let end = clock().adding(seconds: -rows.seconds(options.retention))
        for _ in 0..<Self.sweepBatches {
            var count = 0
            switch rows.kind {
            case .system:
                guard let done = try await removeBatch(rows, past: end) else { return false }
                count = done
            case .tenant, .decisions:
                for tenant in try await tenants(with: rows, past: end, but: passed) {
                    do {
                        guard let done = try await removeBatch(rows, past: end, of: tenant) else {
                            return false
                        }
                        count += done
                    } catch {
                        try passed.add(tenant, of: tenant, error)
                    }
                }
            case .users:
                guard let done = try await purgeUsers(deletedBy: end, &passed) else { return false }
                count = done
            case .jobs:
                guard let done = try await removeJobs(keptUntil: end, &passed) else { return false }
                count = done
            case .imports:
                try await cancelPausedImports(after: options.retention.pausedImports, &passed)
                count = try await removeImports(&passed)
            case .tenants:
                guard let done = try await purgeTenants(deletedBy: end, &passed) else {
                    return false
                }
                count = done
            }
            if count > 0 { removed(rows.table, count) }
            // A batch in which rows were skipped counts as full, so that the rows after them are
            // swept too.
            let isLast = count + passed.takeNew() < rows.batch
            if isLast { break }
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

    /// The tenants that own the earliest expired rows. Considers at most one batch of rows.
    private func tenants(
        with rows: EndedRows, past end: Timestamp, but passed: PassedOver
    ) async throws -> [UUID] {
        let found = try await platform.read(
            """
            SELECT DISTINCT tenant_id FROM (
                SELECT tenant_id FROM \(raw: rows.table) WHERE \(raw: rows.column) <= \(end)
                    AND \(raw: rows.column) > '-infinity'
                    AND NOT tenant_id = ANY (\(passed.things))
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
    /// Removes one batch of decisions, and audits how many were removed.
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

/// The error at the end of a round of the sweep. It says what the round could not remove from one
/// table and therefore skipped.
struct PassedOver: Error, CustomStringConvertible {
    /// The number of failures after which a tenant is left to the next round, so that thousands of
    /// failures in one tenant do not take up the time of all others.
    private static let ofTenant = 3

    let table: String
    /// The ids of the users or jobs that could not be removed; for tables that are swept tenant by
    /// tenant, the ids of the tenants.
    private(set) var things: [UUID] = []
    private(set) var count = 0
    private var tenants: [UUID: Int] = [:]
    private var first = ""
    private var new = 0

    init(_ table: String) { self.table = table }

    /// Records the failure of one thing or, if `thing` is nil, of the whole table. Throws the error
    /// instead if the database is unavailable, since then everything else would fail too.
    mutating func add(_ thing: UUID?, of tenant: UUID?, _ error: any Error) throws {
        if (error as? PostgresError)?.kind == .unavailable { throw error }
        if count == 0 {
            let place = tenant.map { " of tenant \($0)" } ?? ""
            first =
                (thing == nil || thing == tenant ? "" : " \(thing?.description ?? "")")
                + "\(place): \(error)"
        }
        count += 1
        new += 1
        if let thing { things.append(thing) }
        if let tenant { tenants[tenant, default: 0] += 1 }
    }

    /// Whether the tenant has failed so often that it is left to the next round.
    func leaves(_ tenant: UUID) -> Bool { tenants[tenant, default: 0] >= Self.ofTenant }

    /// A condition for the rows that have not failed and whose tenants are not left to the next
    /// round.
    func others(_ id: SQL, of tenant: SQL = "tenant_id") -> SQL {
        let left = tenants.filter { $0.value >= Self.ofTenant }.map(\.key)
        return "NOT \(id) = ANY (\(things)) AND NOT \(tenant) = ANY (\(left))"
    }

    /// The size of a full batch if anything failed since the last call, otherwise 0. After a
    /// failure the round must go on, because the failed rows may have filled the batch.
    mutating func takeNew() -> Int {
        defer { new = 0 }
        return new > 0 ? Database.sweepBatch : 0
    }

    var description: String { "\(count) passed over in \(table), first\(first)" }
}

/// Purges tenants that can no longer be restored, and completes purges that a crash interrupted.
extension Database {
    /// A statement that selects the tenants to purge, the earliest deletions first.
    static func tenantsSQL(deletedBy end: Timestamp, but passed: PassedOver) -> SQL {
        """
        SELECT id FROM tenants WHERE status = 'deleted' AND deleted_at <= \(end)
            AND NOT id = ANY (\(passed.things))
        ORDER BY deleted_at LIMIT \(purgeBatch)
        """
    }

    /// Purges tenants that were deleted at or before `end`. Returns how many, or nil if another
    /// replica is sweeping. The rest of a large tenant is left to the next round.
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

/// Purges users who can no longer be restored.
extension Database {
    /// How many users, tenants or jobs are looked up at a time. Each user is purged in its own
    /// transaction, which takes the same locks as an operator's purge. After a crash the remaining
    /// users are left to the next round.
    static let purgeBatch = 100

    /// A statement that selects the users to purge in all tenants, the earliest deletions first,
    /// except those that were skipped.
    static func usersSQL(deletedBy end: Timestamp, but passed: PassedOver) -> SQL {
        """
        SELECT tenant_id, id FROM users WHERE status = 'deleted' AND deleted_at <= \(end)
            AND \(passed.others("id"))
        ORDER BY deleted_at LIMIT \(purgeBatch)
        """
    }

    /// Purges users who were deleted at or before `end`. Returns how many, or nil if another
    /// replica is sweeping.
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

    /// Purges one user. Returns false if the user was restored or purged in the meantime, nil if
    /// another replica is sweeping.
    private func purge(_ id: UUID, of tenant: UUID, deletedBy end: Timestamp) async throws -> Bool?
    {
        try await scope(tenant).change(by: .system) { change -> Bool? in
            guard try await Self.takeSweepLock(change.transaction) else { return nil }
            guard let row = try await change.lockUser(id, deletedBy: end) else { return false }
            try await change.purgeUser(row)
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

/// Removes jobs that can no longer be undone, together with their rows.
extension Database {
    /// Removes jobs whose `kept_until` is `end` or earlier. Returns how many, or nil if another
    /// replica is sweeping. The rest of a large job is left to the next round.
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
    /// Removes one batch of a job's rows. Returns true if nothing is left to do, because the job
    /// itself is removed, no longer exists, or must be kept for longer. Returns nil if another
    /// replica is sweeping.
    fileprivate func removeRows(ofJob id: UUID, keptUntil end: Timestamp) async throws -> Bool? {
        guard try await Database.takeSweepLock(transaction) else { return nil }
        // The job may be kept for longer by now, if its undo has begun.
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
