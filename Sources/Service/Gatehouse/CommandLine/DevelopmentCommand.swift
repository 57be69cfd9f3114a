import Cryptography
import Postgres
import Runtime
import Storage
import Text

/// `gatehouse dev`: starts a private PostgreSQL cluster, and creates the schema, an owner and a
/// demo tenant.
struct DevelopmentCommand {
    var settings: Settings
    var terminal: Terminal

    func run() throws {
        try ListenFault.check(settings)
        Signals.block()
        let data = try DataDirectory(settings.dataDirectory)
        let secret = try data.secret("secret.key")
        let cluster = try PrivateCluster(in: data)
        if cluster.moved(from: data) {
            say(
                "PostgreSQL's user cannot reach \(data.path); its data is in \(cluster.directory)\n"
            )
        }
        terminal.step("starting PostgreSQL")
        try cluster.start()
        defer {
            cluster.stop()
            terminal.step("stopped")
        }
        let configuration = try configuration(cluster, SecretKeys(Array(secret.utf8)))
        let controlLoop = EventLoop(index: -1)
        controlLoop.start()
        // If the settings name a key or an owner, create these instead of the demonstration's
        // owner.
        let isNamed = settings.setupAPIKey != nil || settings.setupOwnerEmail != nil
        let first = FirstStart(
            settings: settings, publicURL: configuration.address, logger: configuration.logger)
        let service = try waitFor(on: controlLoop) {
            try await Service.start(configuration) {
                if isNamed { try await first.run($0, opensSetup: false) }
            }
        }
        let link = try waitFor(on: controlLoop) { try await Demonstration(service).signInLink() }
        try data.announce(socket: cluster.socket, address: address(UInt16(service.port)))
        greet(link, service.port, data)
        // Closing the terminal sends SIGHUP, which must stop PostgreSQL as well.
        _ = Signals.waitForStop(reload: nil)
        terminal.step("stopping")
        service.prepareToStop()
        Signals.pause(configuration.drain)
        try waitFor(on: controlLoop) { await service.stop() }
    }

    /// Applies the migrations and returns the configuration for a service that uses this cluster.
    private func configuration(
        _ cluster: PrivateCluster, _ secrets: SecretKeys
    ) throws -> ServiceConfiguration {
        try Migrator.migrate(
            conninfo: cluster.conninfo(role: "gatehouse_owner"),
            directory: Installation.find("Migrations"), log: { terminal.step("applying \($0)") })
        var configuration = try ServiceConfiguration(
            settings, appConninfo: cluster.conninfo(role: "gatehouse_app"),
            platformConninfo: cluster.conninfo(role: "gatehouse_platform"), secrets: secrets,
            externalServices: ExternalServices(settings, isDevelopment: true),
            logger: Logger(level: .notice, format: .text), drain: .zero)
        configuration.publicURL = address(settings.listen.port)
        return configuration
    }

    /// Returns the public URL for this port. If the service is reachable only from this machine,
    /// the host is `localhost`, because browsers offer passkeys to that name but never to an IP
    /// address.
    private func address(_ port: UInt16) -> String {
        if let named = settings.publicURL { return named }
        var listen = settings.listen
        listen.port = port
        let isLocal = IPAddress(listen.host)?.isLoopback ?? false
        return "http://" + (isLocal ? "localhost:\(port)" : listen.text)
    }

    private func greet(_ link: String, _ port: Int, _ data: DataDirectory) {
        let address = address(UInt16(port))
        say(
            """

            \(terminal.paint("Gatehouse is ready.", .green))
              Console   \(address)/console/
              Sign in   \(address)/console/sign-in#token=\(link)   (once, within the hour)

            Ctrl-C stops it; the data stays in \(data.path).

            """)
    }
}

extension Settings {
    /// Returns these settings. If they name no database, and a `gatehouse dev` is running with its
    /// data in GATEHOUSE_DATA_DIR, the result has the database, key and address of that run.
    func orOfDevelopment() -> Settings {
        guard databaseURL == nil, let running = DataDirectory.running(in: dataDirectory) else {
            return self
        }
        func secret(_ text: String) -> Secret { Secret(Array(text.utf8)) }
        var settings = self
        for (path, role) in [
            (\Settings.databaseURL, "app"), (\Settings.platformDatabaseURL, "platform"),
        ] {
            settings[keyPath: path] = secret(
                PrivateCluster.conninfo(running.socket, role: "gatehouse_\(role)"))
        }
        settings.secretKey = secret(running.secret)
        settings.publicURL = publicURL ?? running.address
        return settings
    }
}
