import Configuration
import Networking
import Postgres

/// The database that a dump is restored into, on a server where the login is a superuser.
struct ScratchDatabase: Sendable {
    static let name = "gatehouse_drill"

    /// The superuser's, to any database of the server.
    let server: String

    /// The superuser's, to the scratch database.
    private var conninfo: String { Conninfo.adding(server, "dbname", Self.name) }

    /// The same login in the place of one of Gatehouse's roles, whose password is not needed.
    func conninfo(as role: String) -> String {
        Conninfo.adding(conninfo, "options", "-c role=\(role)")
    }

    /// Throws `BackupDrill.Refused` if nothing can be restored here, or if the name is taken.
    func requireRoom(on loop: EventLoop) async throws {
        let client = BackupDrill.client(server, on: loop)
        let found: Result<Rows, any Error>
        do {
            found = .success(
                try await client.read(
                    """
                    SELECT current_user::text, rolsuper,
                        EXISTS (SELECT FROM pg_database WHERE datname = \(Self.name)),
                        (SELECT count(*) FROM pg_roles WHERE rolname IN ('gatehouse_owner',
                            'gatehouse_app', 'gatehouse_platform', 'gatehouse_backup'))
                    FROM pg_roles WHERE rolname = current_user
                    """))
        } catch { found = .failure(error) }
        await client.close()
        guard let row = try found.get().first else { return }
        guard try row.get(1, as: Bool.self) else {
            throw BackupDrill.Refused(
                description: """
                    GATEHOUSE_DRILL_DATABASE_URL is \(try row.get(0, as: String.self)); \
                    a restore needs a superuser
                    """)
        }
        guard try !row.get(2, as: Bool.self) else {
            throw BackupDrill.Refused(
                description: """
                    there is a database \(Self.name) already, which an earlier drill kept or left; \
                    look whether it is still wanted, then drop it
                    """)
        }
        guard try row.get(3, as: Int.self) == 4 else {
            throw BackupDrill.Refused(
                description: "that server lacks Gatehouse's roles: psql -f deploy/roles.sql")
        }
    }

    func create() throws { try run("CREATE DATABASE \(Self.name) OWNER gatehouse_owner", server) }

    /// Also ends what is still connected to it.
    func drop() throws { try run("DROP DATABASE \(Self.name) WITH (FORCE)", server) }

    /// Stops at the first fault.
    func restore(_ dump: String, jobs: Int) throws {
        var restore = Subprocess([
            "pg_restore", "--exit-on-error", "--jobs=\(jobs)", "--dbname=\(Self.name)", dump,
        ])
        restore.environment = try Conninfo.environment(server)
        _ = try restore.run()
    }

    /// A restored database has no figures for the planner.
    func analyze() throws { try run("ANALYZE", conninfo) }

    func contents(on loop: EventLoop) async throws -> [String: TableContents] {
        let client = BackupDrill.client(conninfo, on: loop)
        let found: Result<[String: TableContents], any Error>
        do {
            found = .success(
                try await client.transaction(settings: BackupDrill.steady) {
                    try await TableContents.all($0)
                })
        } catch { found = .failure(error) }
        await client.close()
        return try found.get()
    }

    private func run(_ statement: String, _ conninfo: String) throws {
        var psql = Subprocess(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement])
        psql.environment = try Conninfo.environment(conninfo)
        _ = try psql.run()
    }
}
