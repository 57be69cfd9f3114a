import Networking
import Postgres
import Text

/// The database as both roles see it: reachable, in order, and with its walls up.
struct DatabaseChecks: Sendable {
    var app: String
    var platform: String
    /// The folder of the migrations that this program knows.
    var migrations: String

    func run(on loop: EventLoop) async throws -> [Finding] {
        let app = client(app, loop)
        let platform = client(platform, loop)
        let findings = await look(app, platform)
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
        findings.append(await finding("schema") { try await schema(app) })
        findings.append(await finding("app role") { try await appRole(app) })
        findings.append(await finding("row-level security") { try await policies(app) })
        findings.append(await finding("platform role") { try await platformRole(platform) })
        findings.append(await finding("first owner") { try await owner(app) })
        return findings
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
        let known = try Migrator.names(in: migrations)
        let tables = try await app.read("SELECT to_regclass('public.tenants') IS NOT NULL")
        guard try tables.first?.get(0, as: Bool.self) ?? false else {
            return (.failed, "there is none; run gatehouse migrate")
        }
        let rows = try await app.read("SELECT name FROM schema_migrations")
        let applied = try rows.map { row throws(PostgresError) in try row.get(0, as: String.self) }
        let missing = known.filter { !applied.contains($0) }
        let unknown = applied.filter { !known.contains($0) }
        if let first = missing.first {
            return (.failed, "\(missing.count) files are to be applied, from \(first)")
        }
        if let last = unknown.max() {
            return (.warning, "the database is newer than this program: \(last)")
        }
        return (.ok, "current, \(applied.count) files, \(known.last ?? "")")
    }

    /// The role that serves requests must not be able to get round the policies.
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

    /// Every table with a tenant and a grant has its policy, forced; and it works: without a
    /// tenant no row is seen.
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

    private func owner(_ app: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await app.read("SELECT 1 FROM operators WHERE role = 'owner' LIMIT 1")
        return rows.isEmpty
            ? (.warning, "there is none yet; run gatehouse setup") : (.ok, "there is one")
    }
}
