import Postgres
import Runtime
import Synchronization

/// Delays the commit of the last change made within it, so that the response to the request is
/// stored in the same transaction: after a crash a retry finds both or neither.
package final class HeldChange: Sendable {
    @TaskLocal package static var current: HeldChange?

    private let open = Mutex<OpenChange?>(nil)

    package init() {}

    func hold(_ change: OpenChange) { open.withLock { $0 = change } }

    /// The delayed transaction, still open; nil if there is none.
    var transaction: Transaction? { open.withLock { $0?.transaction.transaction } }

    /// Commits the delayed change, if any. `.commitUnknown` if the response was lost.
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

    /// Returns when it is committed and acknowledged by all. `.commitUnknown` if the response was
    /// lost; `.timeout` if the request was answered before, as one that changed nothing.
    func commit() async throws(PostgresError) {
        if let deadline = Deadline.current, !deadline.mayCommit() {
            await rollback()
            throw PostgresError(.timeout, "the request's time is over")
        }
        do {
            try await transaction.commit()
        } catch {
            // If it was committed after all, a retry finds nothing left to do and answers at once;
            // so the acknowledgements are awaited here.
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
