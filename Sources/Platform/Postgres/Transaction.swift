import Deadlines
import Networking
import Observability
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

    /// One statement whose answer is not needed: it travels with the next one or with COMMIT, in order, and
    /// its failure is theirs.
    package func queryLater(_ sql: SQL) { session.sendLater(sql) }

    /// A setting until the end of the transaction, from the next statement on. As a command, not a call of
    /// `set_config`: only so a database of several servers hands it on.
    package func setLater(_ name: StaticString, _ value: String) {
        session.sendLater(command: Postgres.setLocal(name, value))
    }

    /// One statement whose answer is awaited later: it travels with the next one, in order, so that
    /// statements which do not depend on each other share a round trip.
    package func ask(_ sql: SQL) -> AskedRows { AskedRows(session: session, sql) }
}

/// The rows of a statement that was asked ahead.
package struct AskedRows: Sendable {
    private let session: TransactionSession
    private let answer = AwaitedAnswer()

    init(session: TransactionSession, _ sql: SQL) {
        self.session = session
        session.sendLater(sql, answer)
    }

    /// Sends what still waits. A statement that failed ahead of this one is its failure too. For one
    /// reader, once.
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
    /// Runs `body` in a transaction; a throw rolls back and is passed on. Otherwise as `begin`.
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

    /// Takes a connection for a transaction: BEGIN and the settings (SET LOCAL, as literals)
    /// travel with its first statement. A caller that hangs up breaks no connection.
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

    /// `value` holds no NUL.
    static func setLocal(_ name: StaticString, _ value: String) -> String {
        "SET LOCAL \(name) = '\(escaped(value))'"
    }

    /// `standard_conforming_strings` is on, so that only the quote is special.
    private static func escaped(_ value: String) -> String {
        var bytes: [UInt8] = []
        for byte in value.utf8 {
            if byte == UInt8(ascii: "'") { bytes.append(byte) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
