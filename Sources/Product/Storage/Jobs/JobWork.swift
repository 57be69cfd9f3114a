import Domain
import Postgres
import Text

/// What a batch needs of the job's kind.
package struct JobWork: Sendable {
    package let change: Change
    package let job: JobRow
    /// The maker, or the caller who resumed it, with the rights of this moment.
    package let principal: Principal
    /// Rows that the batch may have.
    package let limit: Int

    /// The next rows that wait, in their order.
    package func waiting() async throws -> [WaitingRow] {
        try await change.query(
            """
            SELECT row, target_id, input::text FROM job_rows WHERE tenant_id = \(job.tenant)
                AND job_id = \(job.id) AND row > \(job.position) AND status = 'waiting'
            ORDER BY row LIMIT \(limit)
            """
        ).all(WaitingRow.init)
    }

    /// The next rows that an undo takes back, the last first.
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
