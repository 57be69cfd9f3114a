import Glibc
import Postgres
import Runtime
import Synchronization

/// A fresh database for a test or a suite, with every migration applied.
package final class TestDatabase: Sendable {
    package let name: String
    private let cluster: TestCluster
    private let superuser: Postgres

    /// The conninfos of the product's three roles, and of a superuser.
    package var owner: String { conninfo("gatehouse_owner") }
    package var app: String { conninfo("gatehouse_app") }
    package var platform: String { conninfo("gatehouse_platform") }
    package var administrator: String { conninfo("postgres") }

    private init(name: String, cluster: TestCluster, superuser: Postgres) {
        self.name = name
        self.cluster = cluster
        self.superuser = superuser
    }

    /// Clones a template that is made once for each state of Migrations/.
    package static func make() async throws -> TestDatabase {
        let cluster = try TestCluster.shared.get()
        let template = try await Template.shared.name(in: cluster)
        return try await make(in: cluster, template: template)
    }

    /// Makes a database without any migration.
    package static func makeEmpty(
        in cluster: TestCluster? = nil
    ) async throws -> TestDatabase {
        try await make(in: cluster ?? TestCluster.shared.get(), template: "template1")
    }

    private static func make(in cluster: TestCluster, template: String) async throws -> TestDatabase
    {
        let superuser = administration(of: cluster)
        let name = "gh_test_\(getpid())_\(UInt64.random(in: 0...UInt64.max))"
        if cluster.isDistributed, template != "template1" {
            try CitusCluster.clone(cluster.conninfo, template, to: name)
        } else {
            _ = try await superuser.query(
                SQL(
                    raw: "CREATE DATABASE \(name) TEMPLATE \(template) OWNER gatehouse_owner"
                        // Half the time of a copy through the write-ahead log.
                        + " STRATEGY file_copy"))
        }
        let database = TestDatabase(name: name, cluster: cluster, superuser: superuser)
        CleanUp.atEnd { await database.drop() }
        return database
    }

    fileprivate static func administration(of cluster: TestCluster) -> Postgres {
        var configuration = PostgresConfiguration(conninfo: cluster.conninfo)
        configuration.readsPerLoop = 0
        configuration.transactionsPerLoop = 1
        configuration.statementTimeout = 60_000
        configuration.lockTimeout = 60_000
        configuration.acquireTimeout = 60_000
        return Postgres(configuration: configuration, loops: [Loops.shared[0]])
    }

    /// The workers of a cluster of several servers, for the role of a conninfo of this database;
    /// `nil` if it has one server.
    func workers(as conninfo: String) async throws -> CitusWorkers? {
        guard cluster.isDistributed else { return nil }
        let workers = CitusWorkers(asking: client(as: administrator)) { server in
            // In a conninfo string the last of equal keywords wins.
            var configuration = PostgresConfiguration(
                conninfo: "\(conninfo) host=\(server.host) port=\(server.port)")
            configuration.isDistributed = true
            configuration.planCacheMode = "force_custom_plan"
            return Postgres(configuration: configuration, loops: Loops.shared)
        }
        CleanUp.atEnd { await workers.close() }
        try await workers.refresh()
        return workers
    }

    /// A client of this database as one of its roles.
    package func client(
        as conninfo: String, workers: CitusWorkers? = nil,
        _ change: (inout PostgresConfiguration) -> Void = { _ in }
    ) -> Postgres {
        var configuration = PostgresConfiguration(conninfo: conninfo)
        configuration.applicationName = "gatehouse-test"
        change(&configuration)
        let client = Postgres(
            configuration: configuration, loops: Loops.shared, workers: workers)
        CleanUp.atEnd { await client.close() }
        return client
    }

    /// Whether a session of this database waits for another session's lock.
    package func waitsForLock(_ count: Int = 1) async throws -> Bool {
        if cluster.isDistributed { return try CitusCluster.waitsForLock(administrator, name) }
        let rows = try await superuser.read(SQL(raw: Self.lockWaits(of: name)))
        return try rows.first?.get(0, as: Int.self) ?? 0 >= count
    }

    static func lockWaits(of name: String) -> String {
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = '\(name)' AND wait_event_type = 'Lock'
        """
    }

    /// Ends all connections to the database and drops it.
    private func drop() async {
        if cluster.isDistributed {
            try? CitusCluster.drop(cluster.conninfo, name)
        } else {
            _ = try? await superuser.query(
                SQL(raw: "DROP DATABASE IF EXISTS \(name) WITH (FORCE)"))
        }
        await superuser.close()
    }

    /// The conninfo of this database for another role.
    package func conninfo(_ role: String) -> String {
        Self.conninfo(cluster.conninfo, role: role, database: name)
    }

    /// In a conninfo string the last of equal keywords wins.
    fileprivate static func conninfo(_ server: String, role: String, database: String) -> String {
        "\(server) user=\(role) dbname=\(database)"
    }
}

/// Makes the migrated template once, even if several test processes share one cluster.
private actor Template {
    static let shared = Template()
    private var making: Task<String, any Error>?

    func name(in cluster: TestCluster) async throws -> String {
        if let making { return try await making.value }
        let task = Task { try await Self.make(in: cluster) }
        making = task
        return try await task.value
    }

    private static func make(in cluster: TestCluster) async throws -> String {
        let postgres = TestDatabase.administration(of: cluster)
        let sums = try Shell.run([
            "sh", "-c",
            "cat $(find '\(TestCluster.root)/Migrations' -name '*.sql' | sort) | sha256sum",
        ])
        let name = "gh_template_\(sums.prefix(16))"
        try await postgres.lockedByTests {
            if cluster.isDistributed {
                let owner = TestDatabase.conninfo(
                    cluster.conninfo, role: "gatehouse_owner", database: name)
                return try CitusCluster.makeTemplate(cluster.conninfo, name, owner: owner)
            }
            let found = try await postgres.query(
                "SELECT 1 FROM pg_database WHERE datname = \(name)")
            if found.count > 0 { return }
            let draft = "\(name)_draft"
            _ = try await postgres.query(SQL(raw: "DROP DATABASE IF EXISTS \(draft) WITH (FORCE)"))
            _ = try await postgres.query(
                SQL(raw: "CREATE DATABASE \(draft) OWNER gatehouse_owner"))
            try Migrator.migrate(
                conninfo: TestDatabase.conninfo(
                    cluster.conninfo, role: "gatehouse_owner", database: draft),
                directory: "\(TestCluster.root)/Migrations")
            // The name appears only when the template is whole.
            _ = try await postgres.query(SQL(raw: "ALTER DATABASE \(draft) RENAME TO \(name)"))
        }
        await postgres.close()
        return name
    }
}

extension Postgres {
    /// With one connection in the pool, a session lock holds for all that `body` does.
    fileprivate func lockedByTests(_ body: () async throws -> Void) async throws {
        _ = try await query("SELECT pg_advisory_lock(7001)")
        try await body()
        _ = try await query("SELECT pg_advisory_unlock(7001)")
    }
}
