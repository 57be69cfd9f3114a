import Cryptography
import Glibc
import Postgres
import Runtime

/// `gatehouse serve`: the service with an external database.
struct ServeCommand {
    var settings: Settings

    func run() throws {
        guard let database = settings.databaseURL else {
            throw Command.Missing(name: "GATEHOUSE_DATABASE_URL")
        }
        let secrets = try settings.secrets()
        try ListenFault.check(settings)
        let configuration = try ServiceConfiguration(
            settings, appConninfo: database.text,
            platformConninfo: settings.platformDatabaseURL?.text
                ?? Self.switchingRole(database.text),
            secrets: secrets, externalServices: ExternalServices(settings),
            logger: Logger(format: settings.log == .text ? .text : .json), drain: .seconds(5))
        let logger = configuration.logger
        logger.log(.info, "process.started", StartLine.fields(settings, configuration))
        Signals.block()
        let controlLoop = EventLoop(index: -1)
        controlLoop.start()
        try requireReady(configuration, on: controlLoop)
        let first = FirstStart(settings: settings, publicURL: configuration.address, logger: logger)
        let service = try waitFor(on: controlLoop) {
            try await Service.start(configuration) { try await first.run($0) }
        }
        logger.log(.info, "service.started", [("port", .int(service.port))])
        let supervisor = Supervisor.current
        supervisor.notify(.ready)
        let signal = Signals.waitForStop {
            supervisor.notify(.reloading)
            Self.reload(service, logger)
            supervisor.notify(.ready)
        }
        logger.log(.info, "stop.requested", [("signal", .text(signal))])
        supervisor.notify(.stopping)
        service.prepareToStop()
        Signals.pause(configuration.drain)
        try waitFor(on: controlLoop) { await service.stop() }
        logger.log(.info, "service.stopped")
    }

    /// Reads a renewed certificate; called at SIGHUP.
    private static func reload(_ service: Service, _ logger: Logger) {
        do {
            let isRead = try service.reloadTLS()
            logger.log(.info, isRead ? "certificate.reloaded" : "certificate.reload_skipped")
        } catch {
            logger.log(
                .error, "certificate.reload_failed",
                [("fault", .text("\(error)"))])
        }
    }

    /// Checks the database before anything is served. Throws if it is unreachable or unfit, for
    /// example because migrations are missing or the app role can bypass row-level security.
    private func requireReady(_ configuration: ServiceConfiguration, on loop: EventLoop) throws {
        let checks = DatabaseChecks(
            app: configuration.appConninfo, platform: configuration.platformConninfo,
            platformSetting: settings.platformSetting,
            migrations: try Installation.find("Migrations"), secrets: nil,
            standby: configuration.reads.map(StandbyCheck.init))
        let found = try waitFor(on: loop) {
            if let finding = await checks.unreachable() { return [finding] }
            return await checks.blockers(on: loop)
        }
        if let blocker = found.first {
            throw OfflineService.Unready(description: "\(blocker.name): \(blocker.detail)")
        }
    }

    /// Returns the connection string with an option added. The option makes each new connection
    /// switch to the platform's role.
    static func switchingRole(_ url: String) -> String {
        Conninfo.adding(url, "options", "-c role=gatehouse_platform")
    }
}

extension Settings {
    /// The name of the setting that has the URL for the platform's role.
    var platformSetting: String {
        platformDatabaseURL == nil ? "GATEHOUSE_DATABASE_URL" : "GATEHOUSE_PLATFORM_DATABASE_URL"
    }

    /// Returns the secret key and the previous one, if set. Throws if there is no valid key.
    func secrets() throws -> SecretKeys {
        guard let secret = secretKey else { throw Command.Missing(name: "GATEHOUSE_SECRET_KEY") }
        guard let keys = SecretKeys(secret.bytes, previous: previousSecretKey?.bytes) else {
            throw Command.Invalid(
                name: "GATEHOUSE_SECRET_KEY_PREVIOUS", reason: "it is the same key as the new one")
        }
        return keys
    }
}

extension Settings.Address {
    /// The address as `host:port`, with an IPv6 address in brackets.
    var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The fields of the first log line: the settings without secrets, and without database addresses,
/// which may contain a password.
enum StartLine {
    static func fields(
        _ settings: Settings, _ configuration: ServiceConfiguration
    ) -> [(StaticString, LogValue)] {
        [
            ("version", .text(Version.current)),
            ("listen", .text(configuration.listen)),
            ("public_url", .text(configuration.publicURL ?? "")),
            ("threads", .int(configuration.threads)),
            ("database_connections", .int(configuration.databaseConnections)),
            ("lease", .text("\(configuration.lease)")),
            ("drain", .text("\(configuration.drain)")),
            ("tls", .text(configuration.tlsCertificate ?? "")),
            ("metrics_listen", .text(configuration.metricsListen ?? "")),
            ("trusted_proxies", .text(configuration.trustedProxies.joined(separator: ","))),
            ("mail", .text(settings.smtpURL == nil ? "off" : "on")),
            (
                "second_factor_days",
                settings.secondFactorDays.map { .int($0) } ?? .text("off")
            ),
            ("decision_days", .int(settings.decisionDays)),
            ("idempotency_hours", .int(settings.idempotencyHours)),
        ]
    }
}

/// Why the service cannot listen at an address in the settings, and what the operator can do about
/// it.
struct ListenFault: Error, CustomStringConvertible {
    var description: String

    /// Throws unless all addresses to listen at are free. Call it before anything else starts.
    static func check(_ settings: Settings) throws {
        try check("GATEHOUSE_LISTEN", settings.listen)
        if let metrics = settings.metricsListen { try check("GATEHOUSE_METRICS_LISTEN", metrics) }
    }

    private static func check(_ name: String, _ address: Settings.Address) throws {
        do throws(ListenError) {
            try Listener.probe(address.text)
        } catch {
            throw ListenFault(name, address, error)
        }
    }

    private init(_ name: String, _ address: Settings.Address, _ error: ListenError) {
        switch error {
        case .refused(_, EADDRINUSE):
            var other = address
            other.port = address.port < .max ? address.port + 1 : 1024
            description = "port \(address.port) is in use; \(name)=\(other.text) takes another"
        case .refused(_, EADDRNOTAVAIL):
            description = "\(name): this machine has no address \(address.host)"
        case .refused(_, let code):
            description =
                "\(name): cannot listen at \(address.text): \(String(cString: strerror(code)))"
        case .badAddress(let text):
            description = "\(name): \(text) is no numeric address with a port"
        }
    }
}

/// Handles signals: all threads block them, and one thread waits for them.
enum Signals {
    /// Blocks the signals in this thread and in every thread that is started from now on.
    static func block() {
        var signals = all
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Waits for SIGINT or SIGTERM and returns its name. SIGHUP calls `reload`; if `reload` is
    /// `nil`, SIGHUP also ends the wait.
    static func waitForStop(reload: (() -> Void)?) -> String {
        var signals = all
        while true {
            var number: Int32 = 0
            guard sigwait(&signals, &number) == 0 else { continue }
            if number == SIGHUP, let reload {
                reload()
                continue
            }
            return name(of: number)
        }
    }

    /// Whether SIGINT or SIGTERM is pending: the signal has arrived since `block` was called, and
    /// nothing has received it yet.
    static var isStopAsked: Bool {
        var signals = sigset_t()
        sigpending(&signals)
        return [SIGINT, SIGTERM].contains { sigismember(&signals, $0) == 1 }
    }

    /// Waits for `time`; a further signal to stop ends the wait early.
    static func pause(_ time: Duration) {
        var signals = all
        sigdelset(&signals, SIGHUP)
        let clock = ContinuousClock()
        let end = clock.now + time
        while clock.now < end {
            let (seconds, attoseconds) = (end - clock.now).components
            var left = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            if sigtimedwait(&signals, nil, &left) > 0 { return }
        }
    }

    private static var all: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, number) }
        return signals
    }

    private static func name(of number: Int32) -> String {
        switch number {
        case SIGINT: "SIGINT"
        case SIGTERM: "SIGTERM"
        default: "SIGHUP"
        }
    }
}

/// The process that supervises `serve`, such as systemd; it understands the states of sd_notify(3).
struct Supervisor {
    enum State {
        case ready, reloading, stopping
    }

    /// The path of the supervisor's datagram socket; a first character `@` means an address in the
    /// abstract namespace.
    private let socketPath: String?

    /// Creates the supervisor. If the path is `nil`, there is no supervisor, and nothing is sent.
    init(socketPath: String?) { self.socketPath = socketPath }

    /// The supervisor whose socket the environment names.
    static var current: Supervisor {
        Supervisor(socketPath: getenv("NOTIFY_SOCKET").map { String(cString: $0) })
    }

    /// Sends the state to the supervisor. A failure is ignored, because the supervisor has its own
    /// time-outs.
    func notify(_ state: State) {
        guard let socketPath, let found = Self.address(of: socketPath) else { return }
        var address = found.address
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Self.text(of: state)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL), $0, found.length)
            }
        }
    }

    private static func text(of state: State) -> String {
        switch state {
        case .ready: return "READY=1"
        case .stopping: return "STOPPING=1"
        case .reloading:
            // systemd uses this time to recognise that the next READY=1 belongs to this reload.
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            return "RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)"
        }
    }

    private static func address(of path: String) -> (address: sockaddr_un, length: socklen_t)? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard let first = bytes.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
            bytes.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return nil }
        if first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // In an abstract name, all bytes up to the given length count, so the length must end with
        // the name.
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + bytes.count }
        return length.map { (address, socklen_t($0)) }
    }
}
