/// The settings from the environment, parsed and checked.
package struct Settings: Sendable {
    /// The address of a listening socket, `host:port`.
    package struct Address: Sendable, Equatable {
        /// A host name or an address; an IPv6 address without brackets.
        package var host: String
        package var port: UInt16

        /// Whether the host stands for every address of the machine.
        package var isWildcard: Bool {
            ["0.0.0.0", "::", "*"].contains { $0.utf8.elementsEqual(host.utf8) }
        }

        /// Whether the two addresses conflict: two programs could not listen at both at the same
        /// time.
        func overlaps(_ other: Address) -> Bool {
            func plain(_ host: String) -> String {
                host.utf8.elementsEqual("localhost".utf8) ? "127.0.0.1" : host
            }
            guard port != 0, port == other.port else { return false }
            return isWildcard || other.isWildcard
                || plain(host).utf8.elementsEqual(plain(other.host).utf8)
        }
    }

    /// The format of log lines. `text` is for people to read.
    package enum Log: String, Sendable {
        case json
        case text
    }

    /// `GATEHOUSE_DATABASE_URL`: connects as the app's role, to which row-level security applies.
    package var databaseURL: Secret?
    /// `GATEHOUSE_MIGRATION_DATABASE_URL`: connects as the role that owns the schema.
    package var migrationDatabaseURL: Secret?
    /// `GATEHOUSE_BACKUP_DATABASE_URL`: connects as the role that may read every row, for dumps.
    package var backupDatabaseURL: Secret?
    /// `GATEHOUSE_DRILL_DATABASE_URL`: connects as a superuser to the server into which a restore
    /// drill restores a backup.
    package var drillDatabaseURL: Secret?
    /// `GATEHOUSE_DRILL_API_KEY`: an API key that must be valid in the database that a drill has
    /// restored.
    package var drillAPIKey: Secret?
    /// `GATEHOUSE_PLATFORM_DATABASE_URL`: connects as the role that may read all tenants.
    package var platformDatabaseURL: Secret?
    /// `GATEHOUSE_READ_DATABASE_URL`: connects to a standby as the app's role. If `nil`, the
    /// primary answers everything.
    package var readDatabaseURL: Secret?
    /// `GATEHOUSE_READ_PLATFORM_DATABASE_URL`: connects to a standby as the platform's role.
    package var readPlatformDatabaseURL: Secret?
    /// The greatest age, in seconds, at which a standby's data may still answer reads.
    package var readLag: Int
    /// `GATEHOUSE_WORKER_DATABASE_URL`: connects as the app's role to each worker server of a
    /// distributed database. It has the placeholders `{host}` and `{port}`. If `nil`, the
    /// coordinator answers every read.
    package var workerDatabaseURL: Secret?
    /// The secret key of at least 32 bytes, from which sealing keys and the password pepper are
    /// derived.
    package var secretKey: Secret?
    /// The previous secret key during a rotation; at least 32 bytes.
    package var previousSecretKey: Secret?
    /// The signing key: PEM of an EC P-256 private key.
    package var signingKey: Secret?
    /// `GATEHOUSE_LEASE`: how long caches may answer without contact to PostgreSQL; 3 s by default.
    package var lease: Duration
    /// How long the server continues to serve after the signal to stop, so that load balancers
    /// notice the stop and send requests elsewhere; `nil` for the command's default.
    package var drain: Duration?
    /// Whether identity providers at 127.0.0.1 and over plain HTTP are allowed; for development
    /// only.
    package var allowLoopbackProviders: Bool
    /// Whether background jobs leave nearly all processor time to requests while requests arrive;
    /// true by default.
    package var jobsGiveWay: Bool
    /// `GATEHOUSE_OUTBOUND_ALLOW`: internal addresses that outbound requests may reach, separated
    /// by commas. The text is not checked when it is read here, but later.
    package var outboundAllow: String?
    /// Whether imports use the stricter limits for the cost parameters of password hashes. A hash
    /// beyond the limits is refused.
    package var holdsImportedHashesTightly: Bool
    package var listen: Address
    /// The public URL: scheme, host and port, without a trailing slash.
    package var publicURL: String?
    /// The path of the TLS certificate; `tlsKey` is the path of its key. Either both are set or
    /// neither.
    package var tlsCertificate: String?
    package var tlsKey: String?
    /// The number of event loops, 1–256; by default one for each processor core.
    package var threads: Int
    /// The maximum number of PostgreSQL connections of the process, for all roles together. If
    /// `nil`, the maximum follows from the number of threads.
    package var databaseConnections: Int?
    package var dataDirectory: String
    /// The email address of the first operator; it requires `setupOwnerPassword`.
    package var setupOwnerEmail: String?
    package var setupOwnerPassword: Secret?
    /// The platform's first API key; `APIKeySecret` defines its form.
    package var setupAPIKey: Secret?
    /// The mail server, as an `smtp:` or `smtps:` URL; if `nil`, no mail is sent.
    package var smtpURL: Secret?
    package var mailFrom: String?
    package var metricsListen: Address?
    package var log: Log
    /// `GATEHOUSE_TRACES_URL`: where a trace collector accepts OTLP as JSON; if `nil`, nothing is
    /// traced.
    package var tracesURL: String?
    /// `GATEHOUSE_TRACES_RATIO`: which share of requests is traced, from 0 to 1. It applies to
    /// requests that do not continue a caller's trace.
    package var tracesRatio: Double
    /// The days within which owners and admins must set up a second factor; `nil` if they need
    /// none.
    package var secondFactorDays: Int?
    /// The days for which decisions are stored.
    package var decisionDays: Int
    /// The hours for which a response is stored under its Idempotency-Key.
    package var idempotencyHours: Int
    /// Addresses and CIDR blocks of proxies; the form of each is checked.
    package var trustedProxies: [String]

    /// Reads every `GATEHOUSE_*` variable. In place of `NAME`, `NAME_FILE` can name a file that
    /// contains the value. `cores` is the default of `threads`; `readFile` returns `nil` if the
    /// file cannot be read.
    package init(
        environment: [String: String], cores: Int, readFile: @escaping (String) -> [UInt8]?
    ) throws(SettingsFault) {
        var reader = SettingsReader(environment: environment, readFile: readFile)
        databaseURL = reader.databaseURL("GATEHOUSE_DATABASE_URL")
        migrationDatabaseURL = reader.databaseURL("GATEHOUSE_MIGRATION_DATABASE_URL")
        backupDatabaseURL = reader.databaseURL("GATEHOUSE_BACKUP_DATABASE_URL")
        drillDatabaseURL = reader.databaseURL("GATEHOUSE_DRILL_DATABASE_URL")
        drillAPIKey = reader.apiKey("GATEHOUSE_DRILL_API_KEY")
        platformDatabaseURL = reader.databaseURL("GATEHOUSE_PLATFORM_DATABASE_URL")
        readDatabaseURL = reader.databaseURL("GATEHOUSE_READ_DATABASE_URL")
        readPlatformDatabaseURL = reader.databaseURL("GATEHOUSE_READ_PLATFORM_DATABASE_URL")
        readLag = reader.integer("GATEHOUSE_READ_LAG", 1...3600) ?? 10
        workerDatabaseURL = reader.workerURL("GATEHOUSE_WORKER_DATABASE_URL")
        secretKey = reader.secret("GATEHOUSE_SECRET_KEY", atLeast: 32)
        previousSecretKey = reader.secret("GATEHOUSE_SECRET_KEY_PREVIOUS", atLeast: 32)
        signingKey = reader.secret("GATEHOUSE_SIGNING_KEY", prefix: "-----BEGIN ")
        lease = reader.duration("GATEHOUSE_LEASE") ?? .seconds(3)
        drain = reader.duration("GATEHOUSE_DRAIN", from: 0)
        jobsGiveWay = reader.flag("GATEHOUSE_JOBS_GIVE_WAY") ?? true
        holdsImportedHashesTightly = reader.tightness("GATEHOUSE_IMPORTED_HASHES") ?? false
        allowLoopbackProviders = reader.flag("GATEHOUSE_ALLOW_LOOPBACK_PROVIDERS") ?? false
        outboundAllow = reader.text("GATEHOUSE_OUTBOUND_ALLOW")
        listen = reader.address("GATEHOUSE_LISTEN") ?? Address(host: "127.0.0.1", port: 8080)
        publicURL = reader.publicURL("GATEHOUSE_PUBLIC_URL")
        tlsCertificate = reader.text("GATEHOUSE_TLS_CERT")
        tlsKey = reader.text("GATEHOUSE_TLS_KEY")
        threads = reader.integer("GATEHOUSE_THREADS", 1...256) ?? max(1, cores)
        databaseConnections = reader.integer("GATEHOUSE_DATABASE_CONNECTIONS", 6...10_000)
        dataDirectory = reader.text("GATEHOUSE_DATA_DIR") ?? ".gatehouse"
        setupOwnerEmail = reader.email("GATEHOUSE_SETUP_OWNER_EMAIL")
        setupOwnerPassword = reader.secret("GATEHOUSE_SETUP_OWNER_PASSWORD")
        setupAPIKey = reader.apiKey("GATEHOUSE_SETUP_API_KEY")
        smtpURL = reader.smtpURL("GATEHOUSE_SMTP_URL")
        mailFrom = reader.email("GATEHOUSE_MAIL_FROM")
        metricsListen = reader.address("GATEHOUSE_METRICS_LISTEN")
        if let metricsListen, metricsListen.overlaps(listen) {
            reader.note(
                "GATEHOUSE_METRICS_LISTEN", "has the port of GATEHOUSE_LISTEN; give it its own")
        }
        log = reader.log("GATEHOUSE_LOG") ?? .json
        tracesURL = reader.httpURL("GATEHOUSE_TRACES_URL")
        let ratio = reader.ratio("GATEHOUSE_TRACES_RATIO")
        tracesRatio = ratio ?? 0.01
        secondFactorDays = reader.integer("GATEHOUSE_SECOND_FACTOR_DAYS", 0...365)
        decisionDays = reader.integer("GATEHOUSE_DECISION_DAYS", 2...3650) ?? 90
        idempotencyHours = reader.integer("GATEHOUSE_IDEMPOTENCY_HOURS", 1...168) ?? 24
        trustedProxies = reader.addressBlocks("GATEHOUSE_TRUSTED_PROXIES")
        if readPlatformDatabaseURL != nil {
            reader.requireBoth(
                "GATEHOUSE_READ_PLATFORM_DATABASE_URL", "GATEHOUSE_READ_DATABASE_URL")
        }
        if ratio != nil { reader.requireBoth("GATEHOUSE_TRACES_RATIO", "GATEHOUSE_TRACES_URL") }
        reader.requireBoth("GATEHOUSE_TLS_CERT", "GATEHOUSE_TLS_KEY")
        reader.requireBoth("GATEHOUSE_SETUP_OWNER_EMAIL", "GATEHOUSE_SETUP_OWNER_PASSWORD")
        try reader.finish()
    }
}

/// A secret value that cannot appear in a log or a message by accident.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The secret itself. Never log it.
    package let bytes: [UInt8]

    /// Stores the bytes unchanged, including a trailing newline.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The bytes as UTF-8; invalid bytes become U+FFFD.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    /// A mirror without children, so that `dump` does not show the secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A fault in one setting, because of which the process does not start, and how to correct it. The
/// setting's value is left out, because it could be a secret that was put into the wrong variable.
package struct SettingFault: Sendable, Equatable, CustomStringConvertible {
    package var name: String
    var mend: String

    package var description: String { "\(name): \(mend)" }
}

/// All faults of the settings, reported together.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    package var faults: [SettingFault]

    package var description: String { faults.map(\.description).joined(separator: "\n") }
}
