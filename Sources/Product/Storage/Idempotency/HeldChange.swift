import Postgres
import Runtime
import Synchronization

/// Delays the commit of a request's last change until the response is known, so that both are
/// stored in one transaction. After a crash, a retry finds either both or neither.
package final class HeldChange: Sendable {
    @TaskLocal package static var current: HeldChange?

    private let open = Mutex<OpenChange?>(nil)

    package init() {}

    func hold(_ change: OpenChange) { open.withLock { $0 = change } }

    /// The transaction of the delayed change, which is still open; `nil` if there is none.
    var transaction: Transaction? { open.withLock { $0?.transaction.transaction } }

    /// Commits the delayed change, if there is one. Throws `.commitUnknown` if the answer to COMMIT
    /// was lost.
    package func commit() async throws(PostgresError) { try await take()?.commit() }

    /// Rolls back the delayed change, if there is one.
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
    let invalidations: InvalidationPublisher

    /// Commits the transaction, and returns after all replicas have acknowledged its invalidation.
    /// Throws `.commitUnknown` if the answer to COMMIT was lost. If the server has already
    /// responded that the request wrote nothing, rolls back and throws `.timeout`.
    func commit() async throws(PostgresError) {
        if let deadline = Deadline.current, !deadline.mayCommit() {
            await rollback()
            throw PostgresError(.timeout, "the request's time is over")
        }
        do {
            try await transaction.commit()
        } catch {
            // The transaction may be committed after all. A retry would then find nothing to do and
            // would answer at once, so the acknowledgements are awaited here.
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
