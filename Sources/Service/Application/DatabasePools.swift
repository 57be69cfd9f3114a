import Networking
import Observability
import Postgres

/// The process's connections to PostgreSQL: the app's role, the platform's, and the look-ups of keys,
/// which slow list queries must not delay.
struct DatabasePools: Sendable {
    let app: Postgres
    let platform: Postgres
    let lookups: Postgres
    /// nil: none are set.
    let standbys: Standbys?

    init(
        _ configuration: ServiceConfiguration, _ loops: [EventLoop], _ metrics: ServiceMetrics,
        _ logger: Logger
    ) {
        let plan = ConnectionPlan(limit: configuration.databaseConnections, loops: loops.count)
        metrics.database(limit: configuration.databaseConnections)
        var app = PostgresConfiguration(conninfo: configuration.appConninfo)
        app.log = { event, detail in logger.log(.warning, event, [("detail", .text(detail))]) }
        app.measures = metrics.database(role: "app")
        app.budget = ConnectionBudget(spare: plan.spare)
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
            app.log = { event, detail in
                logger.log(
                    .warning, event, [("server", .text("standby")), ("detail", .text(detail))])
            }
            app.measures.connections = metrics.standbyConnections()
            var platform = app
            platform.conninfo = reads.platformConninfo
            return Standbys(
                app: app, platform: platform, loops: loops,
                positions: PrimaryPositions(limit: reads.lag), measures: metrics.standbys())
        }
        self.app = Postgres(configuration: app, loops: loops, reserved: plan.app)
        self.lookups = Postgres(configuration: lookups, loops: loops, reserved: plan.lookups)
        self.platform = Postgres(configuration: platform, loops: loops, reserved: plan.platform)
    }

    func close() async {
        await app.close()
        await platform.close()
        await lookups.close()
        await standbys?.close()
    }
}
