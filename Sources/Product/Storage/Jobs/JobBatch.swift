import Domain
import JSON
import Postgres
import Text

extension Database {
    /// Thrown if this runner no longer has the job: another runner took it, or it was paused or
    /// ended.
    fileprivate struct LostJob: Error {}

    /// The result of one batch.
    fileprivate enum Batch {
        case paused(JobPause)
        case done(JobStep)
    }

    /// Runs one batch, and writes its results and the job's counts in the same transaction. Commits
    /// nothing and returns nil if this runner no longer has the job.
    ///
    /// - `rights` returns the rights that the job's maker must still have.
    /// - `worked` is the number of microseconds since the previous batch.
    /// - `attempts` is the number of failures that stay counted after the batch.
    /// - `ended` is called in the transaction that ends the job.
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

    /// Ends a job as failed, with a reason. Returns nil if this runner no longer has the job.
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
    /// The same change with the system as its actor, for actions that no caller requested.
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

    /// Whether the job may run for this principal. A right that covers only the principal's own
    /// objects is enough, since the rights are checked again for each row.
    fileprivate func mayBegin(_ who: Principal, _ right: Right) -> Bool {
        Permissions.permits(
            who, right, in: tenant, target: PermissionTarget(ownerID: who.selfID)) == .allowed
    }

    /// Returns the job, locked, so that no one else takes, pauses or ends it before the transaction
    /// ends. Throws `LostJob` if this runner no longer has the job.
    fileprivate func leasedJob(_ lease: JobRow) async throws -> JobRow {
        let rows = try await query(
            """
            SELECT \(JobRow.columns) FROM jobs WHERE tenant_id = \(tenant) AND id = \(lease.id)
                AND fence = \(lease.fence) AND status = 'running' FOR UPDATE
            """)
        guard let row = rows.first else { throw Database.LostJob() }
        return try JobRow(row)
    }

    /// Whether the tenant is active. This cannot change until the transaction ends.
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

    /// Writes the results of rows. If a row already has a result, that is an internal fault, and
    /// the batch is rolled back.
    private func write(_ results: [JobResult], of job: JobRow) async throws {
        guard !results.isEmpty else { return }
        let effects = results.map { result in
            result.effect.map { String(decoding: $0.encoded(), as: UTF8.self) } ?? ""
        }
        let before = job.isUndoing ? "done" : "waiting"
        // A dry run records no external ids.
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

/// One batch of a job, as given to the code of the job's kind.
package struct JobWork: Sendable {
    package let change: Change
    package let job: JobRow
    /// The principal in whose name the job acts, with its current rights: the job's creator, or the
    /// principal that last resumed the job or began its undo.
    package let principal: Principal
    /// The maximum number of rows of this batch.
    package let limit: Int

    /// Returns the result of one row. If `body` throws a refusal, its writes are rolled back and a
    /// failed result is returned. Other errors are rethrown.
    package func row(
        _ number: Int, _ body: () async throws -> JobResult
    ) async throws -> JobResult {
        try await change.result(ofRow: number, body)
    }

    /// Returns the next waiting rows, in order.
    package func waiting() async throws -> [WaitingRow] {
        try await change.query(
            """
            SELECT row, target_id, input::text FROM job_rows WHERE tenant_id = \(job.tenant)
                AND job_id = \(job.id) AND row > \(job.position) AND status = 'waiting'
            ORDER BY row LIMIT \(limit)
            """
        ).all(WaitingRow.init)
    }

    /// Returns the next rows to undo, from the last row backwards.
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

/// The outcome of one batch of a job.
package struct JobStep: Sendable {
    var results: [JobResult]
    /// The new progress of the job's kind; `nil` leaves it unchanged.
    var state: JSONValue?
    /// The new total number of rows; `nil` leaves it unchanged.
    var total: Int?
    /// Whether no rows are left after this batch.
    var isLast: Bool

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
    /// A stable code like those of `/v1`; `nil` unless the row failed, or an undo left it unchanged
    /// (`kept`).
    package var code: String?
    /// An explanation for people; it names no person.
    package var detail: String?
    /// The type of the object: `user`, `invite` or `api_key`.
    package var targetType: String?
    package var targetID: UUID?
    /// The id of the object in conflict, if the row failed because of a conflict. It is not stored.
    /// When a stored result is read, only one such id is known: that of the surviving user, if the
    /// row's user was merged.
    package var conflictingID: UUID?
    /// What the undo of this row needs; `nil` if there is nothing to undo.
    package var effect: JSONValue?
    /// In an import: the row's external id, if the row is about an existing user and another user
    /// or row has that id.
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

    /// The SQL of `columns`, followed by the id of the surviving user if the row failed because its
    /// user was merged.
    static func reported(in tenant: UUID) -> SQL {
        """
        \(columns), CASE WHEN target_type = 'user' AND code = 'conflict' THEN
            (SELECT m.user_id FROM merged_users m
                WHERE m.tenant_id = \(tenant) AND m.id = target_id) END
        """
    }

    /// Decodes a row with the columns of `reported`.
    static func ofReport(_ found: Row) throws(PostgresError) -> JobResult {
        var result = try JobResult(found)
        result.conflictingID = try found.get(7)
        return result
    }
}

/// A waiting row, with its input.
package struct WaitingRow: Sendable {
    package var row: Int
    /// The id of the row's object; `nil` if it does not exist yet.
    package var targetID: UUID?
    package var input: JSONValue

    init(_ found: Row) throws(PostgresError) {
        (row, targetID, input) = (try found.get(0), try found.get(1), try found.json(2))
    }
}

extension Change {
    /// Runs a part of the transaction, such as one row of many. If `body` throws, only its writes
    /// are rolled back, and the transaction can go on.
    func savepoint<Result>(_ body: () async throws -> Result) async throws -> Result {
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
