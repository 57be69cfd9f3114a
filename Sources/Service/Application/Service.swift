import API
import Console
import Cryptography
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
    private let rounds: [Rounds]
    package let composition: Composition
    package let port: Int
    /// Of `/metrics`, where it has a listener of its own.
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
        var platformConfiguration = appConfiguration
        platformConfiguration.measures = metrics.database(role: "platform")
        platformConfiguration.conninfo = configuration.platformConninfo
        platformConfiguration.readsPerLoop = 1
        platformConfiguration.transactionsPerLoop = 1
        var lookupConfiguration = platformConfiguration
        lookupConfiguration.measures = metrics.database(role: "lookups")
        lookupConfiguration.transactionsPerLoop = 0
        app = Postgres(configuration: appConfiguration, loops: loops)
        lookups = Postgres(configuration: lookupConfiguration, loops: loops)
        platform = Postgres(configuration: platformConfiguration, loops: loops)
        let publicURL = configuration.publicURL ?? "http://\(configuration.listen)"
        let composition = try Composition(
            app: app, platform: platform, lookups: lookups, secrets: configuration.secrets,
            publicURL: publicURL, signingKey: configuration.signingKey,
            lease: configuration.lease, logger: logger,
            outside: configuration.outside,
            metrics: metrics, retention: configuration.retention, clock: Timestamp.systemClock)
        self.composition = composition
        composition.database.replica.start()
        try await composition.database.admitSecrets(replica: composition.database.replica.id)
        try await prepare(composition)
        let remembered = RememberedAnswers(
            database: composition.database, judge: composition.judge,
            metrics: composition.metrics)
        let proxies = TrustedProxies(configuration.trustedProxies)
        let quick = QuickVerification(composition)
        let site = try Site(
            console: ConsoleFiles(directory: configuration.consoleDirectory),
            composition: composition, remembered: remembered,
            proxies: proxies,
            showsMetrics: configuration.metricsListen == nil)
        var limits = ServerConfiguration()
        limits.measures = metrics.server()
        server = Server(
            loops: loops, configuration: limits,
            respond: { await site.respond(to: $0) },
            fast: { request, writer in
                guard let request = proxies.unwrapped(request) else { return .declined }
                if remembered.answer(request, writer) { return .given }
                return quick.answer(request, writer)
            },
            refuse: { await site.refuse($0, as: $1) })
        var tls: TLSContext?
        if let chain = configuration.tlsCertificate, let key = configuration.tlsKey {
            tls = try TLSContext(certificateChain: chain, privateKey: key)
        }
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
        port = try await server.start(address: configuration.listen, tls: tls)
        housekeeping = Housekeeping(
            loop: loops[0], database: composition.database, metrics: metrics, logger: logger)
        housekeeping.start()
        let checks = composition.domainChecks
        var rounds = [
            Rounds("domains are not looked at", every: 600, on: loops[0], logger: logger) {
                try await checks.round()
            }
        ]
        if let postman = composition.postman {
            let answers = composition.resetAnswers
            // What fails is there still, so the next round finds it.
            rounds.append(
                Rounds("mail is not sent", every: 1, on: loops[0], logger: logger) {
                    try await postman.round()
                })
            rounds.append(
                Rounds("resets are not answered", every: 1, on: loops[0], logger: logger) {
                    try await answers.round()
                })
        }
        if configuration.secrets.previous != nil {
            let database = composition.database
            rounds.append(
                Rounds("the secret key in use is not known", every: 1, on: loops[0], logger: logger)
                {
                    _ = try await database.followSecrets(replica: database.replica.id)
                })
        }
        self.rounds = rounds
        for one in rounds { one.start() }
    }

    /// Answers what is in flight, then closes; nothing acknowledged is lost.
    package func stop() async {
        housekeeping.stop()
        for one in rounds { one.stop() }
        composition.postman?.stop()
        await server.drain(deadline: .seconds(10))
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
