import Runtime
import Synchronization
import TestSupport
import Testing
import Text

@testable import Postgres

/// Reads of one tenant at its worker. Citus' tables are imitated in two databases of one server: what is tested here is
/// what is asked of whom. `GATEHOUSE_TEST_CITUS` runs the tests of the API with the workers of a real one.
@Suite(.cleansUp) struct CitusWorkersTests {
    private static let citus = """
        CREATE TABLE pg_dist_node (groupid int, noderole text, nodename text, nodeport int,
            isactive bool DEFAULT true, hasmetadata bool DEFAULT true, metadatasynced bool DEFAULT true);
        CREATE TABLE pg_dist_shard (logicalrelid regclass, shardid bigint);
        CREATE TABLE pg_dist_placement (shardid bigint, groupid int);
        CREATE FUNCTION get_shard_id_for_distribution_column(relation regclass, tenant uuid) RETURNS bigint
            LANGUAGE sql AS $$ SELECT shardid FROM pg_dist_shard WHERE logicalrelid = relation $$;
        CREATE TABLE tenants (id uuid, name text);
        CREATE TABLE keys (tenant_id uuid, hash bytea, name text)
        """

    private struct Parts {
        let coordinator: Postgres
        let worker: Postgres
        let workers: CitusWorkers
        let events: Events
        let tenant = UUID.random()
    }

    /// The events that the connections to workers have logged.
    private final class Events: Sendable {
        private let all = Mutex<[String]>([])

        func add(_ event: StaticString) { all.withLock { $0.append("\(event)") } }
        func count(_ event: String) -> Int { all.withLock { $0.count { $0 == event } } }
    }

    private func run(_ postgres: Postgres, _ text: String) async throws {
        for one in text.split(separator: ";\n") {
            _ = try await postgres.query(SQL(raw: String(one)))
        }
    }

    /// The worker's port is 1, and nothing listens at any other.
    private func make(learnedBefore seconds: Int64 = 0) async throws -> Parts {
        let (first, second) = (
            try await TestDatabase.makeEmpty(), try await TestDatabase.makeEmpty()
        )
        let events = Events()
        let asking = first.client(as: first.administrator)
        let workers = CitusWorkers(asking: asking) { server in
            let away = server.port == 1 ? "" : " host=127.0.0.1 port=\(server.port)"
            // Closed with the workers: they may be opened outside the test's own task.
            var configuration = PostgresConfiguration(conninfo: second.administrator + away)
            configuration.isDistributed = true
            configuration.log = { event, _ in events.add(event) }
            return Postgres(configuration: configuration, loops: Loops.shared)
        }
        let parts = Parts(
            // Otherwise each connection that opens would find one server again.
            coordinator: first.client(as: first.administrator, workers: workers) {
                $0.isDistributed = true
            },
            worker: second.client(as: second.administrator), workers: workers, events: events)
        CleanUp.atEnd { await workers.close() }
        let rows = """
            INSERT INTO tenants VALUES ('\(parts.tenant)', 'of the NAME');
            INSERT INTO keys VALUES ('\(parts.tenant)', '\\x01', 'of the NAME')
            """
        try await run(
            parts.coordinator,
            Self.citus + ";\n" + rows.replacing("NAME", with: "coordinator")
                + """
                ;
                INSERT INTO pg_dist_node VALUES (0, 'primary', 'c', 1), (1, 'primary', 'w', 1);
                INSERT INTO pg_dist_shard VALUES ('tenants', 101);
                INSERT INTO pg_dist_placement VALUES (101, 1)
                """)
        try await run(parts.worker, Self.citus + ";\n" + rows.replacing("NAME", with: "worker"))
        try await workers.refresh(at: BootClock.now - seconds * 1_000_000_000)
        return parts
    }

    private func name(_ parts: Parts) async throws -> String {
        try await parts.coordinator.tenantRead(
            parts.tenant,
            """
            SELECT name || ' ' || (current_setting('app.tenant') = id::text) FROM tenants
            WHERE id = \(parts.tenant)
            """)[0].get(0)
    }

    private func nameWithoutTask(_ parts: Parts) async throws -> String {
        let sql: SQL = """
            SELECT name || coalesce(current_setting('app.tenant', true), '') FROM tenants
            WHERE id = \(parts.tenant)
            """
        let rows = await withCheckedContinuation { continuation in
            parts.coordinator.read(of: parts.tenant, sql) { continuation.resume(returning: $0) }
        }
        return try rows.get()[0].get(0)
    }

    private func key(
        _ tenant: UUID, _ lookUp: HashLookUp, _ hash: UInt8
    ) async throws -> String? {
        let row: Result<Row?, PostgresError> = await withCheckedContinuation { continuation in
            withUnsafeBytes(of: hash) {
                lookUp.find(tenant, $0) { continuation.resume(returning: $0) }
            }
        }
        return try row.get()?.get(0)
    }

    @Test func `a tenant's worker answers, from the first read on`() async throws {
        let parts = try await make()
        for _ in 0..<3 { #expect(try await name(parts) == "of the worker true") }
        #expect(try await nameWithoutTask(parts) == "of the worker")
        let lookUp = HashLookUp(parts.coordinator, columns: "name", of: "keys", by: "hash")
        async let first = key(parts.tenant, lookUp, 1)
        async let second = key(parts.tenant, lookUp, 1)
        async let none = key(parts.tenant, lookUp, 2)
        #expect(try await [first, second, none] == ["of the worker", "of the worker", nil])
        let other = UUID.random()
        #expect(try await key(other, lookUp, 1) == nil)
    }

    @Test func `a tenant whose shard was split is asked for again`() async throws {
        let parts = try await make()
        #expect(try await name(parts) == "of the worker true")
        try await run(
            parts.coordinator,
            """
            UPDATE pg_dist_shard SET shardid = 102;
            UPDATE pg_dist_placement SET shardid = 102
            """)
        #expect(try await name(parts) == "of the worker true")
        try await parts.workers.refresh()
        #expect(try await name(parts) == "of the worker true")
    }

    @Test(arguments: ["noderole = 'away'", "isactive = false", "metadatasynced = false"])
    func `of a server that is no worker the coordinator answers`(_ change: String) async throws {
        let parts = try await make()
        #expect(try await name(parts) == "of the worker true")
        _ = try await parts.coordinator.query(SQL(raw: "UPDATE pg_dist_node SET \(change)"))
        try await parts.workers.refresh()
        #expect(try await name(parts) == "of the coordinator true")
    }

    @Test func `the coordinator answers if it has not said lately who has what`() async throws {
        let parts = try await make(learnedBefore: 11)
        #expect(try await name(parts) == "of the coordinator true")
        try await parts.workers.refresh()
        #expect(try await name(parts) == "of the worker true")
        // What was asked earlier and comes later says nothing new.
        _ = try await parts.coordinator.query("UPDATE pg_dist_node SET isactive = false")
        try await parts.workers.refresh(at: BootClock.now - 11_000_000_000)
        #expect(try await name(parts) == "of the worker true")
    }

    @Test func `what is asked of a worker that refuses connections fails, and no other answers`()
        async throws
    {
        let parts = try await make()
        _ = try await parts.coordinator.query("UPDATE pg_dist_node SET nodeport = 2")
        try await parts.workers.refresh()
        await #expect {
            _ = try await name(parts)
        } throws: {
            ($0 as? PostgresError)?.isUnavailable == true
        }
        await #expect(throws: PostgresError.self) { try await nameWithoutTask(parts) }
    }

    @Test func `every read that fails at an old worker goes to the new one`() async throws {
        let parts = try await make()
        _ = try await parts.coordinator.query("UPDATE pg_dist_node SET nodeport = 2")
        try await parts.workers.refresh()
        _ = try await parts.coordinator.query("UPDATE pg_dist_node SET nodeport = 1")
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await name(parts) } }
            for try await name in group { #expect(name == "of the worker true") }
        }
    }

    @Test func `of a worker that cannot be reached the tenant's new worker is learned at once`()
        async throws
    {
        let parts = try await make()
        _ = try await parts.coordinator.query("UPDATE pg_dist_node SET nodeport = 2")
        try await parts.workers.refresh()
        _ = try await parts.coordinator.query("UPDATE pg_dist_node SET nodeport = 1")
        #expect(try await name(parts) == "of the worker true")
        #expect(try await nameWithoutTask(parts) == "of the worker")
    }

    @Test func `what a worker refuses, the coordinator is asked, and a timeout is one`()
        async throws
    {
        let parts = try await make()
        try await run(
            parts.coordinator,
            """
            CREATE TABLE others (name text);
            INSERT INTO others VALUES ('other')
            """)
        let sql: SQL = "SELECT o.name FROM others o JOIN tenants t ON true"
        for _ in 0..<2 {
            #expect(try await parts.coordinator.tenantRead(parts.tenant, sql)[0].get(0) == "other")
        }
        #expect(parts.events.count("worker.read_refused") == 1)
        await #expect(throws: PostgresError.self) {
            try await parts.coordinator.tenantRead(parts.tenant, "SELECT no FROM tenants")
        }
        try await run(
            parts.worker,
            """
            CREATE FUNCTION slow() RETURNS int LANGUAGE plpgsql
                AS $$ BEGIN RAISE query_canceled; END $$
            """)
        await #expect {
            _ = try await parts.coordinator.tenantRead(parts.tenant, "SELECT slow()")
        } throws: {
            ($0 as? PostgresError)?.kind == .timeout
        }
    }

    @Test func `reads of many tenants at once keep each to its own`() async throws {
        let parts = try await make()
        let question: SQL = "SELECT current_setting('app.tenant') FROM tenants LIMIT 1"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                let tenant = number % 3 == 0 ? parts.tenant : UUID.random()
                group.addTask {
                    for _ in 0..<3 {
                        let seen: String = try await parts.coordinator.tenantRead(
                            tenant, question)[0].get(0)
                        #expect(seen == tenant.description)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
