import Domain
import Postgres
import Text

/// A job that is due to run.
package struct DueJob: Sendable {
    package var tenant: UUID
    package var id: UUID
    var isTenantActive: Bool
}

/// Which runner has a job: the runner holds a lease, which each of its batches renews.
extension Database {
    /// Seconds of a lease; after a crash another runner takes the job once the lease is over.
    package static let jobLease: Int64 = 30
    static let dueJobs = 64

    /// One job for each tenant that has no other job running, the longest waiting first.
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

    /// Queues the jobs that were paused with their tenant, if the tenant is active again.
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
                // Another runner was first, or the job has been paused by hand since.
                guard job.status == .paused, job.reason == JobPause.tenantSuspended.rawValue else {
                    return
                }
                _ = try await change.resumeJob(job, by: job.maker)
            }
        }
    }

    /// Takes the job and returns it, if no other runner was first; a job of a suspended tenant is
    /// paused instead. A job that was left running, for example by a process that ended, counts as
    /// a failed batch.
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
            // Another job of the tenant began at the same moment.
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

    /// Leaves the job to any runner, `seconds` from now; `failed` counts a failed batch.
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
