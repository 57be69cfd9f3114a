import Domain
import JSON
import Postgres
import Text

/// The error that is thrown if the job's state does not permit the requested action.
package struct WrongJobState: Error, Sendable {
    var detail: String
}

/// What a caller can do to a job. The job's row must be locked.
extension Change {
    package func pauseJob(_ job: JobRow) async throws -> JobRow {
        guard job.status == .queued || job.status == .running else {
            throw WrongJobState(detail: "The job is \(job.status.rawValue), so it cannot pause.")
        }
        return try await pauseJob(job, .requested)
    }

    func pauseJob(_ job: JobRow, _ reason: JobPause) async throws -> JobRow {
        try await set(
            job, .paused, .jobPaused,
            "due_at = NULL, reason = \(reason.rawValue)")
    }

    /// Resumes a paused job, which from now on acts in the name of `maker`.
    package func resumeJob(_ job: JobRow, by maker: JobMaker) async throws -> JobRow {
        guard job.status == .paused else {
            throw WrongJobState(detail: "The job is \(job.status.rawValue), not paused.")
        }
        return try await queue(job, .jobResumed, "actor_type = \(maker.type)", by: maker)
    }

    /// Cancels a job. The rows that are done keep their effects, which can be undone later.
    package func cancelJob(_ job: JobRow) async throws -> JobRow {
        guard job.status.isLive else {
            throw WrongJobState(detail: "The job is \(job.status.rawValue) already.")
        }
        guard !job.isUndoing else {
            throw WrongJobState(
                detail: "The job is being undone. An undo can be paused, but not cancelled.")
        }
        return try await end(job, .cancelled)
    }

    /// Starts to undo the job's effects in the name of `maker`, row by row, from the last row
    /// backwards.
    package func undoJob(_ job: JobRow, by maker: JobMaker) async throws -> JobRow {
        guard [.done, .cancelled, .failed].contains(job.status) else {
            let detail =
                switch job.status {
                case .undone: "The job is undone already."
                case .paused where job.isUndoing: "The undo of the job is paused; resume it."
                case _ where job.isUndoing: "The job is being undone already."
                default: "The job is \(job.status.rawValue): cancel it first."
                }
            throw WrongJobState(detail: detail)
        }
        guard let until = job.undoUntil else {
            throw WrongJobState(detail: "There is nothing that can be undone.")
        }
        guard now < until else {
            throw WrongJobState(detail: "A job can be undone for 30 days after its end.")
        }
        return try await queue(
            job, .jobUndoBegun,
            """
            is_undoing = true, position = \(Int.max), finished_at = NULL, kept_until = NULL,
            worked_us = 0, actor_type = \(maker.type)
            """, by: maker)
    }

    private func queue(
        _ job: JobRow, _ action: AuditAction, _ more: SQL, by maker: JobMaker
    ) async throws -> JobRow {
        try await set(
            job, .queued, action,
            """
            due_at = \(now), reason = NULL, attempts = 0, actor_id = \(maker.id),
            actor_name = \(maker.name), actor_home = \(maker.home), \(more)
            """)
    }

    /// Ends the job with a status. Deletes the input of its rows at once. The results are kept
    /// until they can no longer be undone.
    func end(_ job: JobRow, _ status: JobRow.Status, reason: String? = nil) async throws -> JobRow {
        try await query(
            """
            UPDATE job_rows SET input = NULL, email_key = NULL
            WHERE tenant_id = \(tenant) AND job_id = \(job.id)
                AND (input IS NOT NULL OR email_key IS NOT NULL)
            """)
        let until = now.adding(seconds: JobRow.keptSeconds)
        let isUndoable = !job.isDryRun && status != .undone
        return try await set(
            job, status, Self.audited(status),
            """
            due_at = NULL, reason = \(reason), state = NULL, is_undoing = false,
            finished_at = \(now), kept_until = \(until),
            undo_until = CASE WHEN \(isUndoable) AND EXISTS (SELECT 1 FROM job_rows
                WHERE tenant_id = \(tenant) AND job_id = \(job.id) AND effect IS NOT NULL)
                THEN \(until)::timestamptz END
            """)
    }

    private static func audited(_ end: JobRow.Status) -> AuditAction {
        switch end {
        case .cancelled: .jobCancelled
        case .failed: .jobFailed
        case .undone: .jobUndone
        default: .jobFinished
        }
    }

    func set(
        _ job: JobRow, _ status: JobRow.Status, _ action: AuditAction, _ more: SQL
    ) async throws -> JobRow {
        let row = try await query(
            """
            UPDATE jobs SET status = \(status.rawValue), version = version + 1, \(more)
            WHERE tenant_id = \(tenant) AND id = \(job.id) RETURNING \(JobRow.columns)
            """
        ).only(JobRow.init)
        var changes = AuditChanges()
        changes.add("status", job.status, status)
        changes.add("reason", job.reason, row.reason)
        try await audit(action, job.target, changes)
        return row
    }
}

/// Why a job is paused.
enum JobPause: String, Sendable {
    /// A caller paused the job.
    case requested
    /// The tenant is suspended. The job is resumed automatically when the tenant is active again.
    case tenantSuspended = "tenant_suspended"
    /// The principal in whose name the job acts no longer has the necessary rights.
    case rightsLost = "rights_lost"
}
