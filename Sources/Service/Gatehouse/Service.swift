import API
import Cryptography
import Domain
import HTTP
import Postgres
import Runtime
import Storage
import Synchronization
import Text

/// The running service: its event loops, its connections to the database, and its HTTP server.
package final class Service: Sendable {
    private let loops: [EventLoop]
    private let pools: DatabasePools
    private let server: Server
    private let metricsServer: Server?
    private let log: LoopLog
    private let logger: Logger
    private let periodicTasks: [PeriodicTask]
    /// Sends traces; `nil` if none are recorded.
    private let traces: TraceExport?
    private let drainState = DrainState()
    private let drain: Duration
    private let tls: (chain: String, key: String)?
    private static let countsFailed: StaticString = "counters.write_failed"
    /// How long a stop waits for the trace collector to take the last traces.
    private static let lastTracesTime: Duration = .seconds(2)
    package let composition: Composition
    package let port: Int
    /// The port of `/metrics` if it has a listener of its own; otherwise `nil`.
    package let metricsPort: Int?

    /// Starts everything and returns when the port is open. `prepare` runs before the port is
    /// opened.
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
        self.logger = logger
        let metrics = ServiceMetrics()
        pools = DatabasePools(configuration, loops, metrics, logger)
        traces = configuration.traces.map {
            TraceExport($0, counters: metrics.spans(), logger: logger)
        }
        composition = try Composition(pools, configuration, metrics, logger, traces?.tracer)
        composition.application.database.replica.start()
        try await composition.application.database.admitSecrets(
            replica: composition.application.database.replica.id)
        try await composition.application.database.markUsablePasskeys()
        // If this fails, the primary answers all reads until the next round.
        try? await pools.standbys?.follow(pools.app)
        // If this fails, the coordinator answers all reads until the next round.
        try? await pools.followingWorkers?()
        try await prepare(composition)
        server = try Self.server(configuration, loops, composition, drainState, logger)
        drain = configuration.drain
        var context: TLSContext?
        var files: (chain: String, key: String)?
        if let chain = configuration.tlsCertificate, let key = configuration.tlsKey {
            let made = try TLSContext(certificateChain: chain, privateKey: key)
            metrics.certificateExpires.set(made.expiresAt)
            context = made
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
        let isTold: @Sendable (any Error) -> Bool = { [pools] error in
            (error as? PostgresError)?.isOfConnection == true
                && pools.app.configuration.outages.isAway
        }
        var tasks = Self.periodicTasks(configuration, composition, loops, logger, isTold)
        if let follow = pools.followingWorkers {
            tasks.append(
                PeriodicTask(
                    "workers.refresh_failed", every: 3, first: nil, on: loops[0],
                    logger: logger, isTold: isTold, follow))
        }
        if let traces { tasks.append(traces.task(on: loops[loops.count - 1])) }
        periodicTasks = tasks
        for one in periodicTasks { one.start() }
    }

    /// Creates the HTTP server. For each request, the server tries the cached responses and the
    /// fast path for verifications first, and then the ordinary path.
    private static func server(
        _ configuration: ServiceConfiguration, _ loops: [EventLoop], _ composition: Composition,
        _ drainState: DrainState, _ logger: Logger
    ) throws -> Server {
        let responseCache = ResponseCache(
            database: composition.application.database, enforcer: composition.application.origins,
            metrics: composition.application.metrics)
        let proxies = TrustedProxies(
            configuration.trustedProxies,
            isSecure: PublicAddress(configuration.address).map { sameBytes($0.scheme, "https") }
                ?? false
        ) {
            // The text comes from the caller and may be anything, so log only its beginning.
            logger.log(
                .warning, "forwarded_address.rejected",
                [("value", .text(String($0.prefix(200))))])
        }
        let quick = QuickVerification(composition.application)
        let site = try HTTPSite(
            console: ConsoleFiles(directory: configuration.consoleDirectory),
            composition: composition, responseCache: responseCache, proxies: proxies,
            drainState: drainState, showsMetrics: configuration.metricsListen == nil)
        var limits = ServerConfiguration()
        limits.limits.streamedBody = composition.dispatcher.longestStreamedBody
        limits.measures = composition.application.metrics.server()
        return Server(
            loops: loops, configuration: limits,
            respond: { await site.respond(to: $0) },
            fast: { request, writer in
                guard let request = proxies.unwrapped(request) else { return .declined }
                if responseCache.answer(request, writer) { return .given }
                return quick.answer(request, writer)
            },
            refuse: { await site.refuse($0, as: $1) }, precheck: { await site.precheck($0) },
            streams: { composition.dispatcher.streamedBody($0) })
    }

    private static func periodicTasks(
        _ configuration: ServiceConfiguration, _ composition: Composition, _ loops: [EventLoop],
        _ logger: Logger, _ isTold: @escaping @Sendable (any Error) -> Bool
    ) -> [PeriodicTask] {
        let database = composition.application.database
        let housekeeping = Housekeeping(
            database: database, metrics: composition.application.metrics)
        func task(
            _ name: StaticString, every seconds: Int64, first: Int64? = nil,
            on loop: EventLoop? = nil,
            _ work: @escaping @Sendable () async throws -> Void
        ) -> PeriodicTask {
            PeriodicTask(
                name, every: seconds, first: first, on: loop ?? loops[0], logger: logger,
                isTold: isTold, work)
        }
        // An item whose processing failed stays in the database, so the next round tries it again.
        var tasks = [
            task("sweep.failed", every: 600, first: 30) {
                try await housekeeping.sweep()
            },
            task(countsFailed, every: Housekeeping.writeInterval) {
                try await housekeeping.write()
            },
            task("attributes.index_failed", every: 5) { try await housekeeping.index() },
            task("domains.check_failed", every: 600) { try await composition.domainChecks.round() },
            task("inactivity.check_failed", every: 600, first: 60) {
                try await composition.inactivity.round()
            },
        ]
        if let standbys = database.options.standbys {
            tasks.append(
                task("standby.check_failed", every: 1) {
                    try await standbys.follow(database.app)
                })
        }
        // Jobs create mails to send. So if there are several loops, run the jobs on another loop
        // than the one that sends the mails.
        for _ in 0..<JobRunner.lanes {
            tasks.append(
                task("jobs.round_failed", every: 1, on: loops[loops.count - 1]) {
                    try await composition.jobs.round()
                })
        }
        if let mailSender = composition.mailSender {
            tasks += [
                task("mail.round_failed", every: 1) { try await mailSender.round() },
                task("password_resets.round_failed", every: 1) {
                    try await composition.resetAnswers.round()
                },
            ]
        }
        if configuration.secrets.previous != nil {
            tasks.append(
                task("secret_key.check_failed", every: 1) {
                    _ = try await database.followSecrets(replica: database.replica.id)
                })
        }
        return tasks
    }

    /// Begins a stop. The service reports that it is not ready and closes each connection after its
    /// next response, but still serves until load balancers notice. Call `stop` when the configured
    /// `drain` time is over.
    package func prepareToStop() {
        drainState.begin()
        server.prepareToLeave()
    }

    /// Reloads the certificate and its key for new connections. Returns false if no certificate is
    /// configured. If the files are not valid, throws `TLSError` and keeps the current certificate
    /// and key.
    package func reloadTLS() throws -> Bool {
        guard let tls else { return false }
        let renewed = try TLSContext(certificateChain: tls.chain, privateKey: tls.key)
        server.replaceTLS(renewed)
        composition.application.metrics.certificateExpires.set(renewed.expiresAt)
        return true
    }

    /// Answers the requests in progress, then closes everything. No change that was confirmed to a
    /// caller is lost.
    package func stop() async {
        prepareToStop()
        for one in periodicTasks { one.stop() }
        composition.mailSender?.stop()
        composition.jobs.stop()
        // `grace` is for a TLS handshake in progress, which needs one more round trip.
        await server.drain(
            deadline: .seconds(10), grace: drain > .zero ? .milliseconds(200) : .zero)
        await metricsServer?.drain(deadline: .seconds(1))
        if let fault = await composition.application.database.writeCounted() {
            logger.log(.warning, Self.countsFailed, [("fault", .text("\(fault)"))])
        }
        await composition.application.database.leaveSecrets(
            replica: composition.application.database.replica.id)
        await composition.application.database.replica.stop()
        await traces?.round(until: .now + Self.lastTracesTime)
        await pools.close()
        await log.flush()
    }
}

/// Whether the service is stopping and only waits until load balancers notice.
final class DrainState: Sendable {
    private let begun = Atomic<Bool>(false)

    var hasBegun: Bool { begun.load(ordering: .relaxed) }
    func begin() { begun.store(true, ordering: .relaxed) }
}
