import Networking
import Observability
import Postgres

/// The process's connections to PostgreSQL: the app's role, the platform's, and the look-ups of keys,
/// which slow list queries must not delay.
struct DatabasePools: Sendable {
    let app: Postgres
    let platform: Postgres
    let lookups: Postgres

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
        self.app = Postgres(configuration: app, loops: loops, reserved: plan.app)
        self.lookups = Postgres(configuration: lookups, loops: loops, reserved: plan.lookups)
        self.platform = Postgres(configuration: platform, loops: loops, reserved: plan.platform)
    }

    func close() async {
        await app.close()
        await platform.close()
        await lookups.close()
    }
}
