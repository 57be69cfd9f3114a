import Domain
import Postgres
import Text

/// A job that is due to run.
package struct DueJob: Sendable {
    var tenant: UUID
    package var id: UUID
    var isTenantActive: Bool
}

/// The leases of jobs. The runner of a job has a lease, which each of its batches renews.
extension Database {
    /// The length of a lease in seconds. After a crash, another runner takes the job when the lease
    /// is over.
    package static let jobLease: Int64 = 30
    static let dueJobs = 64

    /// Returns the due jobs, at most one for each tenant, the longest waiting first. If a tenant
    /// has a running job, no other job of the tenant is due, and the running job is due only when
    /// its lease is over.
    package func dueJobs() async throws(PostgresError) -> [DueJob] {
        let now = clock()
        return try await platform.read(
            """
            SELECT tenant_id, id, is_active FROM (
                SELECT DISTINCT ON (j.tenant_id) j.tenant_id, j.id, j.due_at,
                    t.status = 'active' AS is_active
                FROM jobs j JOIN tenants t ON t.id = j.tenant_id
                WHERE j.due_at <= \(now) AND (j.status = 'running' OR NOT EXISTS (
                    SELECT 1 FROM jobs r WHERE r.tenant_id = j.tenant_id AND r.status = 'running'))
                ORDER BY j.tenant_id, j.due_at, j.id) AS first
            ORDER BY due_at, id LIMIT \(Self.dueJobs)
            """
        ).all { row throws(PostgresError) in
            DueJob(
                tenant: try row.get(0), id: try row.get(1), isTenantActive: try row.get(2))
        }
    }

    /// Resumes the jobs that were paused because their tenant was suspended, if the tenant is
    /// active again.
    package func releaseJobs() async throws {
        let rows = try await platform.read(
            """
            SELECT j.tenant_id, j.id FROM jobs j JOIN tenants t ON t.id = j.tenant_id
            WHERE j.status = 'paused' AND j.reason = 'tenant_suspended' AND t.status = 'active'
            LIMIT \(Self.dueJobs)
            """)
        for row in rows {
            let (tenant, id): (UUID, UUID) = (try row.get(0), try row.get(1))
            try await scope(tenant).change(by: .system) { change in
                let job = try await change.lockJob(id)
                // Another runner has resumed the job already, or someone has paused it in the
                // meantime.
                guard job.status == .paused, job.reason == JobPause.tenantSuspended.rawValue else {
                    return
                }
                _ = try await change.resumeJob(job, by: job.maker)
            }
        }
    }

    /// Takes a lease on the job and returns the job; `nil` if another runner took it first. A job
    /// of a suspended tenant is paused instead. If the job's last runner has stopped without a
    /// result, for example in a crash, that counts as a failed batch.
    package func takeJob(_ due: DueJob) async throws -> JobRow? {
        guard due.isTenantActive else {
            try await pauseJobOfSuspended(due)
            return nil
        }
        let now = clock()
        do {
            return try await scope(due.tenant).write(
                """
                UPDATE jobs SET status = 'running', fence = fence + 1, version = version + 1,
                    attempts = attempts + CASE WHEN status = 'running' THEN 1 ELSE 0 END,
                    started_at = coalesce(started_at, \(now)),
                    due_at = \(now.adding(seconds: Self.jobLease))
                WHERE tenant_id = \(due.tenant) AND id = (
                        SELECT id FROM jobs WHERE tenant_id = \(due.tenant) AND id = \(due.id)
                            AND status IN ('queued', 'running') AND due_at <= \(now)
                        FOR UPDATE SKIP LOCKED)
                RETURNING \(JobRow.columns)
                """
            ).first.map(JobRow.init)
        } catch let error as PostgresError where error.isUniqueViolation {
            // The lease is not taken, because another job of the tenant was started at the same
            // moment.
            return nil
        }
    }

    private func pauseJobOfSuspended(_ due: DueJob) async throws {
        try await scope(due.tenant).change(by: .system) { change in
            let job = try await change.lockJob(due.id)
            guard [.queued, .running].contains(job.status) else { return }
            _ = try await change.pauseJob(job, .tenantSuspended)
        }
    }

    /// Gives up the lease, so that any runner may take the job after `seconds`. If `failed` is
    /// true, a failed batch is counted.
    package func yieldJob(
        _ job: JobRow, after seconds: Int64 = 0, failed: Bool = false
    ) async throws {
        _ = try await scope(job.tenant).write(
            """
            UPDATE jobs SET due_at = \(clock().adding(seconds: seconds)),
                attempts = attempts + \(failed ? 1 : 0), version = version + 1
            WHERE tenant_id = \(job.tenant) AND id = \(job.id) AND fence = \(job.fence)
                AND status = 'running'
            """)
    }
}
