import Deadlines
import Postgres
import Synchronization

/// Holds back the commit of the last change made within it, so that the answer to the request is
/// kept in the same transaction: after a crash a retry finds both or neither.
package final class HeldChange: Sendable {
    @TaskLocal package static var current: HeldChange?

    private let open = Mutex<OpenChange?>(nil)

    package init() {}

    func hold(_ change: OpenChange) {
        open.withLock { $0 = change }
    }

    /// What is held, still open; nil when nothing is.
    var transaction: Transaction? { open.withLock { $0?.transaction.transaction } }

    /// Commits what is held, if anything. `.commitUnknown` if the answer was lost.
    package func commit() async throws(PostgresError) {
        try await take()?.commit()
    }

    package func rollback() async {
        await take()?.rollback()
    }

    private func take() -> OpenChange? {
        open.withLock { held in
            defer { held = nil }
            return held
        }
    }
}

/// A change whose transaction is still open, with what replicas are told of it.
struct OpenChange: Sendable {
    let transaction: OpenTransaction
    let invalidations: Invalidations

    /// Returns when it is committed and obeyed everywhere. `.commitUnknown` if the answer was lost;
    /// `.timeout` where the request was answered before, as one that changed nothing.
    func commit() async throws(PostgresError) {
        if let deadline = Deadline.current, !deadline.mayCommit() {
            await rollback()
            throw PostgresError(.timeout, "the request's time is over")
        }
        do {
            try await transaction.commit()
        } catch {
            // If it was committed all the same, a retry finds nothing left to do and says so at
            // once; so whoever may answer from before it is waited for here.
            if error.kind == .commitUnknown {
                await invalidations.awaitAcknowledgements()
            } else {
                invalidations.cancel()
            }
            throw error
        }
        await invalidations.awaitAcknowledgements()
    }

    func rollback() async {
        await transaction.rollback()
        invalidations.cancel()
    }
}
