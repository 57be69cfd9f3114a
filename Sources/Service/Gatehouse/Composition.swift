import API
import Cryptography
import HTTP
import Outbound
import Postgres
import Runtime
import Storage
import Text

/// The service without its sockets: the application, the dispatcher of its requests, and its
/// background work. Tests call it directly; `Service` gives it sockets.
package struct Composition: Sendable {
    package let application: Application
    package let dispatcher: Dispatcher
    let mounts: Mounts
    /// Sends queued mails; `nil` if no mail server is set.
    package let mailSender: MailSender?
    /// Sends the mails for forgotten passwords; started only if a mail server is set.
    package let resetAnswers: ResetAnswers
    package let jobs: JobRunner
    /// Checks the DNS records of verified domains from time to time.
    package let domainChecks: DomainChecks
    /// Applies the tenants' rules for inactive accounts from time to time.
    package let inactivity: InactivityRounds

    /// Creates the service. If `principal` is set, every request counts as made by this caller,
    /// whatever credential it carries; the command line needs this. All keys of the service are
    /// derived from `secrets`. `databaseClock` is set to PostgreSQL's time whenever the lease is
    /// renewed. `signingKey` is the PEM of a P-256 key that signs access tokens instead of the key
    /// in the database.
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
        let database = Database(
            app: app, platform: platform, lookups: lookups,
            replica: Replica(
                postgres: app, lease: lease, waits: metrics.revocationWaits,
                report: { databaseClock?.learn($0, within: $1) }),
            secrets: secrets, options: options, clock: clock)
        var parts = Application.Options(publicURL: publicURL)
        parts.sendsMail = externalServices.mail != nil
        parts.holdsImportedHashesTightly = holdsImportedHashesTightly
        parts.providers = externalServices.providers
        parts.nameServer = externalServices.nameServer
        parts.pause = externalServices.pause
        parts.clients = Contracts.descriptions
        parts.endpoints = Routes.all
        application = try Application(
            database: database,
            passwords: passwords ?? PasswordHasher(secrets: secrets, threads: 2),
            signingKey: signingKey, metrics: metrics, logger: logger, options: parts)
        dispatcher = try Dispatcher(
            endpoints: Routes.all + Contracts.endpoints + HostedSignIn.endpoints
                + [KeySetEndpoint.endpoint],
            application: application, principal: principal, tracer: tracer)
        mounts = Mounts(database: database, publicURL: publicURL)
        mailSender = externalServices.mail.map { mail in
            MailSender(
                server: MailServer(url: mail.url, authorities: mail.authorities), from: mail.from,
                database: database, logger: logger)
        }
        resetAnswers = ResetAnswers(database: database, publicURL: publicURL)
        jobs = JobRunner(application: application, rest: jobsGiveWay ? nil : JobRest.none)
        domainChecks = DomainChecks(application: application)
        inactivity = InactivityRounds(database: database)
    }

    /// Returns the response of the API or of a client's contract, chosen by host and path.
    package func respond(to request: Request) async -> Response {
        switch await mounts.target(request) {
        case .own(let request), .client(let request): await dispatcher.respond(to: request)
        case .refused(let answer, _): answer
        }
    }
}

extension Composition {
    /// Creates the service for a running process, from its connection pools and its configuration.
    init(
        _ pools: DatabasePools, _ configuration: ServiceConfiguration, _ metrics: ServiceMetrics,
        _ logger: Logger, _ tracer: Tracer?
    ) throws {
        let clock = DatabaseClock(Timestamp.systemClock) { difference in
            metrics.clockDifference.set(Int(difference / 1_000_000))
            guard abs(difference) > 1_000_000 else { return }
            logger.log(
                .warning, "clock.differed",
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
