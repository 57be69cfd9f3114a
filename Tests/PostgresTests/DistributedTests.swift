import Glibc
import Postgres
import Runtime
import TestSupport
import Testing
import Text

/// What a connection does where a database spreads tenants over several servers; on one server it means the same.
@Suite(.cleansUp) struct DistributedTests {
    private func make() async throws -> (Postgres, TestDatabase) {
        let database = try await TestDatabase.makeEmpty()
        let postgres = database.client(as: database.administrator) { $0.isDistributed = true }
        _ = try await postgres.query("CREATE TABLE t (a int PRIMARY KEY, tenant uuid)")
        return (postgres, database)
    }

    @Test func `each read sees its own tenant, and none sees one without`() async throws {
        let (postgres, _) = try await make()
        let tenants = (0..<20).map { _ in UUID.random() }
        let question: SQL = "SELECT coalesce(current_setting('app.tenant', true), '')"
        let seen = try await withThrowingTaskGroup(of: (UUID?, String).self) { group in
            for tenant in tenants {
                for _ in 0..<3 {
                    group.addTask {
                        (tenant, try await postgres.tenantRead(tenant, question)[0].get(0))
                    }
                }
                group.addTask { (nil, try await postgres.read(question)[0].get(0)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(seen.count == 80)
        for (tenant, text) in seen { #expect(text == (tenant?.description ?? "")) }
    }

    @Test func `a read that fails ends its transaction, and the next is answered`() async throws {
        let (postgres, _) = try await make()
        let tenant = UUID.random()
        for _ in 0..<3 {
            await #expect(throws: PostgresError.self) {
                try await postgres.tenantRead(tenant, "SELECT 1 / \(0)::int")
            }
            let one: Int = try await postgres.tenantRead(tenant, "SELECT 1")[0].get(0)
            #expect(one == 1)
        }
        let open = try await postgres.read(
            "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
        #expect(try open[0].get(0) == 0)
    }

    @Test func `a setting holds from the next statement on, and ends with the transaction`()
        async throws
    {
        let (postgres, _) = try await make()
        let question: SQL = "SELECT coalesce(current_setting('app.tenant', true), '')"
        let seen = try await postgres.transaction(settings: [("app.tenant", "a")]) { transaction in
            var seen = [try await transaction.query(question)[0].get(0, as: String.self)]
            transaction.setLater("app.tenant", "it's")
            seen.append(try await transaction.query(question)[0].get(0))
            transaction.queryLater("SELECT 1")
            transaction.setLater("app.tenant", "c")
            transaction.setLater("app.tenant", "d")
            seen.append(try await transaction.query(question)[0].get(0))
            transaction.setLater("app.tenant", "nothing follows")
            return seen
        }
        #expect(seen == ["a", "it's", "d"])
        #expect(try await postgres.read(question)[0].get(0) == "")
    }

    @Test func `a commit of which a server warns has an unknown outcome`() async throws {
        let (postgres, database) = try await make()
        let administrator = database.client(as: database.administrator)
        for sql in [
            """
            CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE WARNING 'a server did not answer'; RETURN NULL; END $$
            """,
            """
            CREATE CONSTRAINT TRIGGER warns AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION warn()
            """,
        ] { _ = try await administrator.query(SQL(raw: sql)) }
        await #expect {
            try await postgres.transaction { try await $0.query("INSERT INTO t VALUES (1)") }
        } throws: {
            ($0 as? PostgresError)?.kind == .commitUnknown
        }
        await #expect {
            _ = try await postgres.query("INSERT INTO t VALUES (3)")
        } throws: {
            ($0 as? PostgresError)?.kind == .commitUnknown
        }
        // What is warned of before COMMIT, or ends in a rollback, is no doubt about it.
        let early: SQL = "DO $$ BEGIN RAISE WARNING 'early'; END $$"
        try await postgres.transaction { try await $0.query(early) }
        await #expect {
            try await postgres.transaction { transaction in
                transaction.queryLater("INSERT INTO t VALUES (1)")
                transaction.queryLater(early)
            }
        } throws: {
            ($0 as? PostgresError)?.isUniqueViolation == true
        }
        // One server that warns has committed.
        try await administrator.transaction { try await $0.query("INSERT INTO t VALUES (2)") }
        #expect(try await administrator.one("SELECT count(*) FROM t") == 3)
    }

    @Test func `the constraint of a part has the name of the table's`() async throws {
        let (postgres, _) = try await make()
        _ = try await postgres.query(
            "CREATE TABLE part_102044 (a int CONSTRAINT once_and_1_102044 UNIQUE, b int CONSTRAINT b_12 UNIQUE)"
        )
        _ = try await postgres.query("INSERT INTO part_102044 VALUES (1, 1)")
        for (sql, name): (SQL, String) in [
            ("INSERT INTO part_102044 VALUES (1, 2)", "once_and_1"),
            ("INSERT INTO part_102044 VALUES (2, 1)", "b_12"),
        ] {
            await #expect {
                try await postgres.query(sql)
            } throws: {
                ($0 as? PostgresError)?.constraint == name
            }
        }
    }

    @Test func `files for a distributed database come with their numbers, once it is one`()
        async throws
    {
        var template = Array("/tmp/gh-migrations.XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        let path = String(cString: made)
        defer { _ = try? Shell.run(["rm", "-rf", path]) }
        func write(_ name: String, _ text: String) throws {
            try Shell.run([
                "sh", "-c", "mkdir -p \"$(dirname \"$1\")\" && printf %s \"$2\" >\"$1\"", "sh",
                "\(path)/\(name)", text,
            ])
        }
        let (postgres, database) = try await make()
        func migrate(_ distributes: Bool = false) throws -> [String] {
            try Migrator.migrate(
                conninfo: database.administrator, directory: path, distributes: distributes)
        }
        try write("0001_a.sql", "CREATE TABLE a (n int)")
        try write("distributed/0001_a.sql", "INSERT INTO a VALUES (1)")
        try write("0002_b.sql", "CREATE TABLE b (n int)")
        #expect(try migrate() == ["0001_a.sql", "0002_b.sql"])
        #expect(try migrate() == [])
        #expect(try migrate(true) == ["distributed/0001_a.sql"])
        #expect(try migrate(true) == [])
        try write("0003_c.sql", "CREATE TABLE c (n int)")
        try write("distributed/0003_c.sql", "INSERT INTO c VALUES (1)")
        try write("0004_d.sql", "INSERT INTO c VALUES (2)")
        #expect(
            try Migrator.names(in: path) == [
                "0001_a.sql", "0002_b.sql", "0003_c.sql", "0004_d.sql",
            ])
        #expect(try migrate() == ["0003_c.sql", "distributed/0003_c.sql", "0004_d.sql"])
        #expect(try await postgres.one("SELECT sum(n) FROM c") == 3)
        // A changed one is found like any other.
        try write("distributed/0001_a.sql", "INSERT INTO a VALUES (2)")
        #expect(throws: MigrationError.self) { try migrate() }
    }

    @Test func `a worker's address fills the URL, an IPv6 one in brackets`() {
        let url = "postgresql://app@{host}:{port}/gatehouse?options=-c%20a%3Db"
        #expect(
            CitusWorkers.Server(host: "w1", port: 5433).conninfo(url)
                == "postgresql://app@w1:5433/gatehouse?options=-c%20a%3Db")
        #expect(
            CitusWorkers.Server(host: "::1", port: 5433).conninfo(url)
                == "postgresql://app@[::1]:5433/gatehouse?options=-c%20a%3Db")
    }
}
