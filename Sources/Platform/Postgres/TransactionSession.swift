import Networking
import Synchronization

/// `@unchecked Sendable`: its state is touched on the pool's loop only.
final class TransactionSession: @unchecked Sendable {
    private let pool: Pool
    private let connection: PostgresConnection
    /// Sent ahead of the first statement, in the same round trip.
    private var prelude: [String]
    /// Statements whose answers are not awaited: sent ahead of the next, in the same round trip.
    private let waiting = Mutex<[SQL]>([])
    private var begun = false
    private var ended = false

    init(pool: Pool, connection: PostgresConnection, prelude: [String]) {
        self.pool = pool
        self.connection = connection
        self.prelude = prelude
    }

    func sendLater(_ sql: SQL) { waiting.withLock { $0.append(sql) } }

    /// The failure of a statement that went ahead is the answer.
    func send(_ sql: SQL) async -> Answer {
        await withUnsafeContinuation { continuation in
            let earlier = FirstFailure()
            let statement = Statement(sql, .inTransaction) { answer in
                continuation.resume(returning: earlier.error.map { .failure($0) } ?? answer)
            }
            pool.loop.run { [self] in
                guard !ended else {
                    return statement.complete(
                        .failure(PostgresError(.unavailable, "the transaction has ended")))
                }
                submit(statement, after: earlier)
            }
        }
    }

    private func submit(_ statement: Statement, after earlier: FirstFailure) {
        let ahead = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let first = ahead.map { sql in
            Statement(sql, .inTransaction) { answer in
                if case .failure(let error) = answer { earlier.error = earlier.error ?? error }
            }
        }
        for one in first + [statement] {
            let before = prelude
            prelude = []
            begun = true
            connection.submitAlone(one, before: before)
        }
    }

    /// COMMIT; nil if the server confirmed it.
    func commit() async -> PostgresError? {
        let earlier = FirstFailure()
        return await finish("COMMIT", after: earlier) { answer in
            switch answer {
            case .success(let rows):
                // After a failed statement the server answers COMMIT with ROLLBACK, and without an
                // error.
                if rows.command == "COMMIT" { return nil }
                return earlier.error
                    ?? PostgresError(
                        .server(
                            sqlstate: "25P02", message: "the transaction had failed",
                            constraint: nil))
            case .failure(let error):
                guard error.isUnavailable, !error.saysNothingWritten else { return error }
                return PostgresError(.commitUnknown, error.detail)
            }
        }
    }

    func rollback() async {
        waiting.withLock { $0 = [] }
        _ = await finish("ROLLBACK", after: FirstFailure()) { _ in nil }
    }

    /// Ends the transaction and returns the connection, or closes it if that failed.
    private func finish(
        _ command: SQL, after earlier: FirstFailure,
        _ judge: @escaping @Sendable (Answer) -> PostgresError?
    ) async -> PostgresError? {
        await withUnsafeContinuation { continuation in
            pool.loop.run { [self] in
                ended = true
                guard begun || waiting.withLock({ !$0.isEmpty }) else {
                    pool.release(connection)
                    return continuation.resume(returning: nil)
                }
                let statement = Statement(command, .inTransaction) { [self] answer in
                    if case .failure = answer { connection.close("a transaction did not end") }
                    pool.release(connection)
                    continuation.resume(returning: judge(answer))
                }
                submit(statement, after: earlier)
            }
        }
    }
}

/// Of the statements that went ahead of one. `@unchecked Sendable`: touched on the pool's loop only.
private final class FirstFailure: @unchecked Sendable {
    var error: PostgresError?
}
