import Runtime
import Synchronization
import Text

/// Tests whether something between the service and PostgreSQL, such as a pooler, loses
/// notifications or shares connections.
extension Postgres {
    /// Whether a listening connection receives, within `limit` nanoseconds, a notification that
    /// another connection of this pool sends. Throws if this could not be tested.
    package func hearsNotifications(within limit: Int64) async throws(PostgresError) -> Bool {
        let loop = firstLoop
        let isListening = Atomic(false)
        let asked = Mutex<NotificationListener?>(nil)
        let answer: Result<Bool, PostgresError> = await withUnsafeContinuation { continuation in
            let waiting = Mutex<UnsafeContinuation<Result<Bool, PostgresError>, Never>?>(
                continuation)
            let finish: @Sendable (Result<Bool, PostgresError>) -> Void = { answer in
                waiting.withLock { waiting in
                    waiting?.resume(returning: answer)
                    waiting = nil
                }
            }
            let channel = "gatehouse_probe_\(UUID.random())"
            let listener = listen(
                channel: channel, echoes: channel, onNotify: { _ in },
                onReady: {
                    isListening.store(true, ordering: .relaxed)
                    asked.withLock { $0 }?.hearItself { echo in finish(echo.map { true }) }
                })
            asked.withLock { $0 = listener }
            loop.perform {
                loop.after(limit) {
                    finish(
                        isListening.load(ordering: .relaxed)
                            ? .success(false)
                            : .failure(PostgresError(.unavailable, "it could not listen in time")))
                }
            }
        }
        let listener = asked.withLock { $0 }
        loop.perform { listener?.close() }
        return try answer.get()
    }

    /// Whether two connections of this pool use the same server connection, which shows that a
    /// pooler lends out its server connections for each transaction. The pool must have one
    /// connection for reads and one for transactions. This test also works at a standby, which
    /// refuses LISTEN.
    package func sharesServerConnections() async throws -> Bool {
        let own: SQL = "SELECT pg_backend_pid()"
        var changes = 0
        for _ in 0..<8 {
            let before = try await read(own).first?.get(0, as: Int.self)
            let open = try await begin()
            do {
                let other = try await open.transaction.query(own).first?.get(0, as: Int.self)
                if before == other {
                    await open.rollback()
                    return true
                }
                if try await read(own).first?.get(0, as: Int.self) != before { changes += 1 }
            } catch {
                await open.rollback()
                throw error
            }
            await open.rollback()
        }
        // A few changes do not count: a connection that was lost and opened again also has another
        // process id.
        return changes > 2
    }
}
