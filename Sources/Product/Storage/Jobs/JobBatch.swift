import Domain
import JSON
import Postgres
import Text

extension Database {
    /// This runner lost the job to another one, or the job was paused or ended.
    fileprivate struct LostJob: Error {}

    /// What became of one batch.
    fileprivate enum Batch {
        case paused(JobPause)
        case done(JobStep)
    }

    /// Runs one batch. Its results and the job's counts are written in the same transaction, which
    /// commits nothing if the runner no longer has the job. `rights` are what the maker must still
    /// have, `worked` the microseconds since the previous batch, and `attempts` the failures that
    /// stay counted after the batch. `ended` is called in the transaction that ends the job.
    /// Returns nil if the job is no longer this runner's.
    package func runBatch(
        of lease: JobRow, limit: Int, worked: Int, attempts: Int = 0, rights: (JobRow) -> [Right],
        body: (JobWork) async throws -> JobStep,
        ended: (Change, JobRow) async throws -> Void
    ) async throws -> JobRow? {
        let (scope, actor) = (scope(lease.tenant), lease.maker.actor)
        func batch(_ change: Change, _ job: JobRow) async throws -> Batch {
            try await change.batch(of: job, limit: limit, rights: rights(job), body)
        }
        do {
            let tried =
                try await lease.isDryRun
                ? scope.change(by: actor, dryRun: true) { change in
                    try await batch(change, change.leasedJob(lease))
                } : nil
            return try await scope.change(by: actor) { change in
                let job = try await change.leasedJob(lease)
                let result = if let tried { tried } else { try await batch(change, job) }
                switch result {
                case .paused(let reason): return try await change.bySystem.pauseJob(job, reason)
                case .done(let step):
                    return try await change.record(
                        step, of: job, worked: (worked, attempts), ended: ended)
                }
            }
        } catch is LostJob {
            return nil
        }
    }

    /// Ends a job that cannot go on. Returns nil if it is no longer this runner's.
    package func failJob(
        _ lease: JobRow, reason: String, ended: (Change, JobRow) async throws -> Void
    ) async throws -> JobRow? {
        do {
            return try await scope(lease.tenant).change(by: .system) { change in
                let row = try await change.end(
                    try await change.leasedJob(lease), .failed, reason: reason)
                try await ended(change, row)
                return row
            }
        } catch is LostJob {
            return nil
        }
    }
}

extension Change {
    /// The same transaction, acting as the system, for what no caller asked for.
    fileprivate var bySystem: Change {
        var change = self
        change.actor = .system
        return change
    }

    fileprivate func batch(
        of job: JobRow, limit: Int, rights: [Right], _ body: (JobWork) async throws -> JobStep
    ) async throws -> Database.Batch {
        guard try await isTenantActive() else { return .paused(.tenantSuspended) }
        guard let who = try await principal(of: job.maker),
            rights.allSatisfy({ mayBegin(who, $0) })
        else { return .paused(.rightsLost) }
        return .done(
            try await body(JobWork(change: self, job: job, principal: who, limit: limit)))
    }

    /// A right over one's own objects is enough to begin, since each row is checked again.
    fileprivate func mayBegin(_ who: Principal, _ right: Right) -> Bool {
        Permissions.permits(
            who, right, in: tenant, target: PermissionTarget(ownerID: who.selfID)) == .allowed
    }

    /// The job, locked: until the transaction ends no one else takes, pauses or ends it.
    fileprivate func leasedJob(_ lease: JobRow) async throws -> JobRow {
        let rows = try await query(
            """
            SELECT \(JobRow.columns) FROM jobs WHERE tenant_id = \(tenant) AND id = \(lease.id)
                AND fence = \(lease.fence) AND status = 'running' FOR UPDATE
            """)
        guard let row = rows.first else { throw Database.LostJob() }
        return try JobRow(row)
    }

    /// Whether the tenant is active. Its status cannot change until the transaction ends.
    fileprivate func isTenantActive() async throws -> Bool {
        let rows = try await query("SELECT status FROM tenants WHERE id = \(tenant) FOR SHARE")
        return try rows.first?.get(0, as: Tenant.Status.self) == .active
    }

    fileprivate func record(
        _ step: JobStep, of job: JobRow, worked: (microseconds: Int, attempts: Int),
        ended: (Change, JobRow) async throws -> Void
    ) async throws -> JobRow {
        try await write(step.results, of: job)
        let numbers = step.results.map(\.row)
        let position = (job.isUndoing ? numbers.min() : numbers.max()) ?? job.position
        let row = try await query(
            """
            UPDATE jobs SET done = done + \(step.count(.done, .unchanged)),
                failed = failed + \(step.count(.failed)), undone = undone + \(step.count(.undone)),
                kept = kept + \(step.count(.kept)), total = coalesce(\(step.total), total),
                state = coalesce(\(step.state.map { JSONB($0) }), state), position = \(position),
                due_at = \(now.adding(seconds: Database.jobLease)), attempts = \(worked.attempts),
                worked_us = worked_us + \(worked.microseconds), version = version + 1
            WHERE tenant_id = \(tenant) AND id = \(job.id) RETURNING \(JobRow.columns)
            """
        ).only(JobRow.init)
        guard step.isLast else { return row }
        let last = try await end(row, job.isUndoing ? .undone : .done)
        try await ended(self, last)
        return last
    }

    /// Writes each row once. A row that was already handled is an internal fault, and rolls the
    /// batch back.
    private func write(_ results: [JobResult], of job: JobRow) async throws {
        guard !results.isEmpty else { return }
        let effects = results.map { result in
            result.effect.map { String(decoding: $0.encoded(), as: UTF8.self) } ?? ""
        }
        let before = job.isUndoing ? "done" : "waiting"
        // A dry run claims no external ids.
        let externalIDs = results.map { job.isDryRun ? "" : $0.externalID ?? "" }
        let written = try await query(
            """
            INSERT INTO job_rows AS o (tenant_id, job_id, row, status, code, detail, target_type,
                target_id, effect, external_id)
            SELECT anchor.id, \(job.id), r.row, r.status, nullif(r.code, ''),
                nullif(r.detail, ''), nullif(r.type, ''), nullif(r.target, \(UUID.platform)),
                nullif(r.effect, '')::jsonb, nullif(r.external_id, '')
            FROM \(SQL.anchor(of: tenant)), unnest(\(results.map { Int64($0.row) })::bigint[],
                \(results.map(\.status.rawValue))::text[], \(results.map { $0.code ?? "" })::text[],
                \(results.map { $0.detail ?? "" })::text[],
                \(results.map { $0.targetType ?? "" })::text[],
                \(results.map { $0.targetID ?? .platform })::uuid[], \(effects)::text[],
                \(externalIDs)::text[])
                AS r (row, status, code, detail, type, target, effect, external_id)
            WHERE anchor.id = \(tenant)
            ON CONFLICT (tenant_id, job_id, row) DO UPDATE SET status = excluded.status,
                code = excluded.code, detail = excluded.detail,
                target_type = coalesce(excluded.target_type, o.target_type),
                target_id = coalesce(excluded.target_id, o.target_id), effect = excluded.effect,
                external_id = excluded.external_id, input = NULL, email_key = NULL
            WHERE o.tenant_id = \(tenant) AND o.status = \(before)
            """)
        guard written.affected == results.count else {
            throw PostgresError(.decoding, "a row of a job was handled twice")
        }
    }
}

/// What the job's kind needs to run a batch.
package struct JobWork: Sendable {
    package let change: Change
    package let job: JobRow
    /// The maker, or the caller who resumed the job, with their current rights.
    package let principal: Principal
    /// The most rows of the batch.
    package let limit: Int

    /// Returns the result of one row. If `body` throws a refusal, the row becomes a failed one, and
    /// its writes are rolled back. A database error is thrown on.
    package func row(
        _ number: Int, _ body: () async throws -> JobResult
    ) async throws -> JobResult {
        try await change.result(ofRow: number, body)
    }

    /// The next waiting rows, in order.
    package func waiting() async throws -> [WaitingRow] {
        try await change.query(
            """
            SELECT row, target_id, input::text FROM job_rows WHERE tenant_id = \(job.tenant)
                AND job_id = \(job.id) AND row > \(job.position) AND status = 'waiting'
            ORDER BY row LIMIT \(limit)
            """
        ).all(WaitingRow.init)
    }

    /// The next rows to undo, the last row first.
    package func undoable() async throws -> [JobResult] {
        try await change.query(
            """
            SELECT \(JobResult.columns) FROM job_rows WHERE tenant_id = \(job.tenant)
                AND job_id = \(job.id) AND row < \(job.position) AND status = 'done'
            ORDER BY row DESC LIMIT \(limit)
            """
        ).all(JobResult.init)
    }
}

/// What one batch of a job did.
package struct JobStep: Sendable {
    package var results: [JobResult]
    /// `nil` leaves the kind's state unchanged.
    package var state: JSONValue?
    /// `nil` leaves the total unchanged.
    package var total: Int?
    /// Whether no rows are left.
    package var isLast: Bool

    package init(
        _ results: [JobResult], state: JSONValue? = nil, total: Int? = nil, isLast: Bool
    ) {
        self.results = results
        self.state = state
        self.total = total
        self.isLast = isLast
    }

    func count(_ statuses: JobResult.Status...) -> Int {
        results.count { statuses.contains($0.status) }
    }
}

/// The result of one row of a job.
package struct JobResult: Sendable {
    package enum Status: String, Sendable, CaseIterable {
        case waiting, done, unchanged, failed, undone, kept
    }

    package var row: Int
    package var status: Status
    /// A stable code like that of a problem; `nil` unless the row failed or was kept.
    package var code: String?
    /// A text for people; it names no person.
    package var detail: String?
    /// The type of the object: `user`, `invite` or `api_key`.
    package var targetType: String?
    package var targetID: UUID?
    /// The user who survived a merge; for a stored row, the current one.
    package var conflictingID: UUID?
    /// What an undo needs; `nil` if there is nothing to undo.
    package var effect: JSONValue?
    /// For an import's row of a known user: an external id that the row gives and that another user
    /// has.
    var externalID: String?

    package init(
        row: Int, _ status: Status, code: String? = nil, detail: String? = nil,
        targetType: String? = nil, targetID: UUID? = nil, effect: JSONValue? = nil
    ) {
        self.row = row
        self.status = status
        self.code = code
        self.detail = detail
        self.targetType = targetType
        self.targetID = targetID
        self.effect = effect
    }

    static let columns: SQL = "row, status, code, detail, target_type, target_id, effect::text"

    init(_ found: Row) throws(PostgresError) {
        guard let status = Status(rawValue: try found.get(1)) else {
            throw PostgresError(.decoding, "status")
        }
        self.init(
            row: try found.get(0), status, code: try found.get(2), detail: try found.get(3),
            targetType: try found.get(4), targetID: try found.get(5))
        if case let effect = try found.json(6), effect != .null { self.effect = effect }
    }

    /// `columns` and, for a row that failed because its user was merged, the surviving user.
    static func reported(in tenant: UUID) -> SQL {
        """
        \(columns), CASE WHEN target_type = 'user' AND code = 'conflict' THEN
            (SELECT m.user_id FROM merged_users m
                WHERE m.tenant_id = \(tenant) AND m.id = target_id) END
        """
    }

    /// Decodes a row of `reported`.
    static func ofReport(_ found: Row) throws(PostgresError) -> JobResult {
        var result = try JobResult(found)
        result.conflictingID = try found.get(7)
        return result
    }
}

/// A waiting row, with its input.
package struct WaitingRow: Sendable {
    package var row: Int
    /// The object of the row, if it already exists.
    package var targetID: UUID?
    package var input: JSONValue

    init(_ found: Row) throws(PostgresError) {
        (row, targetID, input) = (try found.get(0), try found.get(1), try found.json(2))
    }
}

extension Change {
    /// Runs one row of many: if `body` throws, its writes are rolled back and the transaction goes
    /// on.
    package func savepoint<Result>(_ body: () async throws -> Result) async throws -> Result {
        queryLater("SAVEPOINT row")
        do {
            let result = try await body()
            queryLater("RELEASE SAVEPOINT row")
            return result
        } catch {
            try await query("ROLLBACK TO SAVEPOINT row")
            throw error
        }
    }
}
