import API
import Configuration
import Networking
import Postgres
import Storage
import Text

/// The service without sockets, for one command, with the database's credentials.
struct OfflineService {
    struct Unready: Error, CustomStringConvertible {
        var description: String
    }

    var settings: Settings
    /// Whose every request is.
    var principal: CallerPrincipal
    /// Milliseconds; 0: none.
    var statementTimeout = 2500
    /// Whether the secret key must fit the database. False only for the command that repairs it.
    var needsSecrets = true

    /// Throws an error with a text for the person at the command line if the service cannot be
    /// used.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (Composition) async throws -> Value
    ) throws -> Value {
        guard let url = settings.databaseURL else {
            throw Command.Missing(name: "GATEHOUSE_DATABASE_URL")
        }
        let secrets = try settings.secrets()
        let platform = settings.platformDatabaseURL?.text ?? ServeCommand.switchingRole(url.text)
        for (name, conninfo) in [("database", url.text), ("platform role", platform)] {
            if let fault = Conninfo.fault(conninfo) {
                throw Unready(description: "the \(name) cannot be reached: \(fault)")
            }
        }
        let migrations = try Installation.find("Migrations")
        let publicURL = settings.publicURL ?? "http://\(settings.listen.text)"
        let loop = EventLoop(index: -1)
        loop.start()
        defer { loop.stop() }
        return try waitFor(on: loop) {
            let app = client(url.text, on: loop)
            let reader = client(platform, on: loop)
            let result: Result<Value, any Error>
            do {
                let schema = try await SchemaState(app, migrations: migrations)
                if let fault = schema.fault { throw Unready(description: fault) }
                let composition = try Composition(
                    app: app, platform: reader, secrets: secrets, publicURL: publicURL,
                    principal: principal, clock: Timestamp.systemClock)
                if needsSecrets { try await composition.database.admitSecrets(replica: nil) }
                result = .success(try await work(composition))
            } catch { result = .failure(error) }
            await app.close()
            await reader.close()
            return try result.get()
        }
    }

    private func client(_ conninfo: String, on loop: EventLoop) -> Postgres {
        var configuration = PostgresConfiguration(conninfo: conninfo)
        configuration.statementTimeout = statementTimeout
        return Postgres(configuration: configuration, loops: [loop])
    }
}
