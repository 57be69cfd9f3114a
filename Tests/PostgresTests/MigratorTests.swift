import Glibc
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite(.cleansUp) struct MigratorTests {
    private final class Folder {
        let path: String

        init() {
            var template = Array("/tmp/gh-migrations.XXXXXX".utf8CString)
            path = mkdtemp(&template).map { String(cString: $0) } ?? ""
        }

        deinit { _ = try? Shell.run(["rm", "-rf", path]) }

        func write(_ name: String, _ text: String) {
            guard let file = fopen("\(path)/\(name)", "w") else { return }
            fputs(text, file)
            fclose(file)
        }
    }

    private final class Failures: Sendable {
        let count = Atomic(0)
    }

    /// The tables `t` and `u` are made; the next file changes `u`, then `t`.
    private static func twoTables(_ database: TestDatabase) throws -> Folder {
        let folder = Folder()
        folder.write("0001_table.sql", "CREATE TABLE t (a int); CREATE TABLE u (a int);")
        try Migrator.migrate(conninfo: database.administrator, directory: folder.path)
        folder.write("0002_column.sql", "ALTER TABLE u ADD b int; ALTER TABLE t ADD b int")
        return folder
    }

    private static let validIndexes: SQL =
        "SELECT count(*) FROM pg_index WHERE indisvalid AND indrelid = 't'::regclass"

    @Test func `files are applied once, in order`() async throws {
        let (postgres, database) = try await makeDatabase()
        let folder = Folder()
        folder.write("0002_row.sql", "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);")
        folder.write("0001_table.sql", "CREATE TABLE t (a int);")
        folder.write("notes.txt", "not a migration")
        let names = ["0001_table.sql", "0002_row.sql"]
        let first = try Migrator.migrate(
            conninfo: database.administrator, directory: folder.path)
        #expect(first == names)
        let second = try Migrator.migrate(
            conninfo: database.administrator, directory: folder.path)
        #expect(second.isEmpty)
        #expect(try await postgres.one("SELECT count(*) FROM t") == 2)
    }

    @Test func `replicas that start together apply each file once`() async throws {
        let (postgres, database) = try await makeDatabase()
        let folder = Folder()
        folder.write("0001_table.sql", "CREATE TABLE t (a int); SELECT pg_sleep(0.05);")
        folder.write("0002_row.sql", "INSERT INTO t VALUES (1)")
        let path = folder.path
        let conninfo = database.administrator
        let applied = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try Migrator.migrate(conninfo: conninfo, directory: path).count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(applied == 2)
        #expect(try await postgres.one("SELECT count(*) FROM t") == 1)
        _ = folder
    }

    @Test func `an index is created while others write, even while another replica waits`()
        async throws
    {
        let (postgres, database) = try await makeDatabase()
        let folder = Folder()
        folder.write("0001_table.sql", "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2);")
        folder.write(
            "0002_index.sql",
            """
            -- outside a transaction
            DROP INDEX CONCURRENTLY IF EXISTS t_by_a
            -- then
            SELECT pg_sleep(0.2)
            -- then
            -- Unique, so that it fails as long as a value is there twice.
            CREATE UNIQUE INDEX CONCURRENTLY t_by_a ON t (a)
            """)
        let (path, conninfo) = (folder.path, database.administrator)
        let applied = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try Migrator.migrate(conninfo: conninfo, directory: path).count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(applied == 2)
        #expect(try await postgres.one(Self.validIndexes) == 1)
        _ = folder
    }

    @Test func `a file that failed outside a transaction is applied from its beginning`()
        async throws
    {
        let (postgres, database) = try await makeDatabase()
        let folder = Folder()
        folder.write("0001_table.sql", "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (1);")
        folder.write(
            "0002_index.sql",
            """
            -- outside a transaction
            DROP INDEX CONCURRENTLY IF EXISTS t_by_a
            -- then
            CREATE UNIQUE INDEX CONCURRENTLY t_by_a ON t (a)
            """)
        #expect {
            try Migrator.migrate(conninfo: database.administrator, directory: folder.path)
        } throws: {
            ($0 as? MigrationError)?.name == "0002_index.sql"
        }
        _ = try await postgres.query("DELETE FROM t")
        let second = try Migrator.migrate(
            conninfo: database.administrator, directory: folder.path)
        #expect(second == ["0002_index.sql"])
        #expect(try await postgres.one(Self.validIndexes) == 1)
    }

    @Test func `a migration that waits for a table in use delays nobody, and tries again`()
        async throws
    {
        let (postgres, database) = try await makeDatabase()
        let folder = try Self.twoTables(database)
        let (path, conninfo) = (folder.path, database.administrator)
        let failures = Failures()
        let migration = try await postgres.transaction { transaction in
            _ = try await transaction.query("SELECT a FROM t")
            let migration = Task {
                try await OwnThread.run {
                    try Migrator.migrate(
                        conninfo: conninfo, directory: path, lockWait: 1200,
                        waits: { _ in failures.count.add(1, ordering: .relaxed) })
                }
            }
            while failures.count.load(ordering: .relaxed) < 2 {
                // The migration changes this table first. If it kept its lock while it pauses, this would wait for
                // longer than the 2 s of `lock_timeout`.
                _ = try await postgres.read("SELECT a FROM u")
            }
            return migration
        }
        #expect(try await migration.value == ["0002_column.sql"])
        _ = try await postgres.read("SELECT t.b, u.b FROM t, u")
    }

    @Test func `a migration that never gets a lock fails, and changes nothing`() async throws {
        let (postgres, database) = try await makeDatabase()
        let folder = try Self.twoTables(database)
        let (path, conninfo) = (folder.path, database.administrator)
        try await postgres.transaction { transaction in
            _ = try await transaction.query("SELECT a FROM t")
            await #expect {
                try await OwnThread.run {
                    try Migrator.migrate(conninfo: conninfo, directory: path, lockWait: 1)
                }
            } throws: {
                ($0 as? MigrationError)?.reason.contains("lock timeout") == true
            }
        }
        #expect(
            try await postgres.one(
                "SELECT count(*) FROM pg_attribute WHERE attrelid = 'u'::regclass AND attname = 'b'"
            ) == 0)
    }

    @Test func `a changed and a missing file stop with their name`() async throws {
        let (_, database) = try await makeDatabase()
        let folder = Folder()
        folder.write("0001_table.sql", "CREATE TABLE t (a int)")
        try Migrator.migrate(conninfo: database.administrator, directory: folder.path)
        folder.write("0001_table.sql", "CREATE TABLE t (a bigint)")
        #expect {
            try Migrator.migrate(conninfo: database.administrator, directory: folder.path)
        } throws: {
            ($0 as? MigrationError)?.name == "0001_table.sql"
        }
        unlink("\(folder.path)/0001_table.sql")
        #expect {
            try Migrator.migrate(conninfo: database.administrator, directory: folder.path)
        } throws: {
            ($0 as? MigrationError)?.name == "0001_table.sql"
        }
    }

    @Test func `a migration that fails leaves no change behind`() async throws {
        let (postgres, database) = try await makeDatabase()
        let folder = Folder()
        folder.write("0001_bad.sql", "CREATE TABLE t (a int); SELECT 1 / 0;")
        #expect {
            try Migrator.migrate(conninfo: database.administrator, directory: folder.path)
        } throws: {
            ($0 as? MigrationError)?.name == "0001_bad.sql"
        }
        let left = try await postgres.read("SELECT to_regclass('t') IS NULL")
        #expect(try left[0].get(0) == true)
    }

    @Test func `the product's migrations apply and its roles can connect`() async throws {
        let database = try await TestDatabase.make()
        for role in [database.owner, database.app, database.platform] {
            let postgres = database.client(as: role)
            #expect(try await postgres.one("SELECT 1") == 1)
        }
    }

    private static let product = "\(TestCluster.root)/Migrations"

    /// Refuses every CREATE EXTENSION, as servers do whose administrators make the extensions.
    private static func forbidExtensions(_ postgres: Postgres) async throws {
        try await postgres.query(
            """
            CREATE FUNCTION forbid() RETURNS event_trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'extensions are made by the platform team'; END $$
            """)
        try await postgres.query(
            """
            CREATE EVENT TRIGGER forbidden ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION')
            EXECUTE FUNCTION forbid()
            """)
    }

    @Test func `an existing extension is not created again if none may be created`() async throws {
        let (postgres, database) = try await makeDatabase()
        for name in ["pg_trgm", "btree_gin"] {
            try await postgres.query(SQL(raw: "CREATE EXTENSION \(name)"))
        }
        try await Self.forbidExtensions(postgres)
        let done = try Migrator.migrate(conninfo: database.owner, directory: Self.product)
        #expect(done.first == "0001_foundation.sql")
        #expect(try Migrator.migrate(conninfo: database.owner, directory: Self.product).isEmpty)
    }

    @Test func `an extension that cannot be made is named, with who can make it`() async throws {
        let (postgres, database) = try await makeDatabase()
        try await Self.forbidExtensions(postgres)
        #expect {
            try Migrator.migrate(conninfo: database.owner, directory: Self.product)
        } throws: {
            guard let error = $0 as? MigrationError else { return false }
            return error.name == "0001_foundation.sql"
                && error.reason.contains("makes it by `CREATE EXTENSION pg_trgm`")
        }
    }
}
