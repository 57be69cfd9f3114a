import Runtime
import Synchronization

/// How one login role reaches the database, and its limits. Times are in milliseconds.
package struct PostgresConfiguration: Sendable {
    /// A libpq conninfo string or `postgresql://` URL.
    package var conninfo: String
    /// The `application_name` that `pg_stat_activity` shows.
    package var applicationName = "gatehouse"
    /// The maximum number of connections for reads on each event loop; each is pipelined.
    package var readsPerLoop = 2
    /// How many connections for reads are opened immediately and kept open while idle.
    package var readsAtRest = 1
    /// A value of `growsAt` for a role that opens further connections only under load. Until then,
    /// few connections answer large batches.
    package static let loadedAt = 8
    /// How many unanswered reads each connection must have before another one is opened.
    package var growsAt = 1
    /// The maximum number of connections for writes and transactions on each event loop; opened
    /// when needed.
    package var transactionsPerLoop = 8
    /// The budget of connections that all pools of the process share; `nil` if only `readsPerLoop`
    /// and `transactionsPerLoop` limit them.
    package var budget: ConnectionBudget?
    /// How long a connection may be idle before it is closed.
    package var idleTimeout = 30_000
    /// The server's `statement_timeout`, set when a connection opens.
    package var statementTimeout = 2500
    /// How much longer than `statementTimeout` a server may be silent before it counts as gone.
    var silence = 1000
    /// The server's `lock_timeout`, set when a connection opens.
    package var lockTimeout = 2000
    /// How long a transaction may be idle before the server ends it.
    package var idleInTransactionTimeout = 10_000
    /// How long a statement may wait for a connection before it fails as `.unavailable`.
    package var acquireTimeout = 1500
    /// How many statements may wait for a connection on each loop; further ones fail as
    /// `.unavailable`.
    var queueLimit = 1024
    /// The most unanswered reads on one connection; further reads wait in the queue.
    var pipelineLimit = 256
    /// The most prepared statements on one connection.
    package var statementLimit = 256
    /// Whether the database spreads tenants over several servers; `nil` to find out when a
    /// connection opens.
    package var isDistributed: Bool?
    /// Whether a server is used only if it accepts writes, so that a standby is not; the conninfo
    /// may override this.
    package var takesWrites = false
    /// PostgreSQL's `plan_cache_mode`; the conninfo's own options override it.
    package var planCacheMode: StaticString = "auto"
    /// Called with the name and the cause of an event: connections are refused or lost, the server
    /// reports a fault about itself, or such an outage is over.
    package var log: @Sendable (_ event: StaticString, _ detail: String) -> Void = { _, _ in }
    /// The current outages of the server, shared by all copies of the configuration.
    package let outages = DatabaseOutages()

    /// The metrics of this role's pools.
    package var measures = PostgresMeasures()

    package init(conninfo: String) { self.conninfo = conninfo }
}

/// The metrics of a role's pools.
package struct PostgresMeasures: Sendable {
    /// The number of open connections.
    package var connections = Gauge()
    /// How long a statement or a transaction waited when no connection was free.
    package var waits = Histogram()
    /// How many statements got no connection in time or found the queue full.
    package var refusals = Counter()

    package init() {}
}

/// The current outages of a server. An outage that affects several connections is logged as one.
package final class DatabaseOutages: Sendable {
    /// The event that is logged when an outage is over.
    package static let isBack: StaticString = "postgres.recovered"

    /// Detects the outages in which connections are refused or lost.
    private let connections = RepeatedFailure()
    private let faults = Mutex<[String: RepeatedFailure]>([:])
    private let hasFaults = Atomic(false)
    /// A fault counts as over after this many seconds without a recurrence. The time is long,
    /// because a lasting fault shows only when a statement runs.
    private static let calmOfFaults: Int64 = 60
    /// The faults with which a server ends its connections.
    private static let endings = ["postgres.shut_down", "postgres.start_awaited"]

    /// Whether connections are being refused or were lost a moment ago.
    package var isAway: Bool { connections.isOn }

    func lost(_ event: StaticString, _ cause: String, _ pool: Pool) {
        guard let news = connections.failed(at: pool.loop.now) else { return }
        pool.configuration.log(event, cause + news.suffix)
    }

    /// Logs a fault that the server reports about itself.
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

    /// Logs each outage that is over. Called when the pool has connections.
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
