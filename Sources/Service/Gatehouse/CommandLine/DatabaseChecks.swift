import Cryptography
import Postgres
import Runtime
import Storage
import Text

/// Checks the database with both roles: that it is reachable and migrated, and that row-level
/// security is in force.
struct DatabaseChecks: Sendable {
    var app: String
    var platform: String
    /// The name of the setting that has the URL for the platform's role.
    var platformSetting = "GATEHOUSE_PLATFORM_DATABASE_URL"
    /// The folder of this program's migrations.
    var migrations: String
    var secrets: SecretKeys?
    /// The check of the number of connections; `nil` to skip it, for example before a start.
    var connections: ConnectionCheck?
    /// The check of the standby; `nil` if none is set.
    var standby: StandbyCheck?
    /// The check of the workers; `nil` if none are set.
    var workers: WorkerCheck?
    var secondFactorDays: Int?
    /// The public URL, whose host the passkeys must fit; `nil` to skip the check of the passkeys.
    var publicURL: String?

    /// Tries to connect as both roles at the same time, each on its own thread. If one of them
    /// cannot connect, returns a failure with the role and the reason; otherwise returns `nil`.
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

    private static let appSetting = "GATEHOUSE_DATABASE_URL"
    /// How many nanoseconds to wait for a notification. A notification that takes longer counts as
    /// lost.
    private static let patience: Int64 = 3_000_000_000

    /// Returns what prevents `serve` from starting: an old schema, a wrong role, or a connection
    /// that delivers no notifications. Without notifications, replicas would not learn of
    /// revocations.
    func blockers(on loop: EventLoop) async -> [Finding] {
        let app = client(app, loop)
        let platform = client(platform, loop)
        async let heard = notifications(app, platform)
        async let schema = finding("schema") { try await self.schema(app) }
        async let role = finding("app role") { try await Self.appRole(app) }
        var findings = await heard + [role, schema]
        if !findings.contains(where: { $0.result == .failed }) {
            findings.append(
                await finding("platform role", platformSetting) {
                    try await Self.platformRole(platform, platformSetting)
                })
            // An unreachable standby is no failure: the primary answers instead.
            if let standby, let finding = await standby.blocker(on: loop) {
                findings.append(finding)
            }
        }
        await app.close()
        await platform.close()
        return findings.filter { $0.result == .failed }
    }

    private func notifications(_ app: Postgres, _ platform: Postgres) async -> [Finding] {
        async let first = finding("notifications") { try await arrive(app, Self.appSetting) }
        async let second = finding("platform notifications", platformSetting) {
            try await arrive(platform, platformSetting)
        }
        return await [first, second]
    }

    /// Returns the text of a fault, followed by a hint at the likely cause: a pooler that lets
    /// several clients share one server connection.
    static func lentOut(_ fault: String, _ setting: String) -> String {
        "\(fault); is there a pooler in transaction mode? Use a direct URL for \(setting)"
    }

    private func arrive(
        _ client: Postgres, _ setting: String
    ) async throws -> (Finding.Result, String) {
        do {
            guard try await client.hearsNotifications(within: Self.patience) else {
                return (.failed, "\(NotificationListener.isDeaf) Use a direct URL for \(setting)")
            }
        } catch {
            return (.failed, Self.lentOut("\(error)", setting))
        }
        let limit = try await client.read("SELECT current_setting('statement_timeout')")
        guard try limit.first?.get(0, as: String.self) != "0" else {
            return (
                .warning,
                "they arrive, but statements have no time limit: what stands before PostgreSQL does "
                    + "not pass `options` on. See deploy/docs/operating.md, Poolers"
            )
        }
        return (.ok, "they arrive")
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
            let isLent = (error as? PostgresError)?.losesPreparedStatements ?? false
            let cause = isLent ? Self.lentOut("\(error)", Self.appSetting) : inFull(error)
            return [
                Finding(name: "database", result: .failed, detail: "it cannot be asked: \(cause)")
            ]
        }
        findings.append(await finding("clock") { try await Self.clock(app) })
        let schema = await finding("schema") { try await self.schema(app) }
        findings.append(schema)
        findings += await notifications(app, platform)
        findings.append(await finding("app role") { try await Self.appRole(app) })
        if schema.result == .failed { return findings }
        findings.append(await finding("row-level security") { try await policies(app) })
        findings.append(
            await finding("platform role", platformSetting) {
                try await Self.platformRole(platform, platformSetting)
            })
        findings.append(await finding("rows") { try await rows(platform) })
        if let secrets {
            var options = Database.Options()
            if let publicURL { options.passkeySite = PasskeySite.of(publicURL: publicURL) }
            let database = Database(
                app: app, platform: platform, replica: Replica(postgres: app, lease: .seconds(3)),
                secrets: secrets, options: options, clock: Timestamp.systemClock)
            findings += await SecretChecks(database: database).run()
            if publicURL != nil {
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

    /// Compares this machine's clock with PostgreSQL's. A running server corrects for the
    /// difference, but other programs on this machine do not.
    private static func clock(_ app: Postgres) async throws -> (Finding.Result, String) {
        let before = Timestamp.systemClock()
        guard
            let measured = try await app.query("SELECT clock_timestamp()").first?
                .get(0, as: Timestamp.self)
        else { return (.failed, "PostgreSQL gave no time") }
        let after = Timestamp.systemClock()
        let ours = before.microseconds / 2 + after.microseconds / 2
        let difference = measured.microseconds - ours
        let slack = after.microseconds - before.microseconds
        guard abs(difference) > 1_000_000 + slack else {
            return (.ok, "within a second of PostgreSQL's")
        }
        let seconds = abs(difference) / 1_000_000
        return (
            .warning,
            "this machine's is \(seconds) s \(difference > 0 ? "behind" : "ahead of") PostgreSQL's;"
                + " set both by NTP"
        )
    }

    /// Checks that the passkeys fit the public name. A passkey works only at its own domain and the
    /// domains below it, so a new public name can make all passkeys useless.
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

    /// Runs one check and returns its result as a finding; an error becomes a failure. `setting` is
    /// the name of the setting that has the connection's URL.
    private func finding(
        _ name: String, _ setting: String = appSetting,
        _ body: () async throws -> (Finding.Result, String)
    ) async -> Finding {
        do {
            let (result, detail) = try await body()
            return Finding(name: name, result: result, detail: detail)
        } catch let error as PostgresError where error.losesPreparedStatements {
            return Finding(
                name: name, result: .failed, detail: Self.lentOut(error.detail, setting))
        } catch {
            return Finding(name: name, result: .failed, detail: inFull(error))
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

    /// Checks that the app role cannot bypass row-level security and can write.
    static func appRole(
        _ app: Postgres, _ setting: String = appSetting
    ) async throws -> (Finding.Result, String) {
        let rows = try await app.read(
            """
            SELECT current_user::text, rolsuper, rolbypassrls,
                EXISTS (SELECT FROM pg_class WHERE relowner = pg_roles.oid),
                (SELECT rolname::text FROM pg_roles AS other
                    WHERE other.oid <> pg_roles.oid AND pg_has_role(pg_roles.oid, other.oid,
                        CASE rolname WHEN 'gatehouse_owner' THEN 'MEMBER'
                            WHEN 'gatehouse_platform' THEN 'USAGE' END)
                    LIMIT 1),
                coalesce(has_table_privilege(to_regclass('public.tenants'), 'INSERT'), true)
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
        guard try row.get(5, as: Bool.self) else {
            return (
                .failed, "\(name) may not write: \(setting) leads to another role than the app's"
            )
        }
        return (.ok, "\(name) owns nothing and bypasses nothing")
    }

    /// Checks that row-level security is forced on every table that has a policy, and that no audit
    /// event is visible without a tenant.
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

    /// Checks that the platform's role sees every tenant and can write nothing.
    static func platformRole(
        _ platform: Postgres, _ setting: String
    ) async throws -> (Finding.Result, String) {
        let rows = try await platform.read(
            """
            SELECT current_user::text, has_table_privilege('tenants', 'SELECT'),
                has_table_privilege('tenants', 'INSERT')
            """)
        guard let row = rows.first else { return (.failed, "the role is not known") }
        let name = try row.get(0, as: String.self)
        guard try row.get(1, as: Bool.self) else { return (.failed, "\(name) cannot read tenants") }
        if try row.get(2, as: Bool.self) {
            return (
                .failed,
                "\(name) may write: \(setting) leads to another role than the platform's. If a "
                    + "pooler drops the `options`, set a URL whose user is the platform's role"
            )
        }
        return (.ok, "\(name) reads across tenants and writes nothing")
    }

    /// Checks that every tenant has audit entries. If a tenant has none, the database may come from
    /// a dump that was made under row-level security and so contains empty tables.
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

    /// Checks whether owners and admins, who have the most rights, are protected by more than a
    /// password.
    private func secondFactors(_ app: Postgres) async throws -> (Finding.Result, String) {
        let lacking = try await Database.operatorsWithoutSecondFactor(app)
        if lacking.isEmpty {
            let holders = try await app.read(
                "SELECT 1 FROM operators WHERE role IN ('owner', 'admin') LIMIT 1")
            return (
                .ok,
                holders.isEmpty
                    ? "no owner or admin could have one yet" : "every owner and admin has one"
            )
        }
        let names = lacking.prefix(10).map(\.email).joined(separator: ", ")
        let more = lacking.count > 10 ? " and more" : ""
        let demand =
            secondFactorDays == nil ? "; GATEHOUSE_SECOND_FACTOR_DAYS would demand one" : ""
        return (.warning, "owners and admins without one: \(names)\(more)\(demand)")
    }

    private func owner(_ app: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await app.read("SELECT 1 FROM operators WHERE role = 'owner' LIMIT 1")
        return rows.isEmpty
            ? (.warning, "there is none yet; run gatehouse setup") : (.ok, "there is one")
    }
}

/// Checks whether PostgreSQL allows the connections that this process may open.
struct ConnectionCheck: Sendable {
    /// The maximum number of connections that the process opens.
    var limit: Int

    init(_ settings: Settings) {
        limit = settings.databaseConnections ?? ConnectionPlan.standard(loops: settings.threads)
    }

    func look(_ app: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await app.read(
            """
            SELECT current_setting('max_connections')::int,
                current_setting('superuser_reserved_connections')::int,
                (SELECT count(*)::int FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()),
                (SELECT count(*)::int FROM replicas WHERE lease_until > clock_timestamp())
            """)
        guard let row = rows.first else { return (.failed, "PostgreSQL does not say") }
        let reserved = try row.get(1, as: Int.self)
        return verdict(
            room: try row.get(0, as: Int.self) - reserved, used: try row.get(2, as: Int.self),
            replicas: try row.get(3, as: Int.self))
    }

    /// Returns the result of the check. `room` is how many connections PostgreSQL allows to roles
    /// without superuser rights, `used` is how many of them are in use, and `replicas` is how many
    /// processes run.
    func verdict(room: Int, used: Int, replicas: Int) -> (Finding.Result, String) {
        let sentence =
            "this process opens \(limit) at most, PostgreSQL takes \(room), of which \(used) are in use"
        if limit > room {
            return (
                .failed,
                "\(sentence); lower GATEHOUSE_DATABASE_CONNECTIONS or raise max_connections"
            )
        }
        // During a restart, one more process of this size runs next to the others.
        let all = limit * (replicas + 1)
        if all > room {
            return (
                .warning,
                "\(sentence); with \(replicas) replicas running there may be \(all)"
            )
        }
        return (.ok, sentence)
    }
}

/// Whether the database has the migrations of this program.
enum SchemaState: Equatable {
    case none
    /// Some migrations were not applied. The associated value has the names of their files.
    case missing([String])
    /// The database has migrations that this program does not know. The associated value is the
    /// name of the last one.
    case newer(String)
    case current(files: Int, last: String)

    init(_ app: Postgres, migrations directory: String) async throws {
        let tables = try await app.read("SELECT to_regclass('public.tenants') IS NOT NULL")
        guard try tables.first?.get(0, as: Bool.self) ?? false else {
            self = .none
            return
        }
        let rows = try await app.read("SELECT name FROM schema_migrations")
        let applied = try rows.map { row throws(PostgresError) in try row.get(0, as: String.self) }
        let known = try Migrator.names(in: directory, applied: applied)
        let missing = known.filter { !applied.contains($0) }
        let unknown = applied.filter { !known.contains($0) }
        if !missing.isEmpty {
            self = .missing(missing)
        } else if let last = unknown.max() {
            self = .newer(last)
        } else {
            self = .current(files: applied.count, last: known.last ?? "")
        }
    }

    /// Why this program cannot work with the schema; `nil` if it can. It can also work with a newer
    /// schema, because migrations keep supporting older programs.
    var fault: String? {
        switch self {
        case .none: "the database has no schema; run gatehouse migrate"
        case .missing(let files):
            "the schema is older than this program: \(files.count) migrations are to be applied, "
                + "from \(files[0]); run gatehouse migrate"
        case .newer, .current: nil
        }
    }
}
