import Glibc
import Postgres

/// Databases for the tests on the Citus that GATEHOUSE_TEST_CITUS names: each consists of one on
/// the coordinator and one of the same name on every worker.
enum CitusCluster {
    /// One for each worker, because every test makes its own database.
    private static let shards = 2

    /// Makes the migrated and distributed template, unless a complete one exists.
    static func makeTemplate(_ coordinator: String, _ name: String, owner: String) throws {
        let mark =
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = '\(name)'"
        if try run(coordinator, mark).hasPrefix("whole") { return }
        try drop(coordinator, name)
        try everywhere(coordinator, "CREATE DATABASE \(name) OWNER gatehouse_owner")
        try everywhere("\(coordinator) dbname=\(name)", "CREATE EXTENSION citus")
        let nodes = try nodes(coordinator)
        try run(
            "\(coordinator) dbname=\(name)",
            "SELECT citus_set_coordinator_host('\(nodes[0].host)', \(nodes[0].port))")
        for worker in nodes.dropFirst() {
            try run(
                "\(coordinator) dbname=\(name)",
                "SELECT citus_add_node('\(worker.host)', \(worker.port))")
        }
        try run(coordinator, "ALTER DATABASE \(name) SET citus.shard_count = \(shards)")
        try Migrator.migrate(
            conninfo: owner, directory: "\(TestCluster.root)/Migrations", distributes: true)
        try run(coordinator, "COMMENT ON DATABASE \(name) IS 'whole'")
    }

    /// Citus keeps its metadata in the database itself, so copies on all servers form a distributed
    /// one.
    static func clone(_ coordinator: String, _ template: String, to name: String) throws {
        try everywhere(
            coordinator,
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(template)'
            """, "CREATE DATABASE \(name) TEMPLATE \(template) OWNER gatehouse_owner")
    }

    static func drop(_ coordinator: String, _ name: String) throws {
        try everywhere(coordinator, "DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }

    /// Whether a session on any of the servers waits for a lock.
    static func waitsForLock(_ administrator: String, _ name: String) throws -> Bool {
        let counts = try run(
            administrator,
            """
            SELECT result FROM run_command_on_all_nodes($$\(TestDatabase.lockWaits(of: name))$$)
            """)
        return counts.split(separator: "\n").contains { $0 != "0" }
    }

    private struct Node {
        var host: String
        var port: String
    }

    /// The coordinator, then the workers, as its database `gatehouse` knows them.
    private static func nodes(_ coordinator: String) throws -> [Node] {
        let lines = try run(
            "\(coordinator) dbname=gatehouse",
            "SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid <> 0, nodeport")
        return lines.split(separator: "\n").map { line in
            let parts = line.split(separator: "|").map(String.init)
            return Node(host: parts[0], port: parts[1])
        }
    }

    /// Runs the commands on all servers at the same time.
    private static func everywhere(_ conninfo: String, _ commands: String...) throws {
        // In a conninfo string the last of equal keywords wins.
        let calls = try nodes(conninfo).map { node in
            call("\(conninfo) host=\(node.host) port=\(node.port)", commands)
                .map {
                    "'\($0.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#))'"
                }
                .joined(separator: " ")
        }
        let all = calls.map { "\($0) & jobs=\"$jobs $!\";" }.joined(separator: " ")
        try Shell.run(["sh", "-c", "\(all) for job in $jobs; do wait $job || exit 1; done"])
    }

    @discardableResult
    private static func run(_ conninfo: String, _ commands: String...) throws -> String {
        try Shell.run(call(conninfo, commands))
    }

    private static func call(_ conninfo: String, _ commands: [String]) -> [String] {
        ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", conninfo]
            + commands.flatMap { ["-c", $0] }
    }
}
