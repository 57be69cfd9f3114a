import API
import Console
import Cryptography
import Domain
import HTTP
import Mail
import Networking
import Observability
import Postgres
import Replication
import Serving
import Storage
import Text

/// The running service: loops, connections to the database, one HTTP server.
package final class Service: Sendable {
    private let loops: [EventLoop]
    private let app: Postgres
    private let platform: Postgres
    private let lookups: Postgres
    private let server: Server
    private let metricsServer: Server?
    private let housekeeping: Housekeeping
    private let log: LoopLog
    private let periodicTasks: [PeriodicTask]
    private let drainState = DrainState()
    private let drain: Duration
    private let tls: (chain: String, key: String)?
    package let composition: Composition
    package let port: Int
    /// The port of `/metrics` if it has a listener of its own.
    package let metricsPort: Int?

    /// Starts everything and returns once the port is open; `prepare` runs before that.
    package static func start(
        _ configuration: ServiceConfiguration,
        prepare: @Sendable (Composition) async throws -> Void = { _ in }
    ) async throws -> Service {
        let loops = (0..<configuration.threads).map { EventLoop(index: $0) }
        for loop in loops { loop.start() }
        return try await Service(configuration, loops, prepare)
    }

    private init(
        _ configuration: ServiceConfiguration, _ loops: [EventLoop],
        _ prepare: @Sendable (Composition) async throws -> Void
    ) async throws {
        self.loops = loops
        log = LoopLog(loops, descriptor: configuration.logger.descriptor)
        let logger = configuration.logger.writing(to: log)
        let metrics = ServiceMetrics()
        var appConfiguration = PostgresConfiguration(conninfo: configuration.appConninfo)
        appConfiguration.log = { event, detail in
            logger.log(.warning, event, [("detail", .text(detail))])
        }
        appConfiguration.measures = metrics.database(role: "app")
        let plan = ConnectionPlan(limit: configuration.databaseConnections, loops: loops.count)
        metrics.database(limit: configuration.databaseConnections)
        appConfiguration.budget = ConnectionBudget(spare: plan.spare)
        var platformConfiguration = appConfiguration
        platformConfiguration.measures = metrics.database(role: "platform")
        platformConfiguration.conninfo = configuration.platformConninfo
        // The platform's role mostly reads, so few connections stay open.
        platformConfiguration.readsPerLoop = 1
        platformConfiguration.readsAtRest = 0
        platformConfiguration.transactionsPerLoop = 0
        var lookupConfiguration = platformConfiguration
        lookupConfiguration.measures = metrics.database(role: "lookups")
        app = Postgres(configuration: appConfiguration, loops: loops, reserved: plan.app)
        lookups = Postgres(configuration: lookupConfiguration, loops: loops, reserved: plan.lookups)
        platform = Postgres(
            configuration: platformConfiguration, loops: loops, reserved: plan.platform)
        let publicURL = configuration.publicURL ?? "http://\(configuration.listen)"
        let composition = try Composition(
            app: app, platform: platform, lookups: lookups, secrets: configuration.secrets,
            publicURL: publicURL, signingKey: configuration.signingKey,
            lease: configuration.lease, logger: logger,
            externalServices: configuration.externalServices,
            metrics: metrics, retention: configuration.retention, clock: Timestamp.systemClock)
        self.composition = composition
        composition.database.replica.start()
        try await composition.database.admitSecrets(replica: composition.database.replica.id)
        try await prepare(composition)
        let responseCache = ResponseCache(
            database: composition.database, enforcer: composition.enforcer,
            metrics: composition.metrics)
        let proxies = TrustedProxies(
            configuration.trustedProxies,
            isSecure: PublicAddress(publicURL).map { sameBytes($0.scheme, "https") } ?? false)
        let quick = QuickVerification(composition)
        let site = try HTTPSite(
            console: ConsoleFiles(directory: configuration.consoleDirectory),
            composition: composition, responseCache: responseCache,
            proxies: proxies, drainState: drainState,
            showsMetrics: configuration.metricsListen == nil)
        var limits = ServerConfiguration()
        limits.measures = metrics.server()
        server = Server(
            loops: loops, configuration: limits,
            respond: { await site.respond(to: $0) },
            fast: { request, writer in
                guard let request = proxies.unwrapped(request) else { return .declined }
                if responseCache.answer(request, writer) { return .given }
                return quick.answer(request, writer)
            },
            refuse: { await site.refuse($0, as: $1) }, precheck: { await site.precheck($0) })
        drain = configuration.drain
        var context: TLSContext?
        var files: (chain: String, key: String)?
        if let chain = configuration.tlsCertificate, let key = configuration.tlsKey {
            context = try TLSContext(certificateChain: chain, privateKey: key)
            files = (chain: chain, key: key)
        }
        tls = files
        if let address = configuration.metricsListen {
            let server = Server(loops: [loops[0]]) { request in
                request.path == "/metrics" ? metrics.page() : Response(404)
            }
            metricsPort = try await server.start(address: address)
            metricsServer = server
        } else {
            metricsPort = nil
            metricsServer = nil
        }
        port = try await server.start(address: configuration.listen, tls: context)
        housekeeping = Housekeeping(
            loop: loops[0], database: composition.database, metrics: metrics, logger: logger)
        housekeeping.start()
        let checks = composition.domainChecks
        var periodicTasks = [
            PeriodicTask("domain check failed", every: 600, on: loops[0], logger: logger) {
                try await checks.round()
            }
        ]
        if let mailSender = composition.mailSender {
            let answers = composition.resetAnswers
            // A failed item is still there, so the next round finds it.
            periodicTasks.append(
                PeriodicTask("mail sending failed", every: 1, on: loops[0], logger: logger) {
                    try await mailSender.round()
                })
            periodicTasks.append(
                PeriodicTask("password resets failed", every: 1, on: loops[0], logger: logger) {
                    try await answers.round()
                })
        }
        if configuration.secrets.previous != nil {
            let database = composition.database
            periodicTasks.append(
                PeriodicTask(
                    "secret key rotation check failed", every: 1, on: loops[0], logger: logger
                ) {
                    _ = try await database.followSecrets(replica: database.replica.id)
                })
        }
        self.periodicTasks = periodicTasks
        for one in periodicTasks { one.start() }
    }

    /// Reports not ready and closes each connection after its response, but continues to serve
    /// until balancers notice. Call `stop` after `drain`.
    package func prepareToStop() {
        drainState.begin()
        server.prepareToLeave()
    }

    /// Reloads the certificate and its key for new connections; false if none are configured.
    /// Throws `TLSError` and keeps the current ones.
    package func reloadTLS() throws -> Bool {
        guard let tls else { return false }
        server.replaceTLS(try TLSContext(certificateChain: tls.chain, privateKey: tls.key))
        return true
    }

    /// Answers requests in flight, then closes; acknowledged changes are not lost.
    package func stop() async {
        prepareToStop()
        housekeeping.stop()
        for one in periodicTasks { one.stop() }
        composition.mailSender?.stop()
        // A handshake in progress needs one more round trip.
        await server.drain(
            deadline: .seconds(10), grace: drain > .zero ? .milliseconds(200) : .zero)
        await metricsServer?.drain(deadline: .seconds(1))
        await composition.database.writeKeyUses()
        await composition.database.writeSignIns()
        await composition.database.leaveSecrets(replica: composition.database.replica.id)
        await composition.database.replica.stop()
        await app.close()
        await platform.close()
        await lookups.close()
        await log.flush()
    }
}
