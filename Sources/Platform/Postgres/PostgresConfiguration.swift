import Runtime
import Synchronization

/// How one login role reaches the database, and its limits. Times are in milliseconds.
package struct PostgresConfiguration: Sendable {
    /// A libpq conninfo string or `postgresql://` URL.
    package var conninfo: String
    /// The `application_name` that `pg_stat_activity` shows.
    package var applicationName = "gatehouse"
    /// The most pipelined connections for reads, for each event loop.
    package var readsPerLoop = 2
    /// How many of those are opened immediately and kept open while idle.
    package var readsAtRest = 1
    /// The `growsAt` for a role that opens connections only under load: fewer connections answer
    /// larger batches.
    package static let loadedAt = 8
    /// Another connection is opened when each has this many unanswered reads.
    package var growsAt = 1
    /// Connections for writes and transactions, opened when needed, for each event loop.
    package var transactionsPerLoop = 8
    /// The budget that all pools of the process share; `nil` if only the two limits above apply.
    package var budget: ConnectionBudget?
    /// A connection that is idle for this long is closed.
    package var idleTimeout = 30_000
    /// The server's `statement_timeout`, set when a connection opens.
    package var statementTimeout = 2500
    /// A server that is silent for this much longer than `statementTimeout` is gone.
    package var silence = 1000
    /// The server's `lock_timeout`, set when a connection opens.
    package var lockTimeout = 2000
    /// A transaction left idle this long is ended by the server.
    package var idleInTransactionTimeout = 10_000
    /// How long a statement waits for a connection before `.unavailable`.
    package var acquireTimeout = 1500
    /// How many statements may wait for a connection, for each loop; more are `.unavailable`.
    package var queueLimit = 1024
    /// The most unanswered reads on one connection; more wait in the queue.
    package var pipelineLimit = 256
    /// The most prepared statements kept on one connection.
    package var statementLimit = 256
    /// Whether the database spreads tenants over several servers; `nil` to ask when a connection
    /// opens.
    package var isDistributed: Bool?
    /// PostgreSQL's `plan_cache_mode`, unless the conninfo's own options set it.
    package var planCacheMode: StaticString = "auto"
    /// Called with an event's name and its cause when connections are refused or lost, when the
    /// server reports a fault, and when that is over.
    package var log: @Sendable (_ event: StaticString, _ detail: String) -> Void = { _, _ in }
    /// All copies of a configuration share this one.
    package let outages = DatabaseOutages()

    /// What the pools of this role count.
    package var measures = PostgresMeasures()

    package init(conninfo: String) { self.conninfo = conninfo }
}

/// What the pools of a role count.
package struct PostgresMeasures: Sendable {
    /// Open connections.
    package var connections = Gauge()
    /// How long a statement or a transaction waited when no connection was free.
    package var waits = Histogram()
    /// Statements that got no connection in time, or found the queue full.
    package var refusals = Counter()

    package init() {}
}

/// The failures that the pools of a server have logged: each once, not once for each connection.
package final class DatabaseOutages: Sendable {
    /// The event that ends an outage.
    package static let isBack: StaticString = "postgres.recovered"

    /// Of connections.
    private let connections = RepeatedFailure()
    private let faults = Mutex<[String: RepeatedFailure]>([:])
    private let hasFaults = Atomic(false)
    /// A fault shows only when a statement runs, so there is no telling how soon the next would
    /// come.
    private static let calmOfFaults: Int64 = 60
    /// Faults with which a server ends its connections.
    private static let endings = ["postgres.shut_down", "postgres.start_awaited"]

    /// Whether connections are refused, or were lost a moment ago.
    package var isAway: Bool { connections.isOn }

    func lost(_ event: StaticString, _ cause: String, _ pool: Pool) {
        guard let news = connections.failed(at: pool.loop.now) else { return }
        pool.configuration.log(event, cause + news.suffix)
    }

    /// The server reported a fault about itself.
    func report(_ error: PostgresError, _ pool: Pool) {
        guard let name = error.fault else { return }
        if Self.endings.contains(name.description) { return lost(name, error.detail, pool) }
        let outage = faults.withLock { faults in
            let known = faults[name.description] ?? RepeatedFailure(calm: Self.calmOfFaults)
            faults[name.description] = known
            return known
        }
        hasFaults.store(true, ordering: .relaxed)
        guard let news = outage.failed(at: pool.loop.now) else { return }
        pool.configuration.log(name, error.detail + news.suffix)
    }

    /// Called when the pool has connections.
    func worked(_ pool: Pool) {
        if let news = connections.worked(at: pool.loop.now) {
            tell("connected again after \(news.seconds) s", news, pool)
        }
        guard hasFaults.load(ordering: .relaxed) else { return }
        for (name, outage) in faults.withLock({ $0 }) {
            if let news = outage.worked(at: pool.loop.now) {
                tell("\(name) is over after \(news.seconds) s", news, pool)
            }
        }
    }

    private func tell(_ text: String, _ news: RepeatedFailure.News, _ pool: Pool) {
        pool.configuration.log(Self.isBack, "\(text), \(news.failures) failures")
    }
}
