import Glibc
import Postgres

/// A private PostgreSQL cluster, made by `deploy/tools/postgres`: unix socket only, no durability.
package struct TestCluster: Sendable {
    /// The conninfo of a superuser.
    package let conninfo: String
    private let directory: String?
    /// Whether this is the coordinator of a database of several servers.
    package let isDistributed: Bool

    private init(conninfo: String, directory: String?, isDistributed: Bool = false) {
        self.conninfo = conninfo
        self.directory = directory
        self.isDistributed = isDistributed
    }

    /// The repository that this was built from.
    package static let root = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }()

    /// The run's cluster: the Citus whose coordinator GATEHOUSE_TEST_CITUS names, the PostgreSQL of
    /// GATEHOUSE_TEST_DATABASE, or one started for this process and stopped with it.
    package static let shared = Result { try obtain() }

    private static func obtain() throws -> TestCluster {
        if let given = getenv("GATEHOUSE_TEST_CITUS") {
            return TestCluster(
                conninfo: String(cString: given), directory: nil, isDistributed: true)
        }
        if let given = getenv("GATEHOUSE_TEST_DATABASE") {
            return TestCluster(conninfo: String(cString: given), directory: nil)
        }
        let cluster = try launch()
        ProcessEnd.directory.initialize(to: cluster.directory)
        atexit { ProcessEnd.stop() }
        return cluster
    }

    /// A cluster of the test's own, for tests that stop or restart the server.
    package static func start() throws -> TestCluster {
        let cluster = try launch()
        CleanUp.atEnd { cluster.stop() }
        return cluster
    }

    /// A standby of this cluster; otherwise like `start`.
    package func startStandby() throws -> TestCluster {
        let standby = try Self.launch("standby", directory.map { [$0] } ?? [])
        CleanUp.atEnd { standby.stop() }
        return standby
    }

    private static func launch(
        _ command: String = "start", _ more: [String] = []
    ) throws -> TestCluster {
        let directory = try line(of: ["folder"])
        let conninfo = try line(of: [command, directory] + more)
        return TestCluster(conninfo: conninfo, directory: directory)
    }

    private static func line(of arguments: [String]) throws -> String {
        String(try Shell.run(["\(root)/deploy/tools/postgres"] + arguments).prefix { $0 != "\n" })
    }

    /// Ends the server at once, as a crash would; the data are kept.
    package func crash() throws {
        guard let directory else { return }
        try Shell.run(["\(Self.root)/deploy/tools/postgres", "stop", directory])
    }

    /// Starts a crashed server again.
    package func restart() throws {
        guard let directory else { return }
        try Shell.run(["\(Self.root)/deploy/tools/postgres", "start", directory])
    }

    private func stop() {
        guard let directory else { return }
        _ = try? Shell.run(["\(Self.root)/deploy/tools/postgres", "stop", directory])
        _ = try? Shell.run(["rm", "-rf", directory])
    }
}

/// `atexit` takes a plain function, so what it needs is in a global.
private enum ProcessEnd {
    nonisolated(unsafe) static let directory = {
        let pointer = UnsafeMutablePointer<String?>.allocate(capacity: 1)
        return pointer
    }()

    static func stop() {
        guard let path = directory.pointee else { return }
        _ = try? Shell.run(["\(TestCluster.root)/deploy/tools/postgres", "stop", path])
        _ = try? Shell.run(["rm", "-rf", path])
    }
}
