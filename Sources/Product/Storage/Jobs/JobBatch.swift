import Domain
import JSON
import Postgres
import Text

extension Database {
    /// The runner has lost the job to another one, or it was paused or ended.
    fileprivate struct LostJob: Error {}
    /// Thrown to roll a dry run's batch back.
    private struct DryRun: Error { var step: JobStep }

    /// One batch, its results and the job's counts in one transaction, which commits nothing if the
    /// runner no longer has the job. `rights`: what the maker must still have. `worked`: microseconds since the batch before;
    /// `attempts`: failures that the batch leaves counted. `ended` is called in
    /// the transaction that ends the job. Nil: the job is no longer this runner's.
    package func runBatch(
        of lease: JobRow, limit: Int, worked: Int, attempts: Int = 0, rights: (JobRow) -> [Right],
        body: (JobWork) async throws -> JobStep,
        ended: (Change, JobRow) async throws -> Void
    ) async throws -> JobRow? {
        do {
            return try await scope(lease.tenant).change(by: lease.maker.actor) { change in
                let job = try await change.leasedJob(lease)
                guard try await change.isTenantActive() else {
                    return try await change.bySystem.pauseJob(job, .tenantSuspended)
                }
                guard let who = try await change.principal(of: job.maker),
                    rights(job).allSatisfy({ change.mayBegin(who, $0) })
                else { return try await change.bySystem.pauseJob(job, .rightsLost) }
                let step = try await body(
                    JobWork(change: change, job: job, principal: who, limit: limit))
                if job.isDryRun { throw DryRun(step: step) }
                return try await change.record(
                    step, of: job, worked: (worked, attempts), ended: ended)
            }
        } catch is LostJob {
            return nil
        } catch let end as DryRun {
            return try await record(end.step, of: lease, worked: (worked, attempts), ended: ended)
        }
    }

    private func record(
        _ step: JobStep, of lease: JobRow, worked: (microseconds: Int, attempts: Int),
        ended: (Change, JobRow) async throws -> Void
    ) async throws -> JobRow? {
        do {
            return try await scope(lease.tenant).change(by: lease.maker.actor) { change in
                let job = try await change.leasedJob(lease)
                return try await change.record(step, of: job, worked: worked, ended: ended)
            }
        } catch is LostJob {
            return nil
        }
    }

    /// Ends a job that cannot go on; nil if it is no longer this runner's.
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
    /// The same transaction, for what no caller asked for.
    fileprivate var bySystem: Change {
        var change = self
        change.actor = .system
        return change
    }

    /// A right over own objects is enough to begin: each row asks again.
    fileprivate func mayBegin(_ who: Principal, _ right: Right) -> Bool {
        Permissions.permits(
            who, right, in: tenant, target: PermissionTarget(ownerID: who.selfID)) == .allowed
    }

    /// The job, locked: until the transaction ends it is not taken, paused or ended.
    fileprivate func leasedJob(_ lease: JobRow) async throws -> JobRow {
        let rows = try await query(
            """
            SELECT \(JobRow.columns) FROM jobs WHERE tenant_id = \(tenant) AND id = \(lease.id)
                AND fence = \(lease.fence) AND status = 'running' FOR UPDATE
            """)
        guard let row = rows.first else { throw Database.LostJob() }
        return try JobRow(row)
    }

    /// Whether the tenant is active; it stays so until the transaction ends.
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

    /// Each row once: one that was handled already is a fault, and rolls the batch back.
    private func write(_ results: [JobResult], of job: JobRow) async throws {
        guard !results.isEmpty else { return }
        let effects = results.map { result in
            result.effect.map { String(decoding: $0.encoded(), as: UTF8.self) } ?? ""
        }
        let before = job.isUndoing ? "done" : "waiting"
        // A dry run is no word of anybody's.
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
