import Networking

/// `@unchecked Sendable`: its state is touched on the pool's loop only.
final class TransactionSession: @unchecked Sendable {
    private let pool: Pool
    private let connection: PostgresConnection
    /// Sent ahead of the first statement, in the same round trip.
    private var prelude: [String]
    private var begun = false
    private var ended = false

    init(pool: Pool, connection: PostgresConnection, prelude: [String]) {
        self.pool = pool
        self.connection = connection
        self.prelude = prelude
    }

    func send(_ sql: SQL) async -> Answer {
        await withUnsafeContinuation { continuation in
            let statement = Statement(sql, .inTransaction) { continuation.resume(returning: $0) }
            pool.loop.run { [self] in
                guard !ended else {
                    return statement.complete(
                        .failure(PostgresError(.unavailable, "the transaction has ended")))
                }
                let first = prelude
                prelude = []
                begun = true
                connection.submitAlone(statement, before: first)
            }
        }
    }

    /// COMMIT; nil if the server confirmed it.
    func commit() async -> PostgresError? {
        await finish("COMMIT") { answer in
            switch answer {
            case .success(let rows):
                // After a failed statement the server answers COMMIT with ROLLBACK, and without an
                // error.
                if rows.command == "COMMIT" { return nil }
                return PostgresError(
                    .server(
                        sqlstate: "25P02", message: "the transaction had failed", constraint: nil))
            case .failure(let error):
                guard error.isUnavailable, !error.saysNothingWritten else { return error }
                return PostgresError(.commitUnknown, error.detail)
            }
        }
    }

    func rollback() async { _ = await finish("ROLLBACK") { _ in nil } }

    /// Ends the transaction and returns the connection, or closes it if that failed.
    private func finish(
        _ command: SQL, _ judge: @escaping @Sendable (Answer) -> PostgresError?
    ) async -> PostgresError? {
        await withUnsafeContinuation { continuation in
            pool.loop.run { [self] in
                ended = true
                guard begun else {
                    pool.release(connection)
                    return continuation.resume(returning: nil)
                }
                let statement = Statement(command, .inTransaction) { [self] answer in
                    if case .failure = answer { connection.close("a transaction did not end") }
                    pool.release(connection)
                    continuation.resume(returning: judge(answer))
                }
                connection.submitAlone(statement)
            }
        }
    }
}
