import Postgres
import Runtime
import Synchronization

/// Delays the commit of the last change made within it, so that the response to the request is
/// stored in the same transaction. After a crash a retry finds both or neither.
package final class HeldChange: Sendable {
    @TaskLocal package static var current: HeldChange?

    private let open = Mutex<OpenChange?>(nil)

    package init() {}

    func hold(_ change: OpenChange) { open.withLock { $0 = change } }

    /// The delayed transaction, still open; nil if there is none.
    var transaction: Transaction? { open.withLock { $0?.transaction.transaction } }

    /// Commits the delayed change, if any. Throws `.commitUnknown` if the response was lost.
    package func commit() async throws(PostgresError) { try await take()?.commit() }

    /// Rolls the delayed change back, if any.
    package func rollback() async { await take()?.rollback() }

    private func take() -> OpenChange? {
        open.withLock { held in
            defer { held = nil }
            return held
        }
    }
}

/// A change whose transaction is still open, with its invalidations.
struct OpenChange: Sendable {
    let transaction: OpenTransaction
    let invalidations: Invalidations

    /// Returns once it is committed and acknowledged by all replicas. Throws `.commitUnknown` if
    /// the response to COMMIT was lost, and `.timeout` if the request was already answered as one
    /// that changed nothing.
    func commit() async throws(PostgresError) {
        if let deadline = Deadline.current, !deadline.mayCommit() {
            await rollback()
            throw PostgresError(.timeout, "the request's time is over")
        }
        do {
            try await transaction.commit()
        } catch {
            // If it was committed after all, a retry finds nothing left to do and answers at once.
            // So the acknowledgements are awaited here.
            if error.kind == .commitUnknown {
                try? await invalidations.awaitAcknowledgements()
            } else {
                invalidations.cancel()
            }
            throw error
        }
        try await invalidations.awaitAcknowledgements()
    }

    func rollback() async {
        await transaction.rollback()
        invalidations.cancel()
    }
}
