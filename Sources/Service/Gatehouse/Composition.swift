import API
import Cryptography
import Domain
import HTTP
import Outbound
import Postgres
import Runtime
import Storage
import Text

/// The service without its sockets. Tests drive it in process; `Service` puts it behind sockets.
package struct Composition: Sendable {
    package let database: Database
    /// Runs every API request through its checks.
    package let dispatcher: Dispatcher
    package let passwords: PasswordHasher
    let enforcer: CORSPolicyEnforcer
    package let tokens: AccessTokens
    let mounts: Mounts
    package let metrics: ServiceMetrics
    let authenticator: Authenticator
    /// Writes one log line and the metrics of a finished request.
    let record: @Sendable (RequestRecord) -> Void
    /// Logs a warning with one field. A client may have chosen the value, so it is cut.
    let tell: @Sendable (StaticString, StaticString, String) -> Void
    /// `nil` if no mail server is set.
    package let mailSender: MailSender?
    /// Started only if a mail server is set.
    package let resetAnswers: ResetAnswers
    /// Works on jobs.
    package let jobs: JobRunner
    /// Checks the DNS records of verified domains from time to time.
    package let domainChecks: DomainChecks
    /// Starts the work of tenants' rules for inactivity.
    package let inactivity: InactivityRounds

    /// With a `principal`, every request has that caller, whatever credential it carries: for the
    /// command line. Every key of the service is derived from `secrets` by purpose. `databaseClock`
    /// learns PostgreSQL's time at each renewal of the lease. `signingKey` is PEM of a P-256 key
    /// that signs access tokens instead of the database's key.
    package init(
        app: Postgres, platform: Postgres, lookups: Postgres? = nil, standbys: Standbys? = nil,
        secrets: SecretKeys, publicURL: String, signingKey: String? = nil,
        passwords: PasswordHasher? = nil,
        lease: Duration = .seconds(3), logger: Logger? = nil,
        externalServices: ExternalServices = ExternalServices(),
        personLock: PersonLock = PersonLock(), metrics: ServiceMetrics = ServiceMetrics(),
        retention: Retention = Retention(), secondFactorDays: Int? = nil,
        principal: CallerPrincipal? = nil, jobsGiveWay: Bool = true,
        holdsImportedHashesTightly: Bool = false, tracer: Tracer? = nil,
        databaseClock: DatabaseClock? = nil,
        clock: @escaping @Sendable () -> Timestamp
    ) throws {
        var options = Database.Options()
        options.standbys = standbys
        options.personLock = personLock
        options.retention = retention
        options.secondFactorDays = secondFactorDays
        options.sendsMail = externalServices.mail != nil
        options.passkeySite = PasskeySite.of(publicURL: publicURL)
        options.onDecision = { metrics.record($0) }
        let storage = Database(
            app: app, platform: platform, lookups: lookups,
            replica: Self.replica(app, lease, metrics, databaseClock),
            secrets: secrets, options: options, clock: clock)
        database = storage
        self.metrics = metrics
        tokens = try AccessTokens(database: storage, issuer: publicURL, signingKey: signingKey)
        self.passwords = passwords ?? PasswordHasher(secrets: secrets, threads: 2)
        authenticator = Authenticator(database: storage, tokens: tokens)
        enforcer = CORSPolicyEnforcer(
            database: storage, publicURL: publicURL, profiles: Contracts.profiles)
        mounts = Mounts(database: storage, publicURL: publicURL)
        mailSender = Self.mailSender(externalServices, storage, logger)
        resetAnswers = ResetAnswers(database: storage, publicURL: publicURL)
        tell = { logger?.log(.warning, $0, [($1, .text(String($2.prefix(200))))]) }
        record = {
            metrics.record($0)
            Self.log($0, logger)
            Tracer.end($0)
        }
        let http = Self.outbound(externalServices.providers, storage)
        let core = SignInCore(
            database: storage, passwords: self.passwords, publicURL: publicURL, tokens: tokens,
            http: http, documents: ProviderDocuments(http: http, clock: clock),
            checkKey: { [authenticator] in try await authenticator.key($0, $1) },
            pause: externalServices.pause)
        var application = Self.application(core, externalServices, metrics)
        if !jobsGiveWay { application.answered = { 0 } }
        application.holdsImportedHashesTightly = holdsImportedHashesTightly
        domainChecks = DomainChecks(database: storage, application: application)
        inactivity = InactivityRounds(database: storage)
        jobs = JobRunner(database: storage, application: application)
        var hooks = Self.hooks(authenticator, enforcer, principal, record, clock)
        if let tracer { hooks.trace = { tracer.begin($0) } }
        dispatcher = try Dispatcher(
            endpoints: Routes.all + Contracts.endpoints(core) + HostedSignIn.endpoints(core)
                + [KeySetEndpoint.endpoint(tokens)],
            application: application, hooks: hooks)
    }

    private static func outbound(_ policy: OutboundPolicy, _ database: Database) -> OutboundHTTP {
        OutboundHTTP(policy: policy) { slug in try? await database.tenant(slug)?.id }
    }

    private static func replica(
        _ app: Postgres, _ lease: Duration, _ metrics: ServiceMetrics, _ clock: DatabaseClock?
    ) -> Replica {
        Replica(
            postgres: app, lease: lease, waits: metrics.revocationWaits,
            report: { clock?.learn($0, within: $1) })
    }

    private static func mailSender(
        _ externalServices: ExternalServices, _ database: Database, _ logger: Logger?
    ) -> MailSender? {
        let outage = RepeatedFailure(calm: 0)
        return externalServices.mail.map { mail in
            MailSender(
                server: MailServer(url: mail.url, authorities: mail.authorities), from: mail.from,
                database: database
            ) { log($0, outage, logger) }
        }
    }

    /// What endpoints use besides the database.
    private static func application(
        _ core: SignInCore, _ externalServices: ExternalServices, _ metrics: ServiceMetrics
    ) -> Application {
        var application = Application(
            database: core.database, passwords: core.passwords, documents: core.documents,
            publicURL: core.publicURL)
        application.onVerification = { metrics.record($0) }
        application.answered = { metrics.answered }
        application.onBounce = { metrics.record($0) }
        application.sendsMail = externalServices.mail != nil
        let resolver = TXTResolver(server: externalServices.nameServer)
        application.txtRecords = { try? await resolver.records(of: $0, for: $1) }
        application.pause = { await EventLoop.pause($0) }
        application.clients = Contracts.descriptions
        application.joining = HostedSignIn.joining(core)
        application.operatorLogin = OperatorLogin.service(core)
        application.signDocument = { [tokens = core.tokens] in try await tokens.sign($0, type: $1) }
        application.activeToken = { try await core.activeToken($0, mayAsk: $1) }
        return application
    }

    /// What the dispatcher's steps call.
    private static func hooks(
        _ authenticator: Authenticator, _ enforcer: CORSPolicyEnforcer,
        _ principal: CallerPrincipal?, _ record: @escaping @Sendable (RequestRecord) -> Void,
        _ clock: @escaping @Sendable () -> Timestamp
    ) -> Hooks {
        let database = authenticator.database
        return Hooks(
            authenticate: {
                if let principal { return principal }
                try await authenticator.refuseKeyInAddress($0)
                return try await authenticator.principal(of: $0)
            },
            recheck: {
                if let principal { return principal }
                return try await authenticator.uncounted.principal(of: $0)
            },
            resolveTenant: { try await Self.resolve($0, $1, database) },
            authorize: { Authorizer.refusal($0, $1, $2) },
            enforceCORS: { try await enforcer.enforce($0, $1) },
            encode: { Contracts.encode($0, $1) ?? LambdaEndpoint.encode($0, $1) },
            idempotency: SealedIdempotencyStore(database: database),
            awaitEarlierInvalidations: { tenant in
                try await database.awaitEarlierInvalidations(of: tenant ?? .platform)
            },
            problem: { Problem($0) }, record: record, now: clock)
    }

    /// The answer of the API and the client contracts, chosen by path and host.
    package func respond(to request: Request) async -> Response {
        switch await mounts.target(request) {
        case .own(let request), .client(let request): await dispatcher.respond(to: request)
        case .refused(let answer, _): answer
        }
    }

    /// While a tenant is suspended, its own credentials are refused; the platform's can still read
    /// and manage it.
    private static func resolve(
        _ idOrSlug: String, _ principal: CallerPrincipal, _ database: Database
    ) async throws -> ResolvedTenant? {
        guard let row = try await database.fetchTenant(idOrSlug) else { return nil }
        if !principal.platform {
            guard principal.tenant == row.id, row.status != .deleted else { return nil }
            if row.status == .suspended, !principal.mayResume {
                throw Problem(.reason(.tenantSuspended), "The tenant is suspended.")
            }
        }
        return ResolvedTenant(id: row.id, slug: row.slug)
    }

    /// A mail server that is away fails all mails alike, so this is logged as one failure.
    private static func log(
        _ report: MailSender.Report, _ outage: RepeatedFailure, _ logger: Logger?
    ) {
        if let failure = report.failure, report.isOfServer {
            guard let news = outage.failed(at: BootClock.now) else { return }
            logger?.log(
                .warning, "mail server is away", [("failure", .text(failure + news.suffix))])
            return
        }
        if report.failure == nil, let news = outage.worked(at: BootClock.now) {
            logger?.log(
                .notice, "mail server takes mail again",
                [("seconds", .int(news.seconds)), ("failures", .int(news.failures))])
        }
        logger?.log(
            report.failure == nil ? .info : .warning, "mail",
            [
                ("mail", .text(report.mail.description)), ("kind", .text(report.kind.rawValue)),
                ("attempts", .int(report.attempts)), ("failure", .text(report.failure ?? "")),
            ])
    }

    private static func log(_ record: RequestRecord, _ logger: Logger?) {
        guard let logger else { return }
        var fields: [(StaticString, LogValue)] = [
            ("request_id", .text(record.requestID)),
            ("method", .text(record.method.rawValue)),
            ("route", .text(record.route ?? "")),
            ("status", .int(record.status)),
            ("microseconds", .int(Int(record.microseconds))),
            ("ip", .text(record.remoteAddress)),
        ]
        if let beginning = record.beginning { fields.append(("path", .text(beginning))) }
        if let tenant = record.tenant { fields.append(("tenant", .text(tenant.description))) }
        if record.principal.kind != .anonymous {
            let id = record.principal.id.map { " \($0)" } ?? ""
            fields.append(("by", .text(record.principal.kind.rawValue + id)))
        }
        if let trace = Trace.current?.id ?? TraceParent(record.traceparent)?.trace {
            fields.append(("trace_id", .text(trace)))
        }
        if let fault = record.fault { fields.append(("fault", .text(fault))) }
        // Log the reason for a refusal if the response does not give it (it may be a redirect):
        // `dev` shows it too.
        let isUnsaid = record.fault != nil
        logger.log(record.isFailed ? .error : isUnsaid ? .notice : .info, "request", fields)
    }
}

extension Composition {
    /// As the running service uses it.
    init(
        _ pools: DatabasePools, _ configuration: ServiceConfiguration, _ metrics: ServiceMetrics,
        _ logger: Logger, _ tracer: Tracer?
    ) throws {
        let clock = DatabaseClock(Timestamp.systemClock) { difference in
            metrics.clockDifference.set(Int(difference / 1_000_000))
            guard abs(difference) > 1_000_000 else { return }
            logger.log(
                .warning, "the clock differs from PostgreSQL's",
                [("milliseconds", .int(Int(difference / 1000)))])
        }
        try self.init(
            app: pools.app, platform: pools.platform, lookups: pools.lookups,
            standbys: pools.standbys, secrets: configuration.secrets,
            publicURL: configuration.address,
            signingKey: configuration.signingKey, lease: configuration.lease, logger: logger,
            externalServices: configuration.externalServices, metrics: metrics,
            retention: configuration.retention,
            secondFactorDays: configuration.secondFactorDays,
            jobsGiveWay: configuration.jobsGiveWay,
            holdsImportedHashesTightly: configuration.holdsImportedHashesTightly, tracer: tracer,
            databaseClock: clock, clock: { clock.now })
    }
}
