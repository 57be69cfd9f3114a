import Configuration
import Cryptography
import Networking
import Observability
import Postgres

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
        logger.log(.info, "starting", StartLine.fields(settings, configuration))
        Signals.block()
        let controlLoop = EventLoop(index: -1)
        controlLoop.start()
        try requireReady(configuration, on: controlLoop)
        let first = FirstStart(settings: settings, publicURL: configuration.address, logger: logger)
        let service = try waitFor(on: controlLoop) {
            try await Service.start(configuration) { try await first.run($0) }
        }
        logger.log(.info, "serving", [("port", .int(service.port))])
        let supervisor = Supervisor.current
        supervisor.notify(.ready)
        let signal = Signals.waitForStop {
            supervisor.notify(.reloading)
            Self.reload(service, logger)
            supervisor.notify(.ready)
        }
        logger.log(.info, "stopping", [("signal", .text(signal))])
        supervisor.notify(.stopping)
        service.prepareToStop()
        Signals.pause(configuration.drain)
        try waitFor(on: controlLoop) { await service.stop() }
        logger.log(.info, "stopped")
    }

    /// Runs at SIGHUP: reads a renewed certificate.
    private static func reload(_ service: Service, _ logger: Logger) {
        do {
            let isRead = try service.reloadTLS()
            logger.log(.info, isRead ? "certificate reloaded" : "nothing to read again")
        } catch {
            logger.log(
                .error, "certificate reload failed; the old one stays in use",
                [("fault", .text("\(error)"))])
        }
    }

    /// Throws before anything is served if the database is unreachable, lacks migrations of this
    /// program or lets the app role bypass row-level security.
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

    /// The same login, which switches to the platform's role when the connection opens.
    static func switchingRole(_ url: String) -> String {
        Conninfo.adding(url, "options", "-c role=gatehouse_platform")
    }
}

extension Settings {
    /// The setting by which the platform's role is reached.
    var platformSetting: String {
        platformDatabaseURL == nil ? "GATEHOUSE_DATABASE_URL" : "GATEHOUSE_PLATFORM_DATABASE_URL"
    }

    /// The secret key and the previous one, if set.
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
    /// `host:port`, an IPv6 address in brackets.
    var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
