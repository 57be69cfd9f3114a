import Cryptography
import Networking
import Postgres
import Replication
import Storage
import Text
import Workers

/// Checks the database as both roles: reachable, migrated, and with row-level security in force.
struct DatabaseChecks: Sendable {
    var app: String
    var platform: String
    /// The folder of this program's migrations.
    var migrations: String
    var secrets: SecretKeys?
    /// nil: not checked, as before a start.
    var connections: ConnectionCheck?
    /// nil: no standby is set.
    var standby: StandbyCheck?
    /// nil: no workers are set.
    var workers: WorkerCheck?
    var secondFactorDays: Int?
    /// nil: whom the passkeys are good for is not checked.
    var publicURL: String?

    /// The role that cannot connect, and why. Both try at the same time, each on a thread of its own.
    func unreachable() async -> Finding? {
        let threads = WorkerPool(threads: 2, queueLimit: 2)
        async let first = threads.run { Conninfo.fault(app) }
        async let second = threads.run { Conninfo.fault(platform) }
        for (name, fault) in await [("database", first), ("platform role", second)] {
            if let fault = fault ?? "there is no thread to connect on" {
                return Finding(name: name, result: .failed, detail: fault)
            }
        }
        return nil
    }

    /// What prevents `serve` from starting: an old schema, or an app role that owns the tables.
    func blockers(on loop: EventLoop) async -> [Finding] {
        let app = client(app, loop)
        async let schema = finding("schema") { try await self.schema(app) }
        async let role = finding("app role") { try await appRole(app) }
        let findings = await [schema, role]
        await app.close()
        return findings.filter { $0.result == .failed }
    }

    func run(on loop: EventLoop) async throws -> [Finding] {
        let app = client(app, loop)
        let platform = client(platform, loop)
        var findings = await look(app, platform)
        if findings.contains(where: { $0.name == "schema" && $0.result != .failed }) {
            if let standby {
                findings.append(await finding("standby") { try await standby.look(app, on: loop) })
            }
            if let workers {
                findings.append(await finding("workers") { try await workers.look(app, on: loop) })
            }
        }
        await app.close()
        await platform.close()
        return findings
    }

    private func client(_ conninfo: String, _ loop: EventLoop) -> Postgres {
        var configuration = PostgresConfiguration(conninfo: conninfo)
        configuration.readsPerLoop = 1
        configuration.transactionsPerLoop = 1
        configuration.acquireTimeout = 5000
        return Postgres(configuration: configuration, loops: [loop])
    }

    private func look(_ app: Postgres, _ platform: Postgres) async -> [Finding] {
        var findings: [Finding] = []
        do {
            let version = try await app.read("SHOW server_version")
            let text = try version.first?.get(0, as: String.self) ?? ""
            findings.append(
                Finding(name: "database", result: .ok, detail: "PostgreSQL \(text) answers"))
        } catch {
            return [
                Finding(name: "database", result: .failed, detail: "it cannot be asked: \(error)")
            ]
        }
        let schema = await finding("schema") { try await self.schema(app) }
        findings.append(schema)
        findings.append(await finding("app role") { try await appRole(app) })
        if schema.result == .failed { return findings }
        findings.append(await finding("row-level security") { try await policies(app) })
        findings.append(await finding("platform role") { try await platformRole(platform) })
        findings.append(await finding("rows") { try await rows(platform) })
        if let secrets {
            var database = Database(
                app: app, platform: platform, replica: Replica(postgres: app, lease: .seconds(3)),
                secrets: secrets, clock: Timestamp.systemClock)
            findings += await SecretChecks(database: database).run()
            if let publicURL {
                database.passkeySite = PasskeySite.of(publicURL: publicURL)
                findings.append(await finding("passkeys") { try await passkeys(database) })
            }
        }
        if let connections {
            findings.append(await finding("connections") { try await connections.look(app) })
        }
        findings.append(await finding("first owner") { try await owner(app) })
        findings.append(await finding("second factors") { try await secondFactors(app) })
        return findings
    }

    /// A passkey is good at its domain and below it alone: a new public name can cost all of them.
    private func passkeys(_ database: Database) async throws -> (Finding.Result, String) {
        let lost = try await database.passkeysLost()
        if lost.isEmpty { return (.ok, "each one is good at this server's public name") }
        let counts = lost.map { "\($0.count) of \($0.party)" }.joined(separator: ", ")
        let shutOut = try await database.operatorsLost()
        let people =
            shutOut == 0
            ? ""
            : "; \(shutOut) operators have nothing else and do not get in before "
                + "`gatehouse operator reset`"
        return (.warning, "not good at this server's public name: \(counts)\(people)")
    }

    private func finding(
        _ name: String, _ body: () async throws -> (Finding.Result, String)
    ) async -> Finding {
        do {
            let (result, detail) = try await body()
            return Finding(name: name, result: result, detail: detail)
        } catch {
            return Finding(name: name, result: .failed, detail: "\(error)")
        }
    }

    private func schema(_ app: Postgres) async throws -> (Finding.Result, String) {
        let state = try await SchemaState(app, migrations: migrations)
        if let fault = state.fault { return (.failed, fault) }
        switch state {
        case .newer(let last):
            return (.warning, "the database is newer than this program: \(last)")
        case .current(let files, let last): return (.ok, "current, \(files) files, \(last)")
        case .none, .missing: return (.failed, "")
        }
    }

    /// The app role must not be able to bypass row-level security.
    private func appRole(_ app: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await app.read(
            """
            SELECT current_user::text, rolsuper, rolbypassrls,
                EXISTS (SELECT FROM pg_class WHERE relowner = pg_roles.oid),
                (SELECT rolname::text FROM pg_roles AS other
                    WHERE pg_has_role(pg_roles.oid, other.oid,
                        CASE rolname WHEN 'gatehouse_owner' THEN 'MEMBER'
                            WHEN 'gatehouse_platform' THEN 'USAGE' END)
                    LIMIT 1)
            FROM pg_roles WHERE rolname = current_user
            """)
        guard let row = rows.first else { return (.failed, "the role is not known") }
        let name = try row.get(0, as: String.self)
        if try row.get(1, as: Bool.self) { return (.failed, "\(name) is a superuser") }
        if try row.get(2, as: Bool.self) { return (.failed, "\(name) bypasses row security") }
        if try row.get(3, as: Bool.self) { return (.failed, "\(name) owns tables") }
        if let other = try row.get(4, as: String?.self) {
            return (.failed, "\(name) has the rights of \(other); make it NOINHERIT")
        }
        return (.ok, "\(name) owns nothing and bypasses nothing")
    }

    /// Every table with a tenant column and a grant must have a forced policy that works: without a
    /// tenant no row is visible.
    private func policies(_ app: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await app.read(
            """
            SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity
            FROM pg_class AS c JOIN pg_policy AS p ON p.polrelid = c.oid
            WHERE c.relkind = 'r' GROUP BY 1, 2 ORDER BY 1
            """)
        var open: [String] = []
        for row in rows where try !row.get(1, as: Bool.self) {
            open.append(try row.get(0, as: String.self))
        }
        if !open.isEmpty { return (.failed, "not forced on \(open.joined(separator: ", "))") }
        let seen = try await app.read("SELECT 1 FROM audit_events LIMIT 1")
        guard seen.isEmpty else { return (.failed, "rows are seen without a tenant") }
        return (.ok, "forced on \(rows.count) tables; no rows without a tenant")
    }

    private func platformRole(_ platform: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await platform.read(
            """
            SELECT current_user::text, has_table_privilege('tenants', 'SELECT'),
                has_table_privilege('tenants', 'INSERT')
            """)
        guard let row = rows.first else { return (.failed, "the role is not known") }
        let name = try row.get(0, as: String.self)
        guard try row.get(1, as: Bool.self) else { return (.failed, "\(name) cannot read tenants") }
        if try row.get(2, as: Bool.self) { return (.failed, "\(name) may write") }
        return (.ok, "\(name) reads across tenants and writes nothing")
    }

    /// A dump taken under row-level security contains empty tables.
    private func rows(_ platform: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await platform.read(
            """
            SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
                SELECT FROM audit_events WHERE tenant_id = tenants.id)) FROM tenants
            """)
        guard let row = rows.first else { return (.failed, "no answer") }
        let (tenants, empty) = (try row.get(0, as: Int.self), try row.get(1, as: Int.self))
        guard empty == 0 else {
            return (
                .failed,
                "\(empty) of \(tenants) tenants have no audit entry at all: was the "
                    + "database restored from a dump without rows? See deploy/docs/backup.md"
            )
        }
        return (.ok, "\(tenants) tenants, each with its history")
    }

    /// Who holds the most and guards it by a password alone.
    private func secondFactors(_ app: Postgres) async throws -> (Finding.Result, String) {
        let lacking = try await Database.operatorsWithoutSecondFactor(app)
        if lacking.isEmpty { return (.ok, "every owner and admin has one") }
        let names = lacking.prefix(10).map(\.email).joined(separator: ", ")
        let more = lacking.count > 10 ? " and more" : ""
        return (
            secondFactorDays == nil ? .ok : .warning,
            "owners and admins without one: \(names)\(more)"
        )
    }

    private func owner(_ app: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await app.read("SELECT 1 FROM operators WHERE role = 'owner' LIMIT 1")
        return rows.isEmpty
            ? (.warning, "there is none yet; run gatehouse setup") : (.ok, "there is one")
    }
}
