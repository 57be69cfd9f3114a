import Postgres
import Runtime

/// A primary and a standby of the test's own, with one database.
package struct TestStandby: Sendable {
    package let database: TestDatabase
    package let measures = StandbyMeasures.counting
    private let server: TestCluster
    private let superuser: Postgres

    /// With `isMigrated`, the database has every migration of the product.
    package static func start(isMigrated: Bool) async throws -> TestStandby {
        let primary = try TestCluster.start()
        let database = try await TestDatabase.makeEmpty(in: primary)
        if isMigrated {
            try Migrator.migrate(
                conninfo: database.owner, directory: "\(TestCluster.root)/Migrations")
        }
        // Commits are not waited for, but they are sent to the standby soon.
        let client = database.client(as: database.administrator)
        _ = try await client.query("ALTER SYSTEM SET wal_writer_delay = 1")
        _ = try await client.read("SELECT pg_reload_conf()")
        await client.close()
        let server = try primary.startStandby()
        let one = TestStandby(
            database: database, server: server,
            superuser: database.client(as: "\(server.conninfo) dbname=\(database.name)"))
        try await one.catchUp()
        return one
    }

    private init(database: TestDatabase, server: TestCluster, superuser: Postgres) {
        self.database = database
        self.server = server
        self.superuser = superuser
    }

    /// The conninfo of the standby's database for a role.
    package func conninfo(_ role: String) -> String {
        "\(server.conninfo) user=\(role) dbname=\(database.name)"
    }

    /// The standbys as the service has them, once their connections are open.
    package func standbys(
        app: String = "gatehouse_app", platform: String = "gatehouse_platform",
        positions: PrimaryPositions = PrimaryPositions(limit: 10), by proxy: SilentProxy? = nil
    ) async throws -> Standbys {
        let words = [app, platform].map { proxy?.passing(conninfo($0)) ?? conninfo($0) }
        let standbys = Standbys(
            app: PostgresConfiguration(conninfo: words[0]),
            platform: PostgresConfiguration(conninfo: words[1]), loops: Loops.shared,
            positions: positions, measures: measures)
        CleanUp.atEnd { await standbys.close() }
        positions.note(.start)
        try await Self.untilAnswered(standbys)
        return standbys
    }

    /// Asks until a connection of each role answers; a test's reads use those of the first loop.
    package static func untilAnswered(_ standbys: Standbys) async throws {
        for role in [Standbys.Role.app, .platform] {
            while await standbys.read("SELECT 1", by: role, from: .start) == nil {
                try Task.checkCancellation()
                await standbys.look()
            }
        }
    }

    /// Stops the replay where it is.
    package func pause() async throws {
        _ = try await superuser.read("SELECT pg_wal_replay_pause()")
        while try await superuser.read("SELECT pg_get_wal_replay_pause_state() = 'paused'").first?
            .get(0) != true
        { try Task.checkCancellation() }
    }

    package func resume() async throws {
        _ = try await superuser.read("SELECT pg_wal_replay_resume()")
    }

    /// Returns when the standby has what the primary has now.
    package func catchUp() async throws {
        try await replay(try await flush())
    }

    /// Flushes what the primary has written, even without a commit that waits; returns how far.
    @discardableResult
    package func flush() async throws -> WALPosition {
        let client = database.client(as: database.administrator)
        _ = try await client.query(
            """
            SELECT set_config('synchronous_commit', 'on', true),
                pg_logical_emit_message(true, 'test', '')
            """)
        let position = try await client.flushedPosition()
        await client.close()
        return position
    }

    private func replay(_ position: WALPosition) async throws {
        let text = position.description
        while try await superuser.read(
            "SELECT pg_last_wal_replay_lsn() >= \(text)::text::pg_lsn"
        ).first?.get(0) != true { try Task.checkCancellation() }
    }

    /// Changes a setting of the standby's server, at once.
    package func set(_ setting: String) async throws {
        _ = try await superuser.query(SQL(raw: "ALTER SYSTEM SET \(setting)"))
        _ = try await superuser.read("SELECT pg_reload_conf()")
    }

    /// The number of locks that statements at the standby hold on a table.
    package func locks(on table: String) async throws -> Int {
        let rows = try await superuser.read(
            """
            SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
            WHERE relname = \(table)
            """)
        return try rows[0].get(0)
    }

    package func crash() throws { try server.crash() }
    package func restart() throws { try server.restart() }
}

extension StandbyMeasures {
    fileprivate static var counting: StandbyMeasures {
        var measures = StandbyMeasures()
        for cause in StandbyFallback.allCases { measures.fallbacks[cause] = .init() }
        return measures
    }

    /// Reads that may lag, by the server that answered them.
    package var reads: (standby: Int, primary: Int) { (standby.current, primary.current) }

    /// How often reads went to the primary by each cause.
    package var causes: [StandbyFallback: Int] {
        fallbacks.mapValues(\.current).filter { $0.value > 0 }
    }
}
