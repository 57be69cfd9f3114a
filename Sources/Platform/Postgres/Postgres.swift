import Runtime
import Synchronization
import Text

/// The database as one login role sees it. Each event loop has a few pipelined connections for
/// reads and some for transactions. A call from one of `loops` uses the connections of that loop
/// or, if that loop has none, those of another loop. All other callers use the first pool.
package final class Postgres: Sendable {
    /// The configuration given to `init`; the pools of all loops share it.
    package let configuration: PostgresConfiguration
    let pools: [Pool]
    private let loops: [EventLoop]
    /// The workers, which answer the reads of one tenant if this is the coordinator of a
    /// distributed database.
    let workers: CitusWorkers?
    /// For each loop, the index of the pool that serves it.
    private let homes: [Int]

    /// Connects at once, and again whenever the database comes back. `loops` must not be empty.
    /// `reserved` has, for each loop, the number of connections that are reserved for it; a loop
    /// with 0 uses those of another loop. If `reserved` is `nil`, each loop has its own
    /// connections. `workers` answer the reads that concern only one tenant.
    package init(
        configuration: PostgresConfiguration, loops: [EventLoop], reserved: [Int]? = nil,
        workers: CitusWorkers? = nil
    ) {
        precondition(!loops.isEmpty, "no event loop")
        self.workers = workers
        self.configuration = configuration
        self.loops = loops
        var served = loops.indices.filter { (reserved?[$0] ?? 1) > 0 }
        if served.isEmpty { served = [0] }
        pools = served.map { Pool(configuration: configuration, loop: loops[$0]) }
        homes = loops.indices.map { loop in
            served.firstIndex(of: loop) ?? loop % served.count
        }
        for pool in pools { pool.loop.perform { pool.start() } }
    }

    /// Whether the database spreads tenants over several servers. Also true before the first
    /// connection, while that is unknown.
    package var isDistributed: Bool { !pools[0].isPlain.load(ordering: .relaxed) }

    var firstPool: Pool { pools[0] }

    /// Returns the index of the pool for the calling loop: its own, or another pool with
    /// connections if its own can get none.
    func index(forReads: Bool) -> Int {
        guard let current = EventLoop.current else { return 0 }
        let home = loops.firstIndex { $0 === current }.map { homes[$0] } ?? 0
        guard pools[home].isStarved(ofReaders: forReads) else { return home }
        return pools.firstIndex { !$0.isStarved(ofReaders: forReads) } ?? home
    }

    func pool(forReads: Bool) -> Pool { pools[index(forReads: forReads)] }

    /// Runs a read. The reads of one loop cycle are pipelined, with one sync at the end of the
    /// cycle. A read may be sent twice (if its batch failed or its connection was lost), so it must
    /// not change anything.
    package func read(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await send(sql, .read)
    }

    /// Like `read`, but calls `finish` on the calling loop, perhaps even before this function
    /// returns.
    package func read(_ sql: SQL, then finish: @escaping (Result<Rows, PostgresError>) -> Void) {
        let pool = pool(forReads: true)
        if pool.loop.isCurrent {
            return pool.read(Statement(sql, .read, finish: finish))
        }
        guard let caller = EventLoop.current else {
            let statement = Statement(sql, .read, finish: finish)
            return pool.loop.perform { pool.read(statement) }
        }
        let bound = LoopBound(finish, loop: caller)
        let statement = Statement(sql, .read) { answer in
            caller.perform { bound.value(answer) }
        }
        pool.loop.perform { pool.read(statement) }
    }

    /// Runs a statement, usually a write, in a transaction of its own. Throws `.commitUnknown` if
    /// the connection was lost before the server acknowledged the commit.
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        let deadline = Deadline.current
        deadline?.beginWriting()
        defer { deadline?.endWriting() }
        return try await send(sql, .write, noting: CommitPosition.current)
    }

    /// Like `query`, for writes on which no response depends, such as counters. If the connection
    /// is lost, this throws `.unavailable`.
    package func mark(_ sql: SQL) async throws(PostgresError) -> Rows {
        do {
            return try await send(sql, .write)
        } catch {
            guard error.kind == .commitUnknown else { throw error }
            throw PostgresError(.unavailable, error.detail)
        }
    }

    func send(
        _ sql: SQL, _ role: Statement.Role, in tenant: UUID? = nil,
        noting position: CommitPosition? = nil
    ) async throws(PostgresError) -> Rows {
        if Task.isCancelled { throw PostgresError(.cancelled) }
        var latest = Int64.max
        if let deadline = Deadline.current {
            if deadline.isOver { throw PostgresError.requestIsOver }
            latest = deadline.endOfWaits
        }
        let pool = pool(forReads: role == .read)
        let answer: Answer = await withUnsafeContinuation { continuation in
            let statement = Statement(sql, role, in: tenant) {
                continuation.resume(returning: $0)
            }
            statement.latest = latest
            statement.position = position
            statement.follow(Trace.current)
            pool.loop.run {
                if role == .read { pool.read(statement) } else { pool.sendAlone(statement) }
            }
        }
        return try answer.get()
    }

    /// Whether the server accepts writes. False for a standby and for a read-only server. Throws if
    /// no connection for writes becomes available within the request's time.
    package func takesWrites() async throws(PostgresError) -> Bool {
        let sql: SQL = """
            SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'
            """
        // If a connection for writes made progress recently, such connections are available, so
        // there is no need to wait for one.
        let rows = try await hasActiveWriter() ? read(sql) : mark(sql)
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    private func hasActiveWriter() async -> Bool {
        let pool = pool(forReads: false)
        return await withUnsafeContinuation { continuation in
            pool.loop.run {
                let recent = pool.loop.now - 1_000_000_000
                continuation.resume(
                    returning: pool.writers.contains { $0.isOpen && $0.lastProgress > recent })
            }
        }
    }

    /// Fails all statements that wait or are in progress, and closes the connections.
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

extension PostgresError {
    /// The error of a statement that would begin after its request's time is over.
    static let requestIsOver = PostgresError(.timeout, "the request's time is over")
}

extension EventLoop {
    /// Runs `call` at once if the caller is on the loop, else in the loop's next cycle.
    func run(_ call: @escaping @Sendable () -> Void) {
        if isCurrent { call() } else { perform(call) }
    }
}
