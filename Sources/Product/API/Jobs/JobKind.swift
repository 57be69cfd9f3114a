import Domain
import Storage
import Text

/// What jobs of one kind do. The work is done batch by batch, each in its own transaction, which
/// also stores the batch's results: a kind keeps nothing in memory between batches.
package protocol JobKind: Sendable {
    /// The name that is stored with each job, for example `users_actions`.
    var name: String { get }
    /// The number of rows in a batch; at most `JobLimits.batch` if each row has a savepoint.
    var batch: Int { get }
    /// The rights that a caller needs in the job's tenant to create, resume, pause, cancel or undo
    /// the job; for an undo, the rights that undoing needs. They are checked again at each batch.
    /// The system has no rights, so it runs only a tenant's standing rule, which needs none.
    func rights(_ job: JobRow) -> [Right]
    /// Processes one batch, in order from `work.job.position`. The refusal of a row is a result. A
    /// thrown error rolls the batch back, and the batch is retried.
    func step(_ work: JobWork, _ application: Application) async throws -> JobStep
    /// Undoes one row: `undone`, or `kept` if the object has changed since.
    func undo(_ row: JobResult, _ work: JobWork, _ application: Application) async throws
        -> JobResult
    /// Runs in the transaction that ends the job, however it ends. Deletes what the job staged.
    func ended(_ change: Change, _ job: JobRow) async throws
}

extension JobKind {
    package var batch: Int { JobLimits.batch }

    package func ended(_ change: Change, _ job: JobRow) async throws {}
}

extension JobWork {
    /// A batch of an undo. Rows without an effect stay as they are.
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
            // A row that cannot be undone stays as it is, with the reason.
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

    package var names: [String] { kinds.map(\.name) }

    /// `nil` for a kind that only another version of the service knows.
    package func named(_ name: String) -> (any JobKind)? {
        kinds.first { sameBytes($0.name, name) }
    }
}
