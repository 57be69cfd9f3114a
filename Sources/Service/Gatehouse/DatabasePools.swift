import API
import Postgres
import Runtime
import Text

/// The connections of this process to PostgreSQL: for the app's role, for the platform's role, and
/// for looking up keys. Look-ups have connections of their own, so that slow list queries do not
/// delay them.
struct DatabasePools: Sendable {
    let app: Postgres
    let platform: Postgres
    let lookups: Postgres
    /// The standbys; `nil` if none is set.
    let standbys: Standbys?
    /// The workers of a distributed database: the first element is for the app's role, the second
    /// for look-ups. Empty if the workers' address is not set.
    private let workers: [CitusWorkers]
    /// One connection, on which the coordinator is asked which worker has which tenant. No slow
    /// statement occupies it. `nil` if the workers' address is not set.
    private let routing: Postgres?

    init(
        _ configuration: ServiceConfiguration, _ loops: [EventLoop], _ metrics: ServiceMetrics,
        _ logger: Logger
    ) {
        let plan = ConnectionPlan(limit: configuration.databaseConnections, loops: loops.count)
        metrics.database(limit: configuration.databaseConnections)
        var app = PostgresConfiguration(conninfo: configuration.appConninfo)
        app.log = { Self.log($0, $1, "", logger) }
        app.measures = metrics.database(role: "app")
        app.budget = ConnectionBudget(spare: plan.spare)
        app.growsAt = PostgresConfiguration.loadedAt
        var platform = app
        platform.measures = metrics.database(role: "platform")
        platform.conninfo = configuration.platformConninfo
        // The platform's role mostly reads, so few connections stay open.
        platform.readsPerLoop = 1
        platform.readsAtRest = 0
        platform.transactionsPerLoop = 0
        var lookups = platform
        lookups.measures = metrics.database(role: "lookups")
        standbys = configuration.reads.map { reads in
            var app = PostgresConfiguration(conninfo: reads.appConninfo)
            app.log = { Self.log($0, $1, "standby", logger) }
            app.measures.connections = metrics.standbyConnections()
            var platform = app
            platform.conninfo = reads.platformConninfo
            return Standbys(
                app: app, platform: platform, loops: loops,
                positions: PrimaryPositions(limit: reads.lag), measures: metrics.standbys())
        }
        var asking = lookups
        asking.budget = nil
        let workers = configuration.workerConninfo.map { url in
            let routing = Postgres(configuration: asking, loops: [loops[0]])
            let lists = CitusWorkers(asking: routing) { server in
                var worker = Self.worker(server, url, metrics, logger)
                // The workers get half of the connections that the process may open.
                worker.readsPerLoop = max(1, configuration.databaseConnections / 2 / loops.count)
                return Postgres(configuration: worker, loops: loops)
            }
            let lookups = CitusWorkers(asking: routing) { server in
                var worker = Self.worker(server, ServeCommand.switchingRole(url), metrics, logger)
                // With a single connection, look-ups that arrive together are answered together.
                worker.readsPerLoop = 1
                return Postgres(configuration: worker, loops: loops)
            }
            return (routing, [lists, lookups])
        }
        routing = workers?.0
        self.workers = workers?.1 ?? []
        self.app = Postgres(
            configuration: app, loops: loops, reserved: plan.app, workers: workers?.1.first)
        self.lookups = Postgres(
            configuration: lookups, loops: loops, reserved: plan.lookups, workers: workers?.1.last)
        self.platform = Postgres(configuration: platform, loops: loops, reserved: plan.platform)
    }

    /// Logs an event of a connection. `server` is empty for the server that takes all writes.
    private static func log(
        _ event: StaticString, _ detail: String, _ server: String, _ logger: Logger
    ) {
        let isOver = sameBytes(event.description, DatabaseOutages.isBack.description)
        var fields: [(StaticString, LogValue)] = [("detail", .text(detail))]
        if !server.isEmpty { fields.insert(("server", .text(server)), at: 0) }
        logger.log(isOver ? .notice : .warning, event, fields)
    }

    /// Returns the configuration for connections to a worker, which is only read from.
    private static func worker(
        _ server: CitusWorkers.Server, _ url: String, _ metrics: ServiceMetrics, _ logger: Logger
    ) -> PostgresConfiguration {
        var worker = PostgresConfiguration(worker: server, url: url)
        worker.log = { Self.log($0, $1, server.description, logger) }
        worker.measures.connections = metrics.workerConnections()
        worker.readsAtRest = 0
        worker.growsAt = PostgresConfiguration.loadedAt
        worker.transactionsPerLoop = 0
        return worker
    }

    /// A function that reads from the coordinator which worker has which tenants; `nil` if no
    /// workers are set.
    var followingWorkers: (@Sendable () async throws -> Void)? {
        if workers.isEmpty { return nil }
        return { for each in workers { try await each.refresh() } }
    }

    func close() async {
        for each in workers { await each.close() }
        await routing?.close()
        await app.close()
        await platform.close()
        await lookups.close()
        await standbys?.close()
    }
}

extension PostgresConfiguration {
    /// Creates the configuration for one worker; `url` is a connection string with placeholders for
    /// its host and port.
    init(worker server: CitusWorkers.Server, url: String) {
        self.init(conninfo: server.conninfo(url))
        isDistributed = true
        // A worker that has become a standby may not have the last revocations yet.
        takesWrites = true
        // Never let PostgreSQL keep the plan of a read. Citus 13.2.2 would still make its own plan
        // for each run, and would never free it (Citus pull request 8824).
        planCacheMode = "force_custom_plan"
    }
}
