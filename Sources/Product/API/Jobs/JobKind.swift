import Domain
import Storage
import Text

/// What jobs of one kind do. Its work is asked for batch by batch, each in a transaction of its own
/// that also stores the batch's results: a kind keeps nothing in memory from one to the next.
package protocol JobKind: Sendable {
    /// Stored with each job: `users_actions`.
    var name: String { get }
    /// Rows of one batch, at most `JobLimits.batch` if each has a savepoint.
    var batch: Int { get }
    /// What a caller who makes, resumes, pauses, cancels or undoes the job must have in its tenant; for
    /// an undo what taking it back needs. Asked again at each batch. Of the system, which has no
    /// right, only a tenant's standing rule asks for none.
    func rights(_ job: JobRow) -> [Right]
    /// One batch, in order from `work.job.position`. A row's refusal is a result; an error that is
    /// thrown rolls the batch back, and it is tried again.
    func step(_ work: JobWork, _ services: Services) async throws -> JobStep
    /// Takes one row back: `undone`, or `kept` if it has changed since.
    func undo(_ row: JobResult, _ work: JobWork, _ services: Services) async throws -> JobResult
    /// In the transaction that ends the job, however it ends: deletes what it staged.
    func ended(_ change: Change, _ job: JobRow) async throws
}

extension JobKind {
    package var batch: Int { JobLimits.batch }

    package func ended(_ change: Change, _ job: JobRow) async throws {}
}

extension Change {
    /// One row's result: what `body` throws as a refusal becomes a failed row, and what it wrote is
    /// taken back. An error of the database is thrown on.
    func result(
        ofRow number: Int, _ body: () async throws -> JobResult
    ) async throws -> JobResult {
        do {
            return try await savepoint(body)
        } catch {
            guard let problem = refusal(error), problem.status < 500 else {
                throw error
            }
            var result = JobResult(
                row: number, .failed, code: problem.code.rawValue, detail: problem.detail)
            result.conflictingID = problem.conflictingID
            return result
        }
    }
}

extension JobWork {
    /// One row's result: what `body` throws as a refusal becomes a failed row, and what it wrote is
    /// taken back. An error of the database is thrown on.
    package func row(
        _ number: Int, _ body: () async throws -> JobResult
    ) async throws -> JobResult {
        try await change.result(ofRow: number, body)
    }

    /// The batch of an undo: rows without an effect stay as they are.
    func undone(by kind: any JobKind, _ services: Services) async throws -> JobStep {
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
            var result = try await self.row(row.row) { try await kind.undo(row, self, services) }
            // What cannot be taken back stays as it is, and says why.
            if result.status == .failed { result.status = .kept }
            results.append(result)
        }
        return JobStep(results, isLast: rows.count < limit)
    }
}

/// The kinds of jobs that a service knows.
package struct JobKinds: Sendable {
    private let kinds: [any JobKind]

    package init(_ kinds: [any JobKind]) { self.kinds = kinds }

    package var names: [String] { kinds.map(\.name) }

    /// Nil for a kind of another version of the service.
    package func named(_ name: String) -> (any JobKind)? {
        kinds.first { sameBytes($0.name, name) }
    }
}
