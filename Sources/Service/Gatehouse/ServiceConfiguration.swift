import Cryptography
import Postgres
import Runtime
import Storage

/// Everything that the service needs to start. `gatehouse dev` sets some of the values itself; the
/// others come from the environment.
package struct ServiceConfiguration: Sendable {
    package var appConninfo: String
    package var platformConninfo: String
    /// How to reach standbys, which answer reads that may be slightly old; `nil` to read only from
    /// the primary.
    var reads: ReadConfiguration?
    /// The connection string for the workers of a distributed database, with the placeholders
    /// `{host}` and `{port}`; `nil` to send every read to the coordinator.
    var workerConninfo: String?
    /// The secret keys. Directory keys, the pepper and sealing keys are derived from them.
    var secrets: SecretKeys
    package var listen: String
    package var publicURL: String?
    package var threads: Int
    /// The maximum number of connections to PostgreSQL that the process opens, for all roles
    /// together.
    var databaseConnections: Int
    /// How long the server still accepts requests after the signal to stop.
    var drain: Duration
    var consoleDirectory: String
    package var tlsCertificate: String?
    package var tlsKey: String?
    /// How long this process may answer from its cache after PostgreSQL last confirmed that the
    /// cache is current.
    package var lease: Duration
    /// The PEM of a P-256 key that signs access tokens; `nil` to use the key in the database.
    var signingKey: String?
    package var externalServices: ExternalServices
    package var logger: Logger
    /// `host:port` of a listener only for `/metrics`; `nil` to serve `/metrics` on the service's
    /// own port.
    package var metricsListen: String?
    var retention = Retention()
    /// The addresses and CIDR blocks of trusted proxies. Their `X-Forwarded-For` and
    /// `X-Forwarded-Proto` are believed.
    package var trustedProxies: [String] = []
    /// Whether jobs leave nearly all of the processor time to requests while requests arrive.
    var jobsGiveWay = true
    /// Whether imports accept only password hashes within the tight bounds.
    var holdsImportedHashesTightly = false
    /// Where traces are sent; `nil` if none are recorded.
    package var traces: TraceConfiguration?
    /// Days within which owners and admins have to set up a second factor; `nil` if they need none.
    var secondFactorDays: Int?

    package init(
        appConninfo: String, platformConninfo: String, secrets: SecretKeys, listen: String,
        publicURL: String? = nil, threads: Int, consoleDirectory: String,
        tlsCertificate: String? = nil, tlsKey: String? = nil, signingKey: String? = nil,
        lease: Duration = .seconds(3), externalServices: ExternalServices = ExternalServices(),
        logger: Logger, metricsListen: String? = nil,
        retention: Retention = Retention(), trustedProxies: [String] = [],
        databaseConnections: Int? = nil, drain: Duration = .zero
    ) {
        self.appConninfo = appConninfo
        self.platformConninfo = platformConninfo
        self.secrets = secrets
        self.listen = listen
        self.publicURL = publicURL
        self.threads = threads
        self.drain = drain
        self.databaseConnections = databaseConnections ?? ConnectionPlan.standard(loops: threads)
        self.consoleDirectory = consoleDirectory
        self.tlsCertificate = tlsCertificate
        self.tlsKey = tlsKey
        self.lease = lease
        self.signingKey = signingKey
        self.externalServices = externalServices
        self.logger = logger
        self.metricsListen = metricsListen
        self.retention = retention
        self.trustedProxies = trustedProxies
    }
}

/// The connection strings of standbys, and how old their data may be.
struct ReadConfiguration: Sendable {
    var appConninfo: String
    var platformConninfo: String
    /// How many seconds a standby may be behind the primary and still answer reads.
    var lag: Int

    init(appConninfo: String, platformConninfo: String, lag: Int = 10) {
        self.appConninfo = appConninfo
        self.platformConninfo = platformConninfo
        self.lag = lag
    }

    /// Creates the configuration from the settings; `nil` if they set no standby.
    init?(_ settings: Settings) {
        guard let url = settings.readDatabaseURL else { return nil }
        self.init(
            appConninfo: url.text,
            platformConninfo: settings.readPlatformDatabaseURL?.text
                ?? ServeCommand.switchingRole(url.text),
            lag: settings.readLag)
    }
}

extension Settings {
    var retention: Retention {
        var retention = Retention()
        retention.decisions = Int64(decisionDays) * 86_400
        retention.answers = Int64(idempotencyHours) * 3600
        return retention
    }
}

extension ServiceConfiguration {
    /// Creates the configuration from the settings and from the values that differ between
    /// commands.
    init(
        _ settings: Settings, appConninfo: String, platformConninfo: String, secrets: SecretKeys,
        externalServices: ExternalServices, logger: Logger, drain: Duration
    ) throws {
        try self.init(
            appConninfo: appConninfo, platformConninfo: platformConninfo, secrets: secrets,
            listen: settings.listen.text, publicURL: settings.publicURL, threads: settings.threads,
            consoleDirectory: Installation.find("Public"), tlsCertificate: settings.tlsCertificate,
            tlsKey: settings.tlsKey, signingKey: settings.signingKey?.text, lease: settings.lease,
            externalServices: externalServices, logger: logger,
            metricsListen: settings.metricsListen?.text, retention: settings.retention,
            trustedProxies: settings.trustedProxies,
            databaseConnections: settings.databaseConnections, drain: settings.drain ?? drain)
        workerConninfo = settings.workerDatabaseURL?.text
        jobsGiveWay = settings.jobsGiveWay
        holdsImportedHashesTightly = settings.holdsImportedHashesTightly
        reads = ReadConfiguration(settings)
        traces = settings.tracesURL.map {
            TraceConfiguration(url: $0, ratio: settings.tracesRatio)
        }
        secondFactorDays = settings.secondFactorDays
    }

    /// The base address for links: the public URL, or the listening address if there is no public
    /// URL.
    var address: String { publicURL ?? "http://\(listen)" }
}
