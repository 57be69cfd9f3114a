import Synchronization

/// Where the primary's log stood after the commits of one request: a standby that has replayed up to
/// there has all of them. Collected only while `current` is set.
package final class CommitPosition: Sendable {
    /// Of the running request; nil: its commits ask for no position.
    @TaskLocal package static var current: CommitPosition?

    /// A commit is flushed before it is acknowledged, and so far standbys can get at once. Only with
    /// `synchronous_commit` off it may be behind that; then the inserted position covers it, but also what
    /// others have begun, which may stay unflushed for a while.
    static let question: SQL = """
        SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
            THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END
        """

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
    /// Where the log of the primary stands now, after every acknowledged commit; a standby refuses the
    /// question.
    package func currentPosition() async throws(PostgresError) -> WALPosition {
        try await position(CommitPosition.question)
    }

    /// How far the log of the primary is flushed: an idle primary's standbys have all of it.
    package func flushedPosition() async throws(PostgresError) -> WALPosition {
        try await position("SELECT pg_current_wal_flush_lsn()")
    }

    private func position(_ question: SQL) async throws(PostgresError) -> WALPosition {
        guard let row = try await read(question).first else { throw PostgresError(.decoding) }
        return try row.get(0)
    }
}
