import Networking
import Text

/// The database as one login role sees it: per event loop a few pipelined connections for reads
/// and some for transactions. Called on a loop of `loops`, all happens on that loop; called from
/// elsewhere, on the first.
package final class Postgres: Sendable {
    package let configuration: PostgresConfiguration
    let pools: [Pool]

    /// Connects at once, and again whenever the database comes back; `loops` must not be empty.
    package init(configuration: PostgresConfiguration, loops: [EventLoop]) {
        precondition(!loops.isEmpty, "no event loop")
        self.configuration = configuration
        pools = loops.map { Pool(configuration: configuration, loop: $0) }
        for pool in pools { pool.loop.perform { pool.start() } }
    }

    /// The pool of the calling loop.
    var pool: Pool { pools[place] }

    /// Where that pool stands among `pools`.
    var place: Int {
        guard let current = EventLoop.current else { return 0 }
        return pools.firstIndex { $0.loop === current } ?? 0
    }

    var firstPool: Pool { pools[0] }

    /// A read, pipelined with others: one sync for each cycle of the loop. It may be sent twice
    /// (its batch failed, its connection was lost), so it must have no effect.
    package func read(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await send(sql, .read, tenant: nil)
    }

    /// `read` without a task: `finish` is called on the calling loop, maybe before this returns.
    package func read(
        _ sql: SQL, then finish: @escaping (Result<Rows, PostgresError>) -> Void
    ) {
        let pool = pool
        let statement = Statement(sql, .read, finish: finish)
        if pool.loop.isCurrent { return pool.read(statement) }
        pool.loop.perform { pool.read(statement) }
    }

    /// A read with `app.tenant` set, in one round trip, under the rules of `read`.
    package func tenantRead(
        _ tenant: UUID, _ sql: SQL
    ) async throws(PostgresError) -> Rows {
        try await send(sql, .read, tenant: tenant)
    }

    /// A statement in a transaction of its own, for writes. `.commitUnknown` if the connection was
    /// lost before the server acknowledged it.
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await send(sql, .write, tenant: nil)
    }

    private func send(
        _ sql: SQL, _ role: Statement.Role, tenant: UUID?
    ) async throws(PostgresError) -> Rows {
        if Task.isCancelled { throw PostgresError(.cancelled) }
        let pool = pool
        let answer: Answer = await withUnsafeContinuation { continuation in
            let statement = Statement(sql, role, tenant: tenant) {
                continuation.resume(returning: $0)
            }
            pool.loop.run {
                if role == .read { pool.read(statement) } else { pool.sendAlone(statement) }
            }
        }
        return try answer.get()
    }

    /// Fails what is waiting and in flight, and closes the connections.
    package func close() async {
        for pool in pools {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                pool.loop.run {
                    pool.close()
                    continuation.resume()
                }
            }
        }
    }
}

extension EventLoop {
    /// Runs now if the caller is on the loop, else soon.
    func run(_ call: @escaping @Sendable () -> Void) {
        if isCurrent { call() } else { perform(call) }
    }
}
