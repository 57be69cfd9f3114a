import Runtime
import Synchronization
import TestSupport
import Testing
import Text

@testable import Postgres

/// Reads of one tenant from its shards. Citus' tables are imitated in two databases of one server: what is tested here is
/// what is asked of whom. `GATEHOUSE_TEST_CITUS` runs the tests of the API with the workers of a real one.
@Suite(.cleansUp) struct TenantShardsTests {
    private static let citus = """
        CREATE TABLE pg_dist_node (groupid int, noderole text, nodename text, nodeport int);
        CREATE TABLE pg_dist_local_group (groupid int);
        CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod "char", colocationid int);
        CREATE TABLE pg_dist_shard (logicalrelid regclass, shardid bigint, shardminvalue text, shardmaxvalue text);
        CREATE TABLE pg_dist_placement (shardid bigint, groupid int);
        CREATE TABLE pg_dist_object (classid oid, objid oid, force_delegation boolean);
        CREATE FUNCTION shard_name(relation regclass, shard bigint) RETURNS text LANGUAGE sql
            AS $$ SELECT relation::text || '_' || shard $$;
        INSERT INTO pg_dist_local_group VALUES (0);
        INSERT INTO pg_dist_placement VALUES (101, 1), (102, 1);
        CREATE TABLE tenants (id uuid, name text);
        CREATE TABLE keys (tenant_id uuid, hash bytea, name text);
        CREATE FUNCTION keys_by_hash(tenants uuid[], hashes bytea[])
            RETURNS TABLE (name text, "position" bigint) LANGUAGE sql AS $$
            SELECT k.name, a.p FROM keys k JOIN unnest(tenants, hashes) WITH ORDINALITY AS a (t, h, p)
                ON k.tenant_id = a.t AND k.hash = a.h $$;
        CREATE FUNCTION names_of_all() RETURNS text LANGUAGE sql
            AS $$ SELECT string_agg(name, ',') FROM tenants $$;
        """

    private struct Parts {
        let coordinator: Postgres
        let worker: Postgres
        let tenant = UUID.random()
    }

    private func make() async throws -> Parts {
        let (first, second) = (
            try await TestDatabase.makeEmpty(), try await TestDatabase.makeEmpty()
        )
        let servers = TenantServers { _ in
            second.client(as: second.administrator) {
                $0.isDistributed = true
                $0.forgetsPlans = true
            }
        }
        var configuration = PostgresConfiguration(conninfo: first.administrator)
        // Otherwise each connection that opens would find one server again.
        configuration.isDistributed = true
        let parts = Parts(
            coordinator: Postgres(
                configuration: configuration, loops: Loops.shared, servers: servers),
            worker: second.client(as: second.administrator))
        CleanUp.atEnd { await parts.coordinator.close() }
        let tenant = parts.tenant
        func run(_ postgres: Postgres, _ text: String) async throws {
            for one in text.split(separator: ";\n") {
                _ = try await postgres.query(SQL(raw: String(one)))
            }
        }
        try await run(parts.coordinator, Self.citus)
        try await run(
            parts.coordinator,
            """
            INSERT INTO pg_dist_node VALUES (0, 'primary', 'c', 1), (1, 'primary', 'w', 1);
            INSERT INTO pg_dist_partition VALUES ('tenants', 'h', 1), ('keys', 'h', 1);
            INSERT INTO pg_dist_shard VALUES ('tenants', 101, '-2147483648', '2147483647'),
                ('keys', 102, '-2147483648', '2147483647');
            INSERT INTO pg_dist_object VALUES ('pg_proc'::regclass, 'names_of_all'::regproc, true);
            INSERT INTO tenants VALUES ('\(tenant)', 'of the coordinator');
            INSERT INTO keys VALUES ('\(tenant)', '\\x01', 'of the coordinator')
            """)
        try await run(parts.worker, Self.citus)
        try await run(
            parts.worker,
            """
            UPDATE pg_dist_local_group SET groupid = 1;
            INSERT INTO tenants VALUES ('\(tenant)', 'by the name');
            CREATE TABLE tenants_101 AS SELECT id, 'of the shard' AS name FROM tenants;
            CREATE TABLE keys_102 AS SELECT id AS tenant_id, '\\x01'::bytea AS hash, name FROM tenants_101
            """)
        try await servers.refresh(from: parts.coordinator)
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

    private func lookUp(_ parts: Parts) -> HashLookUp {
        HashLookUp(
            parts.coordinator, columns: "name", of: "keys", by: "hash", function: "keys_by_hash")
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

    @Test func `the shard answers, with the tenant set, and after a move the coordinator`()
        async throws
    {
        let parts = try await make()
        let lookUp = lookUp(parts)
        for _ in 0..<3 { #expect(try await name(parts) == "of the shard true") }
        #expect(try await nameWithoutTask(parts) == "of the shard")
        #expect(try await key(parts.tenant, lookUp, 1) == "of the shard")
        #expect(try await key(parts.tenant, lookUp, 2) == nil)
        _ = try await parts.worker.query("DELETE FROM pg_dist_placement")
        for _ in 0..<3 { #expect(try await name(parts) == "of the coordinator true") }
        #expect(try await nameWithoutTask(parts) == "of the coordinator")
        #expect(try await key(parts.tenant, lookUp, 1) == "of the coordinator")
        #expect(try await key(parts.tenant, lookUp, 2) == nil)
        // Back again, where connections have seen both.
        _ = try await parts.worker.query("INSERT INTO pg_dist_placement VALUES (101, 1)")
        #expect(try await name(parts) == "of the shard true")
    }

    @Test func `of two shards asked at once, one that has moved leaves the other its answer`()
        async throws
    {
        let parts = try await make()
        let lookUp = lookUp(parts)
        func other(_ isHigh: Bool) -> UUID {
            while true {
                let tenant = UUID.random()
                if (tenant.placementHash >= 0) == isHigh { return tenant }
            }
        }
        let (low, high) = (other(false), other(true))
        for text in [
            "UPDATE pg_dist_shard SET shardmaxvalue = '-1'",
            """
            INSERT INTO pg_dist_shard VALUES ('tenants', 103, '0', '2147483647'),
                ('keys', 104, '0', '2147483647')
            """,
            "INSERT INTO pg_dist_placement VALUES (103, 1), (104, 1)",
            "INSERT INTO keys VALUES ('\(low)', '\\x07', 'low'), ('\(high)', '\\x07', 'high')",
        ] {
            _ = try await parts.coordinator.query(SQL(raw: text))
        }
        for text in [
            "INSERT INTO pg_dist_placement VALUES (103, 1)",
            "CREATE TABLE keys_104 (LIKE keys_102)",
            "INSERT INTO keys_102 VALUES ('\(low)', '\\x07', 'low shard')",
            "INSERT INTO keys_104 VALUES ('\(high)', '\\x07', 'high shard')",
        ] {
            _ = try await parts.worker.query(SQL(raw: text))
        }
        try await parts.coordinator.servers?.refresh(from: parts.coordinator)
        for expected in [["low shard", "high shard"], ["low shard", "high"]] {
            for _ in 0..<20 {
                async let first = key(low, lookUp, 7)
                async let second = key(high, lookUp, 7)
                async let none = key(high, lookUp, 8)
                let found = try await [first, second, none]
                #expect(found == expected + [nil])
            }
            _ = try await parts.worker.query("DELETE FROM pg_dist_placement WHERE shardid = 103")
        }
    }

    @Test func `while a server is unknown the coordinator answers, and the shard after that`()
        async throws
    {
        let parts = try await make()
        let servers = try #require(parts.coordinator.servers)
        for (role, answer) in [("away", "of the coordinator"), ("primary", "of the shard")] {
            _ = try await parts.coordinator.query("UPDATE pg_dist_node SET noderole = \(role)")
            try await servers.refresh(from: parts.coordinator)
            #expect(try await name(parts) == "\(answer) true")
        }
    }

    @Test func `reads of many tenants at once keep each to its own`() async throws {
        let parts = try await make()
        _ = try await parts.worker.query("ALTER TABLE tenants_101 ADD seen text")
        let question: SQL = "SELECT current_setting('app.tenant') FROM tenants LIMIT 1"
        let byName: SQL = "SELECT names_of_all() || current_setting('app.tenant')"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                let tenant = UUID.random()
                group.addTask {
                    let seen: String = try await parts.coordinator.tenantRead(
                        tenant, number % 3 == 0 ? byName : question)[0].get(0)
                    #expect(seen == (number % 3 == 0 ? "by the name" : "") + tenant.description)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `each shard has a connection of its own, while that is not behind the others`()
        async throws
    {
        let parts = try await make()
        _ = try await parts.worker.query(
            "INSERT INTO pg_dist_placement SELECT 2 * n, 1 FROM generate_series(100, 115) n")
        let (pool, asked) = (parts.worker.pools[0], "SELECT pg_backend_pid()" as SQL)
        func backend(_ shard: Int64, _ sql: SQL) async throws -> Int {
            let scope = StatementScope(tenant: parts.tenant, shard: shard)
            return try await parts.worker.send(sql, .read, in: scope)[0].get(0)
        }
        // Busy, until there are two.
        for _ in 0..<10_000 where pool.openReaders.load(ordering: .relaxed) < 2 {
            async let first = parts.worker.read(asked)
            async let second = parts.worker.read(asked)
            _ = try await (first, second)
        }
        var backends: [Int64: Int] = [:]
        for number in 0..<48 {
            let shard = Int64(200 + 2 * (number % 16))
            let found = try await backend(shard, asked)
            #expect(backends[shard] ?? found == found)
            backends[shard] = found
        }
        #expect(Set(backends.values).count == 2)
        let busy = try await withThrowingTaskGroup(of: Int.self) { group in
            let slow: SQL = "SELECT pg_backend_pid() FROM pg_sleep(0.05)"
            for _ in 0..<20 { group.addTask { try await backend(200, slow) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(busy.count == 2)
    }

    @Test func `what the worker has not, the coordinator is asked`() async throws {
        let parts = try await make()
        _ = try await parts.coordinator.query("CREATE TABLE others (name text)")
        _ = try await parts.coordinator.query("INSERT INTO others VALUES ('other')")
        for text in [
            "SELECT o.name FROM others o JOIN tenants t ON true", "SELECT name FROM others",
        ] {
            let sql = SQL(raw: text)
            #expect(try await parts.coordinator.tenantRead(parts.tenant, sql)[0].get(0) == "other")
        }
        await #expect(throws: PostgresError.self) {
            try await parts.coordinator.tenantRead(parts.tenant, "SELECT no FROM tenants")
        }
    }

    @Test func `only a read by the names of tables is planned at each run`() async throws {
        let parts = try await make()
        for (sql, mode): (SQL, String) in [
            ("SELECT current_setting('plan_cache_mode') FROM tenants", "auto"),
            ("SELECT current_setting('plan_cache_mode'), names_of_all()", "force_custom_plan"),
            ("SELECT current_setting('plan_cache_mode') FROM keys", "auto"),
        ] {
            #expect(try await parts.coordinator.tenantRead(parts.tenant, sql)[0].get(0) == mode)
        }
    }
}
