import Postgres
import Synchronization

/// Holds back the commit of the last change made within it, so that the answer to the request is
/// kept in the same transaction: after a crash a retry finds both or neither.
package final class HeldChange: Sendable {
    @TaskLocal package static var current: HeldChange?

    private let open = Mutex<OpenTransaction?>(nil)

    package init() {}

    func hold(_ transaction: OpenTransaction) {
        open.withLock { $0 = transaction }
    }

    /// What is held, still open; nil when nothing is.
    var transaction: Transaction? { open.withLock { $0?.transaction } }

    /// Commits what is held, if anything. `.commitUnknown` if the answer was lost.
    package func commit() async throws(PostgresError) {
        try await take()?.commit()
    }

    package func rollback() async {
        await take()?.rollback()
    }

    private func take() -> OpenTransaction? {
        open.withLock { held in
            defer { held = nil }
            return held
        }
    }
}
