import Runtime
import Synchronization
import Text

/// An open transaction. It is valid only within the body of `Postgres.transaction`.
package struct Transaction: Sendable {
    let session: TransactionSession

    /// Runs a statement after all earlier ones. Once a statement has failed, the transaction can
    /// only be rolled back.
    @discardableResult
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        if Task.isCancelled { throw PostgresError(.cancelled) }
        if Deadline.current?.isOver == true { throw PostgresError.requestIsOver }
        return try await session.send(sql).get()
    }

    /// Runs a statement whose answer is not needed. It is sent together with the next statement or
    /// with COMMIT. If it fails, the next statement or the COMMIT fails too.
    package func queryLater(_ sql: SQL) { session.sendLater(sql) }

    /// Makes a setting that applies from the next statement until the end of the transaction. It is
    /// sent as the command SET LOCAL and not as a call of `set_config`, because a database of
    /// several servers forwards only SET LOCAL.
    package func setLater(_ name: StaticString, _ value: String) {
        session.sendLater(command: Postgres.setLocal(name, value))
    }

    /// Queues a statement whose answer is awaited later. It is sent together with the next one, so
    /// that statements which do not depend on each other share a round trip.
    package func ask(_ sql: SQL) -> AskedRows { AskedRows(session: session, sql) }
}

/// The future rows of a statement whose answer is awaited later.
package struct AskedRows: Sendable {
    private let session: TransactionSession
    private let answer = AwaitedAnswer()

    init(session: TransactionSession, _ sql: SQL) {
        self.session = session
        session.sendLater(sql, answer)
    }

    /// Returns the rows, after sending everything that still waits. If an earlier statement failed,
    /// this throws too. Call it once.
    package func rows() async throws(PostgresError) -> Rows {
        if Task.isCancelled { throw PostgresError(.cancelled) }
        if Deadline.current?.isOver == true { throw PostgresError.requestIsOver }
        return try await session.receive(answer).get()
    }
}

/// A transaction that the caller must end exactly once.
package struct OpenTransaction: Sendable {
    /// Runs the statements. It cannot be used after `commit` or `rollback`.
    package let transaction: Transaction

    /// Commits. Throws `.commitUnknown` if the answer to COMMIT was lost.
    package func commit() async throws(PostgresError) {
        if let error = await transaction.session.commit() { throw error }
    }

    /// Rolls back. It never fails: if ROLLBACK gets no answer, the connection is closed instead.
    package func rollback() async { await transaction.session.rollback() }
}

extension Postgres {
    /// Runs `body` in a transaction, which is then committed. If `body` throws, the transaction is
    /// rolled back and the error rethrown. `settings` are as for `begin`.
    package func transaction<T: Sendable>(
        settings: [(StaticString, String)] = [],
        _ body: (Transaction) async throws -> T
    ) async throws -> T {
        let open = try await begin(settings: settings)
        let value: T
        do {
            value = try await body(open.transaction)
        } catch {
            await open.rollback()
            throw error
        }
        try await open.commit()
        return value
    }

    /// Takes a connection and begins a transaction. BEGIN and the settings (SET LOCAL, as literals)
    /// are sent with its first statement. If the calling task is cancelled, the connection remains
    /// usable.
    package func begin(
        settings: [(StaticString, String)] = []
    ) async throws(PostgresError) -> OpenTransaction {
        if Task.isCancelled { throw PostgresError(.cancelled) }
        let deadline = Deadline.current
        if deadline?.isOver == true { throw PostgresError.requestIsOver }
        var prelude = ["BEGIN"]
        for (name, value) in settings {
            guard !value.utf8.contains(0) else {
                throw PostgresError(.decoding, "a setting with a NUL")
            }
            prelude.append(Self.setLocal(name, value))
        }
        let pool = pool(forReads: false)
        let lines = prelude
        let latest = deadline?.endOfWaits ?? .max
        let trace = Trace.current
        let held: TransactionSession? = await withUnsafeContinuation { continuation in
            pool.loop.run {
                pool.acquire(until: latest) { connection in
                    continuation.resume(
                        returning: connection.map {
                            TransactionSession(
                                pool: pool, connection: $0, prelude: lines, trace: trace)
                        })
                }
            }
        }
        guard let session = held else { throw pool.unavailable }
        return OpenTransaction(transaction: Transaction(session: session))
    }

    /// Runs `body` in a transaction with `app.tenant` set.
    package func tenantTransaction<T: Sendable>(
        _ tenant: UUID, _ body: (Transaction) async throws -> T
    ) async throws -> T {
        try await transaction(settings: [("app.tenant", tenant.description)], body)
    }

    /// Returns a SET LOCAL command. `value` must not contain NUL.
    static func setLocal(_ name: StaticString, _ value: String) -> String {
        "SET LOCAL \(name) = '\(escaped(value))'"
    }

    /// Returns the text with quotes doubled. No other character is special, because
    /// `standard_conforming_strings` is on.
    private static func escaped(_ value: String) -> String {
        var bytes: [UInt8] = []
        for byte in value.utf8 {
            if byte == UInt8(ascii: "'") { bytes.append(byte) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The answer to one statement of a transaction. It may arrive before or after the caller asks for
/// it.
///
/// `@unchecked Sendable`: its state is used only on the pool's loop.
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

/// Something that a transaction sends together with its next statement.
private enum Waiting {
    case statement(SQL, AwaitedAnswer?)
    /// A command without an answer; if it fails, the next statement fails.
    case command(String)
}

/// `@unchecked Sendable`: its state is used only on the pool's loop.
final class TransactionSession: @unchecked Sendable {
    private let pool: Pool
    private let connection: PostgresConnection
    /// The trace of the request that began the transaction.
    private let trace: Trace?
    /// The commands that are sent before the next statement, in the same round trip: at first BEGIN
    /// and the settings.
    private var prelude: [String]
    /// Statements whose answers are not awaited yet. They are sent before the next awaited
    /// statement, in the same round trip. If their values exceed `bytesThatWait` bytes, they are
    /// sent at once, so that the server can already work on them.
    private let waiting = Mutex<(statements: [Waiting], bytes: Int)>(([], 0))
    private static let bytesThatWait = 32 * 1024
    /// The first failure of a statement that was not awaited. It becomes the answer to the next
    /// awaited statement.
    private var failure: PostgresError?
    private static let over = PostgresError(.unavailable, "the transaction has ended")
    private var begun = false
    /// The COMMIT or ROLLBACK that is not answered yet.
    private var ending: Statement?
    private var ended = false

    init(pool: Pool, connection: PostgresConnection, prelude: [String], trace: Trace?) {
        self.pool = pool
        self.connection = connection
        self.prelude = prelude
        self.trace = trace
    }

    /// Adds a statement to send with the next one. `answer` receives its answer; `nil` if only a
    /// failure matters.
    func sendLater(_ sql: SQL, _ answer: AwaitedAnswer? = nil) {
        let bytes = waiting.withLock { waiting in
            waiting.statements.append(.statement(sql, answer))
            waiting.bytes += sql.values.count
            return waiting.bytes
        }
        guard bytes > Self.bytesThatWait else { return }
        pool.loop.run { [self] in if !ended { submitWaiting() } }
    }

    /// Adds a command without parameters or answer, such as SET LOCAL. It is discarded if no
    /// statement follows.
    func sendLater(command: String) {
        waiting.withLock { $0.statements.append(.command(command)) }
    }

    /// Sends a statement and waits for the answer. If a statement before it failed, that failure is
    /// the answer.
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

    /// Waits for the answer to a statement that was sent earlier or still waits to be sent.
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

    /// Sends COMMIT. Returns `nil` if the server confirmed the commit, otherwise the error.
    func commit() async -> PostgresError? {
        await finish("COMMIT", noting: CommitPosition.current) { answer, earlier, isUnconfirmed in
            switch answer {
            case .success(let rows):
                // If a statement failed before, the server answers COMMIT with ROLLBACK, which is
                // not an error.
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

    /// Ends the transaction and returns the connection to the pool. Closes the connection if the
    /// command fails.
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
