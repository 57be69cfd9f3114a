import Runtime
import Synchronization
import Text

/// An open transaction, valid within the body of `Postgres.transaction` only.
package struct Transaction: Sendable {
    let session: TransactionSession

    /// One statement, in order. After a failure the transaction can only be rolled back.
    @discardableResult
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        if Task.isCancelled { throw PostgresError(.cancelled) }
        if Deadline.current?.isOver == true { throw PostgresError.requestIsOver }
        return try await session.send(sql).get()
    }

    /// One statement whose answer is not needed. It is sent with the next one or with COMMIT, in
    /// order, and if it fails, that one fails.
    package func queryLater(_ sql: SQL) { session.sendLater(sql) }

    /// A setting until the end of the transaction, from the next statement on. It is sent as a
    /// command and not as a call of `set_config`, because a database of several servers passes on
    /// only the command.
    package func setLater(_ name: StaticString, _ value: String) {
        session.sendLater(command: Postgres.setLocal(name, value))
    }

    /// One statement whose answer is awaited later. It is sent with the next one, in order, so that
    /// statements which do not depend on each other share a round trip.
    package func ask(_ sql: SQL) -> AskedRows { AskedRows(session: session, sql) }
}

/// The rows of a statement whose answer is awaited later.
package struct AskedRows: Sendable {
    private let session: TransactionSession
    private let answer = AwaitedAnswer()

    init(session: TransactionSession, _ sql: SQL) {
        self.session = session
        session.sendLater(sql, answer)
    }

    /// Sends what still waits. If an earlier statement failed, this one fails too. Call it once.
    package func rows() async throws(PostgresError) -> Rows {
        if Task.isCancelled { throw PostgresError(.cancelled) }
        if Deadline.current?.isOver == true { throw PostgresError.requestIsOver }
        return try await session.receive(answer).get()
    }
}

/// A transaction that its holder must end exactly once.
package struct OpenTransaction: Sendable {
    /// For statements; unusable after `commit` or `rollback`.
    package let transaction: Transaction

    /// `.commitUnknown` if the answer to COMMIT was lost.
    package func commit() async throws(PostgresError) {
        if let error = await transaction.session.commit() { throw error }
    }

    /// Never fails: if ROLLBACK gets no answer, the connection is closed instead.
    package func rollback() async { await transaction.session.rollback() }
}

extension Postgres {
    /// Runs `body` in a transaction. If it throws, the transaction is rolled back and the error is
    /// rethrown. Otherwise like `begin`.
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

    /// Takes a connection for a transaction: BEGIN and the settings (SET LOCAL, as literals) are
    /// sent with its first statement. A caller that gives up breaks no connection.
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

    /// A transaction with `app.tenant` set.
    package func tenantTransaction<T: Sendable>(
        _ tenant: UUID, _ body: (Transaction) async throws -> T
    ) async throws -> T {
        try await transaction(settings: [("app.tenant", tenant.description)], body)
    }

    /// `value` must not contain NUL.
    static func setLocal(_ name: StaticString, _ value: String) -> String {
        "SET LOCAL \(name) = '\(escaped(value))'"
    }

    /// `standard_conforming_strings` is on, so only the quote is special.
    private static func escaped(_ value: String) -> String {
        var bytes: [UInt8] = []
        for byte in value.utf8 {
            if byte == UInt8(ascii: "'") { bytes.append(byte) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

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
    /// If it fails, the next statement fails.
    case command(String)
}

/// `@unchecked Sendable`: its state is touched on the pool's loop only.
final class TransactionSession: @unchecked Sendable {
    private let pool: Pool
    private let connection: PostgresConnection
    /// The trace of the request that began it.
    private let trace: Trace?
    /// Sent ahead of the first statement, in the same round trip.
    private var prelude: [String]
    /// Statements whose answers are not awaited: sent ahead of the next, in the same round trip, or
    /// as soon as they are many bytes, so that the server works on them meanwhile.
    private let waiting = Mutex<(statements: [Waiting], bytes: Int)>(([], 0))
    private static let bytesThatWait = 32 * 1024
    /// The first failure of a statement that was not awaited; it becomes the answer to the next
    /// awaited one.
    private var failure: PostgresError?
    private static let over = PostgresError(.unavailable, "the transaction has ended")
    private var begun = false
    /// The COMMIT or ROLLBACK, until it is answered.
    private var ending: Statement?
    private var ended = false

    init(pool: Pool, connection: PostgresConnection, prelude: [String], trace: Trace?) {
        self.pool = pool
        self.connection = connection
        self.prelude = prelude
        self.trace = trace
    }

    /// `answer` receives the answer; `nil` if only a failure counts.
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

    /// If a statement that was sent earlier failed, its failure is the answer.
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

    /// COMMIT; `nil` if the server confirmed it.
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
