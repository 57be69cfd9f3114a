import API
import Glibc
import HTTP
import JSON
import Postgres
import Runtime

/// `gatehouse backup drill`: restores a dump into a separate database to show that it can be
/// restored. The real database is only read.
struct BackupDrill {
    struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    /// Database settings with which all statements of a transaction see one snapshot, and equal
    /// rows always have equal texts.
    static let steady: [(StaticString, String)] = [
        ("transaction_isolation", "repeatable read"), ("transaction_read_only", "on"),
        ("DateStyle", "ISO"), ("IntervalStyle", "postgres"), ("bytea_output", "hex"),
    ]

    var settings: Settings
    /// The path of a dump in pg_restore's format. If it is `nil`, the drill makes a dump, and
    /// checks after the restore that each table has the rows that were dumped.
    var dump: String?
    /// Whether the restored database is kept at the end.
    var keeps = false
    /// A function that is called with each finding as soon as it is known.
    var report: (Finding) -> Void

    /// Runs the drill and reports each step and finding. Throws only if
    /// GATEHOUSE_DRILL_DATABASE_URL is not set; all other errors are reported as findings.
    func run() throws {
        guard let server = settings.drillDatabaseURL else {
            throw Command.Missing(name: "GATEHOUSE_DRILL_DATABASE_URL")
        }
        Signals.block()
        let loop = EventLoop(index: -1)
        loop.start()
        defer { loop.stop() }
        let scratch = ScratchDatabase(server: server.text)
        let start = ContinuousClock.now
        var isGood = true
        do {
            try reach(server.text, "GATEHOUSE_DRILL_DATABASE_URL")
            try waitFor(on: loop) { try await scratch.requireRoom(on: loop) }
            try restored(into: scratch, on: loop) { contents in
                isGood = try compare(scratch, contents, on: loop)
            }
        } catch {
            report(Finding(name: "drill", result: .failed, detail: inFull(error)))
            return
        }
        let word = keeps ? "is kept" : "is dropped"
        report(
            Finding(
                name: "drill", result: isGood ? .ok : .failed,
                detail: isGood
                    ? "the dump is good; \(ScratchDatabase.name) \(word); \(Self.since(start))"
                    : "the dump is NOT good: do not put it in the place of anything"))
    }

    /// Returns a connection whose statements may take any time.
    static func client(_ conninfo: String, on loop: EventLoop) -> Postgres {
        var configuration = PostgresConfiguration(conninfo: conninfo)
        configuration.applicationName = "gatehouse-drill"
        configuration.readsPerLoop = 1
        configuration.transactionsPerLoop = 1
        configuration.acquireTimeout = 5000
        configuration.statementTimeout = 0
        // Set no time limit for an idle transaction: while pg_dump works, the transaction that
        // holds the snapshot is idle.
        configuration.idleInTransactionTimeout = 0
        return Postgres(configuration: configuration, loops: [loop])
    }

    // MARK: the dump and its restore

    /// Restores a dump and calls `body` while the restored database exists. `body` gets the
    /// contents of the dump, or `nil` if the drill did not make the dump itself.
    private func restored(
        into scratch: ScratchDatabase, on loop: EventLoop,
        _ body: ([String: TableContents]?) throws -> Void
    ) throws {
        var (path, contents): (String, [String: TableContents]?) = (dump ?? "", nil)
        let folder = dump == nil ? try Self.makeFolder() : nil
        defer {
            if let folder {
                unlink(folder + "/dump")
                rmdir(folder)
            }
        }
        if let folder {
            path = folder + "/dump"
            contents = try take(to: path, on: loop)
        }
        try scratch.create()
        do {
            try restore(path, scratch)
            try body(contents)
        } catch {
            // Throw the first error, even if the database cannot be dropped. The next drill then
            // reports that the database still exists.
            if !keeps { try? scratch.drop() }
            throw error
        }
        if !keeps { try scratch.drop() }
    }

    private func restore(_ path: String, _ scratch: ScratchDatabase) throws {
        let jobs = min(4, max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        try step("restore") {
            try scratch.restore(path, jobs: jobs)
            return "into \(ScratchDatabase.name) by \(jobs) jobs"
        }
        try step("analyze") {
            try scratch.analyze()
            return "figures for the planner"
        }
    }

    /// Dumps the database to the file at `path` and returns the contents that were dumped.
    private func take(to path: String, on loop: EventLoop) throws -> [String: TableContents] {
        guard let url = settings.backupDatabaseURL?.text else {
            throw Command.Missing(name: "GATEHOUSE_BACKUP_DATABASE_URL")
        }
        try reach(url, "GATEHOUSE_BACKUP_DATABASE_URL")
        let source = try waitFor(on: loop) { try await DumpSource.open(url, on: loop) }
        defer { try? waitFor(on: loop) { await source.close() } }
        try step("dump") {
            var dump = Subprocess([
                "pg_dump", "--format=custom", "--snapshot=\(source.snapshot)", "--file=\(path)",
            ])
            dump.environment = try Conninfo.environment(url)
            _ = try dump.run()
            var status = stat()
            stat(path, &status)
            return "\((Int(status.st_size) + 999_999) / 1_000_000) MB"
        }
        var contents: [String: TableContents] = [:]
        try step("rows dumped") {
            contents = try waitFor(on: loop) { try await source.contents() }
            return Self.sum(contents)
        }
        return contents
    }

    // MARK: what is looked at

    private func compare(
        _ scratch: ScratchDatabase, _ dumped: [String: TableContents]?, on loop: EventLoop
    ) throws -> Bool {
        var findings: [Finding] = []
        let start = ContinuousClock.now
        let restored = try waitFor(on: loop) { try await scratch.contents(on: loop) }
        findings.append(Self.compared(dumped, restored, Self.since(start)))
        let again = ContinuousClock.now
        let checks = DatabaseChecks(
            app: scratch.conninfo(as: "gatehouse_app"),
            platform: scratch.conninfo(as: "gatehouse_platform"),
            migrations: try Installation.find("Migrations"), secrets: try? settings.secrets())
        let checked = try waitFor(on: loop) { try await checks.run(on: loop) }
        findings += checked
        if settings.secretKey == nil {
            findings.append(
                Finding(
                    name: "secret key", result: .warning,
                    detail: "not set: whether it opens what is sealed was not tried"))
        }
        findings.append(
            Finding(name: "check", result: .ok, detail: "all of this took \(Self.since(again))"))
        if let key = settings.drillAPIKey { findings.append(verified(key, scratch)) }
        for finding in findings { report(finding) }
        return !findings.contains { $0.result == .failed }
    }

    private static func compared(
        _ dumped: [String: TableContents]?, _ restored: [String: TableContents], _ time: String
    ) -> Finding {
        let name = "rows restored"
        guard let dumped else {
            return restored["tenants"]?.rows ?? 0 > 0
                ? Finding(name: name, result: .ok, detail: "\(sum(restored)), \(time)")
                : Finding(name: name, result: .failed, detail: "the dump has no tenant")
        }
        let differences = TableContents.differences(dumped, restored)
        return differences.isEmpty
            ? Finding(
                name: name, result: .ok, detail: "\(sum(restored)), every one as dumped, \(time)")
            : Finding(
                name: name, result: .failed, detail: differences.joined(separator: "; "))
    }

    /// Verifies an API key as the service would, but against the restored database, and returns the
    /// finding.
    private func verified(_ key: Secret, _ scratch: ScratchDatabase) -> Finding {
        var restored = settings
        restored.databaseURL = Secret(Array(scratch.conninfo(as: "gatehouse_app").utf8))
        restored.platformDatabaseURL = Secret(
            Array(scratch.conninfo(as: "gatehouse_platform").utf8))
        let body = JSONValue.object([.init("key", .string(key.text))]).encoded()
        do {
            let answer = try OfflineService(
                settings: restored, principal: AdministrationCommand.principal
            ).run { composition in
                await composition.dispatcher.respond(
                    to: Request(
                        .post, "/v1/api-keys/verify",
                        fields: [Field("content-type", "application/json")], body: body))
            }
            var verdict = JSONValue.null
            if case .bytes(let bytes) = answer.body, let read = try? JSONValue(parsing: bytes) {
                verdict = read
            }
            guard verdict["valid"] == .bool(true) else {
                let code = verdict["code"]?.string ?? "\(answer.status)"
                return Finding(
                    name: "key", result: .failed,
                    detail: "GATEHOUSE_DRILL_API_KEY does not verify there: \(code)")
            }
            return Finding(
                name: "key", result: .ok, detail: "\(verdict["name"]?.string ?? "") verifies there")
        } catch { return Finding(name: "key", result: .failed, detail: inFull(error)) }
    }

    // MARK: parts

    private func reach(_ conninfo: String, _ name: String) throws {
        if let fault = Conninfo.fault(conninfo) { throw Refused(description: "\(name): \(fault)") }
    }

    /// Runs a step and reports its result and its duration. After SIGINT or SIGTERM, the drill
    /// stops when the step ends.
    private func step(_ name: String, _ body: () throws -> String) throws {
        let start = ContinuousClock.now
        let detail = try body()
        guard !Signals.isStopAsked else { throw Refused(description: "stopped by a signal") }
        report(Finding(name: name, result: .ok, detail: "\(detail), \(Self.since(start))"))
    }

    /// Creates a folder that only this user can enter, because the dump contains everyone's data;
    /// returns its path.
    private static func makeFolder() throws -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var path = Array("\(parent)/gatehouse-drill.XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else {
            throw Refused(description: "no folder can be made in \(parent)")
        }
        return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func sum(_ contents: [String: TableContents]) -> String {
        "\(contents.values.reduce(0) { $0 + $1.rows }) rows in \(contents.count) tables"
    }

    private static func since(_ start: ContinuousClock.Instant) -> String {
        let tenths = (ContinuousClock.now - start) / .milliseconds(100)
        return "\(Int(tenths) / 10).\(Int(tenths) % 10) s"
    }
}

/// The database that is dumped. The dump and the count of its rows see the same snapshot, so they
/// agree.
struct DumpSource: Sendable {
    let conninfo: String
    /// The snapshot's name for `pg_dump --snapshot`; valid until `close`.
    let snapshot: String
    private let client: Postgres
    private let open: OpenTransaction

    /// Connects and opens the snapshot. Throws `BackupDrill.Refused` if row-level security would
    /// leave the dump without rows.
    static func open(_ conninfo: String, on loop: EventLoop) async throws -> DumpSource {
        let client = BackupDrill.client(conninfo, on: loop)
        do {
            try await requireEveryRow(client)
            let open = try await client.begin(settings: BackupDrill.steady)
            let rows = try await open.transaction.query("SELECT pg_export_snapshot()")
            guard let snapshot = try rows.first?.get(0, as: String.self) else {
                throw BackupDrill.Refused(description: "PostgreSQL exports no snapshot")
            }
            return DumpSource(conninfo: conninfo, snapshot: snapshot, client: client, open: open)
        } catch {
            await client.close()
            throw error
        }
    }

    func contents() async throws -> [String: TableContents] {
        try await TableContents.all(open.transaction)
    }

    func close() async {
        await open.rollback()
        await client.close()
    }

    private static func requireEveryRow(_ client: Postgres) async throws {
        let rows = try await client.read(
            """
            SELECT current_user::text, rolsuper OR rolbypassrls
            FROM pg_roles WHERE rolname = current_user
            """)
        guard let row = rows.first, try !row.get(1, as: Bool.self) else { return }
        throw BackupDrill.Refused(
            description: """
                GATEHOUSE_BACKUP_DATABASE_URL is \(try row.get(0, as: String.self)), from which \
                row-level security hides every row: its dump would be empty. Use gatehouse_backup, \
                which deploy/install/roles.sql creates
                """)
    }
}

/// The temporary database into which a dump is restored. The drill logs in as a superuser of the
/// database server.
struct ScratchDatabase: Sendable {
    static let name = "gatehouse_drill"

    /// The superuser's connection string without a database's name.
    let server: String

    /// The superuser's connection string for the temporary database.
    private var conninfo: String { Conninfo.adding(server, "dbname", Self.name) }

    /// Returns a connection string that logs in as the superuser and then acts as one of
    /// Gatehouse's roles, so that the role's password is not needed.
    func conninfo(as role: String) -> String {
        Conninfo.adding(conninfo, "options", "-c role=\(role)")
    }

    /// Checks that the database can be created. Throws `BackupDrill.Refused` if nothing can be
    /// restored on this server, or if a database with this name exists already.
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
                description: "that server lacks Gatehouse's roles: psql -f deploy/install/roles.sql"
            )
        }
    }

    func create() throws { try run("CREATE DATABASE \(Self.name) OWNER gatehouse_owner", server) }

    /// Removes the database, even if there are connections to it.
    func drop() throws { try run("DROP DATABASE \(Self.name) WITH (FORCE)", server) }

    /// Restores the dump into the database; throws at the first error.
    func restore(_ dump: String, jobs: Int) throws {
        var restore = Subprocess([
            "pg_restore", "--exit-on-error", "--jobs=\(jobs)", "--dbname=\(Self.name)", dump,
        ])
        restore.environment = try Conninfo.environment(server)
        _ = try restore.run()
    }

    /// Makes the planner's statistics, because a restored database has none.
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

/// A summary of a table's contents that is enough to see whether two databases have the same rows.
struct TableContents: Equatable, Sendable {
    var rows: Int
    /// A checksum of all rows that does not depend on their order. Equal rows give an equal
    /// checksum on any server.
    var digest: String

    /// Returns the contents of every table in the schema `public`, by name.
    static func all(_ transaction: Transaction) async throws -> [String: TableContents] {
        let tables = try await transaction.query(
            """
            SELECT quote_ident(relname) FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
            """)
        var contents: [String: TableContents] = [:]
        for table in tables {
            let name = try table.get(0, as: String.self)
            // A sum is the same in any order of rows, and a restore changes the order.
            let answer = try await transaction.query(
                """
                SELECT count(*), coalesce(sum(
                    ('x' || left(md5(whole_row::text), 15))::bit(60)::bigint::numeric), 0)::text
                FROM public.\(raw: name) AS whole_row
                """)
            guard let row = answer.first else { continue }
            contents[name] = TableContents(rows: try row.get(0), digest: try row.get(1))
        }
        return contents
    }

    /// Returns how the restored contents differ from the dumped contents, one sentence for each
    /// table; empty if nothing differs.
    static func differences(
        _ dumped: [String: TableContents], _ restored: [String: TableContents]
    ) -> [String] {
        Set(dumped.keys).union(restored.keys).sorted().compactMap { name in
            switch (dumped[name], restored[name]) {
            case (nil, _): "\(name) was not in the dump"
            case (_, nil): "\(name) is missing"
            case (let before?, let after?) where before.rows != after.rows:
                "\(name) has \(after.rows) rows instead of \(before.rows)"
            case (let before, let after): before == after ? nil : "\(name) has other rows"
            }
        }
    }
}
