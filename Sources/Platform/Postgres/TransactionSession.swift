import Networking
import Observability
import Synchronization

/// The answer to one statement of a transaction, which arrives before or after it is read.
///
/// `@unchecked Sendable`: its state is touched on the pool's loop only.
final class AwaitedAnswer: @unchecked Sendable {
    var isSent = false
    private var answer: Answer?
    private var reader: ((Answer) -> Void)?

    func arrived(_ answer: Answer) {
        self.answer = answer
        reader?(answer)
        reader = nil
    }

    func read(_ reader: @escaping (Answer) -> Void) {
        if let answer { reader(answer) } else { self.reader = reader }
    }
}

/// What a transaction sends with its next statement.
private enum Waiting {
    case statement(SQL, AwaitedAnswer?)
    /// Its failure is the next statement's.
    case command(String)
}

/// `@unchecked Sendable`: its state is touched on the pool's loop only.
final class TransactionSession: @unchecked Sendable {
    private let pool: Pool
    private let connection: PostgresConnection
    /// Of the request that began it.
    private let trace: Trace?
    /// Sent ahead of the first statement, in the same round trip.
    private var prelude: [String]
    /// Statements whose answers are not awaited: sent ahead of the next, in the same round trip, or
    /// as soon as they are many bytes, so that the server works on them meanwhile.
    private let waiting = Mutex<(statements: [Waiting], bytes: Int)>(([], 0))
    private static let bytesThatWait = 32 * 1024
    /// The first of those that failed since the last awaited one, whose answer it becomes.
    private var failure: PostgresError?
    private static let over = PostgresError(.unavailable, "the transaction has ended")
    private var begun = false
    /// COMMIT or ROLLBACK, until it is answered.
    private var ending: Statement?
    private var ended = false

    init(pool: Pool, connection: PostgresConnection, prelude: [String], trace: Trace?) {
        self.pool = pool
        self.connection = connection
        self.prelude = prelude
        self.trace = trace
    }

    /// `answer`: where its answer goes; nil if only its failure counts.
    func sendLater(_ sql: SQL, _ answer: AwaitedAnswer? = nil) {
        let bytes = waiting.withLock { waiting in
            waiting.statements.append(.statement(sql, answer))
            waiting.bytes += sql.values.count
            return waiting.bytes
        }
        guard bytes > Self.bytesThatWait else { return }
        pool.loop.run { [self] in if !ended { submitWaiting() } }
    }

    /// A command without parameters or answer, such as SET LOCAL. Dropped if no statement follows.
    func sendLater(command: String) {
        waiting.withLock { $0.statements.append(.command(command)) }
    }

    /// The failure of a statement that went ahead is the answer.
    func send(_ sql: SQL) async -> Answer {
        await withUnsafeContinuation { continuation in
            let statement = Statement(sql, .inTransaction) { [self] answer in
                continuation.resume(returning: takeFailure().map { .failure($0) } ?? answer)
            }
            pool.loop.run { [self] in
                guard !ended else {
                    return statement.complete(.failure(Self.over))
                }
                submitWaiting()
                submit(statement)
            }
        }
    }

    /// The answer to a statement that was sent ahead, or that still waits.
    func receive(_ awaited: AwaitedAnswer) async -> Answer {
        await withUnsafeContinuation { continuation in
            pool.loop.run { [self] in
                if !ended { submitWaiting() }
                if ended, !awaited.isSent { awaited.arrived(.failure(Self.over)) }
                awaited.read { [self] answer in
                    if case .failure = answer { _ = takeFailure() }
                    continuation.resume(returning: answer)
                }
            }
        }
    }

    private func takeFailure() -> PostgresError? {
        defer { failure = nil }
        return failure
    }

    private func submitWaiting() {
        let ahead = waiting.withLock { waiting in
            defer { waiting = ([], 0) }
            return waiting.statements
        }
        for each in ahead {
            guard case .statement(let sql, let awaited) = each else {
                if case .command(let text) = each { prelude.append(text) }
                continue
            }
            awaited?.isSent = true
            submit(
                Statement(sql, .inTransaction) { [self] answer in
                    if case .failure(let error) = answer { failure = failure ?? error }
                    awaited?.arrived(failure.map { .failure($0) } ?? answer)
                })
        }
    }

    private func submit(_ statement: Statement) {
        let before = prelude
        prelude = []
        begun = true
        statement.follow(trace)
        connection.submitCommitting(statement, before: before)
    }

    /// COMMIT; nil if the server confirmed it.
    func commit() async -> PostgresError? {
        await finish("COMMIT", noting: CommitPosition.current) { answer, earlier, isUnconfirmed in
            switch answer {
            case .success(let rows):
                // After a failed statement the server answers COMMIT with ROLLBACK, and without an
                // error.
                if rows.command == "COMMIT" { return isUnconfirmed ? .unconfirmed : nil }
                return earlier
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
        waiting.withLock { $0 = ([], 0) }
        _ = await finish("ROLLBACK") { _, _, _ in nil }
    }

    /// Ends the transaction and returns the connection, or closes it if that failed.
    private func finish(
        _ command: SQL, noting position: CommitPosition? = nil,
        _ judge:
            @escaping @Sendable (Answer, PostgresError?, _ isUnconfirmed: Bool) -> PostgresError?
    ) async -> PostgresError? {
        await withUnsafeContinuation { continuation in
            pool.loop.run { [self] in
                ended = true
                guard begun || waiting.withLock({ !$0.statements.isEmpty }) else {
                    pool.release(connection)
                    return continuation.resume(returning: nil)
                }
                let statement = Statement(command, .inTransaction) { [self] answer in
                    if case .failure = answer { connection.close("a transaction did not end") }
                    pool.release(connection)
                    let isUnconfirmed = ending?.isUnconfirmed ?? false
                    ending = nil
                    continuation.resume(returning: judge(answer, takeFailure(), isUnconfirmed))
                }
                ending = statement
                statement.position = position
                submitWaiting()
                submit(statement)
            }
        }
    }
}
