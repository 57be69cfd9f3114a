import Domain
import Storage
import Text

/// The behaviour of jobs of one kind. A job works batch by batch. The transaction of a batch also
/// stores the batch's results. A kind keeps nothing in memory between batches.
package protocol JobKind: Sendable {
    /// The name that is stored with each job, for example `users_actions`.
    var name: String { get }
    /// The number of rows in a batch; at most `JobLimits.batch` if each row has a savepoint.
    var batch: Int { get }
    /// The rights in the job's tenant that a caller needs to create, resume, pause, cancel or undo
    /// the job. If the job is being undone, these are the rights to undo it. They are checked again
    /// at each batch. The service itself has no rights, so it creates only jobs that need none,
    /// which are the jobs of an inactivity rule.
    func rights(_ job: JobRow) -> [Right]
    /// Processes one batch of rows, beginning after `work.job.position`. A refused row becomes a
    /// result. If an error is thrown, the batch is rolled back and tried again.
    func step(_ work: JobWork, _ application: Application) async throws -> JobStep
    /// Undoes one row. The result is `undone`, or `kept` if the object has changed since.
    func undo(_ row: JobResult, _ work: JobWork, _ application: Application) async throws
        -> JobResult
    /// Deletes what the job stored for its own use, such as staged rows. It runs in the transaction
    /// that ends the job, whatever the outcome.
    func ended(_ change: Change, _ job: JobRow) async throws
}

extension JobKind {
    package var batch: Int { JobLimits.batch }

    package func ended(_ change: Change, _ job: JobRow) async throws {}
}

extension JobWork {
    /// Undoes one batch of rows. A row without an effect is kept as it is.
    func undone(by kind: any JobKind, _ application: Application) async throws -> JobStep {
        let rows = try await undoable()
        var results: [JobResult] = []
        for row in rows {
            guard row.effect != nil else {
                results.append(
                    JobResult(
                        row: row.row, .kept, code: "no_undo",
                        detail: "This row's change cannot be undone."))
                continue
            }
            var result = try await self.row(row.row) { try await kind.undo(row, self, application) }
            // A row whose undo fails is kept as it is, with the reason.
            if result.status == .failed { result.status = .kept }
            results.append(result)
        }
        return JobStep(results, isLast: rows.count < limit)
    }
}

/// The kinds of jobs that the service knows.
package struct JobKinds: Sendable {
    private let kinds: [any JobKind]

    package init(_ kinds: [any JobKind]) { self.kinds = kinds }

    var names: [String] { kinds.map(\.name) }

    /// The kind with this name; `nil` if this version of the service does not know it.
    func named(_ name: String) -> (any JobKind)? {
        kinds.first { sameBytes($0.name, name) }
    }
}
