import Synchronization

/// Where the primary's log stood after the commits of one request: a standby that has replayed up to
/// there has all of them. Collected only while `current` is set.
package final class CommitPosition: Sendable {
    /// Of the running request; nil: its commits ask for no position.
    @TaskLocal package static var current: CommitPosition?

    /// With `synchronous_commit` off the written position may be before the commit; the inserted one
    /// is not.
    static let question: SQL = "SELECT pg_current_wal_insert_lsn()"

    private let state = Mutex<(newest: WALPosition?, isUnknown: Bool)>((nil, false))

    package init() {}

    /// The newest position; nil if nothing was committed.
    package var newest: WALPosition? { state.withLock { $0.newest } }

    /// Whether something was committed, and its position was lost with the connection.
    package var isUnknown: Bool { state.withLock { $0.isUnknown } }

    func note(_ answer: Answer) {
        let position = (try? answer.get())?.first.flatMap { try? $0.get(0, as: WALPosition.self) }
        state.withLock { state in
            guard let position else {
                state.isUnknown = true
                return
            }
            state.newest = max(state.newest ?? .start, position)
        }
    }
}

extension PostgresConnection {
    /// Sends a statement that commits, and behind it the question where the log stands then: one
    /// round trip for both. The statement completes after the answer to the second.
    func submitCommitting(_ statement: Statement, before prelude: [String] = []) {
        guard let position = statement.position else {
            return submitAlone(statement, before: prelude)
        }
        statement.lastQuestion += 1
        statement.awaitsPosition = true
        let number = statement.lastQuestion
        let question = Statement(CommitPosition.question, .inTransaction) { answer in
            // An earlier attempt at the statement committed nothing.
            guard number == statement.lastQuestion else { return }
            position.note(answer)
            statement.awaitsPosition = false
            statement.completeHeld()
        }
        submitAlone(statement, before: prelude, flushing: false)
        submitAlone(question)
    }
}

extension Postgres {
    /// Where the log of the primary stands now; a standby refuses the question.
    package func currentPosition() async throws(PostgresError) -> WALPosition {
        guard let row = try await read(CommitPosition.question).first else {
            throw PostgresError(.decoding)
        }
        return try row.get(0)
    }
}
