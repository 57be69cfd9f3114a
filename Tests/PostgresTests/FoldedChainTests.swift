import Glibc
import Postgres
import TestSupport
import Testing

/// Databases that the migrations of before the fold made are taken over.
@Suite(.cleansUp, .onOneServer) struct FoldedChainTests {
    private static let product = "\(TestCluster.root)/Migrations"

    /// The files of before the fold, from the commit that the ledger names.
    private final class Chain {
        let path: String
        let commit: String

        init(without names: [String] = []) throws {
            var template = Array("/tmp/gh-chain.XXXXXX".utf8CString)
            let folder = mkdtemp(&template).map { String(cString: $0) } ?? ""
            path = "\(folder)/Migrations"
            let ledger = try Shell.run(["head", "-n", "1", "\(product)/folded/ledger"])
            commit = String(ledger.dropLast().suffix(40))
            try Shell.run([
                "sh", "-c", #"git -C "$1" archive "$2" Migrations | tar -x -C "$3""#, "sh",
                TestCluster.root, commit, folder,
            ])
            for name in names { unlink("\(path)/\(name)") }
        }

        deinit { _ = try? Shell.run(["rm", "-rf", path + "/.."]) }

        func make() async throws -> (Postgres, TestDatabase) {
            let (postgres, database) = try await makeDatabase()
            try Migrator.migrate(conninfo: database.owner, directory: path)
            return (postgres, database)
        }
    }

    private static func names(_ postgres: Postgres) async throws -> [String] {
        let rows = try await postgres.query(
            "SELECT name FROM schema_migrations ORDER BY version, name")
        return try rows.map { try $0.get(0, as: String.self) }
    }

    /// The files since the fold: a database that is taken over gets them as every other does.
    private static func since() throws -> [String] {
        try Migrator.names(in: product).filter { $0 > "0017" }
    }

    private static func takeOver(_ database: TestDatabase) throws -> [String] {
        try Migrator.migrate(conninfo: database.owner, directory: product)
    }

    /// The record stays as it is.
    private static func expectRefused(
        _ postgres: Postgres, _ database: TestDatabase, _ name: String, saying words: String
    ) async throws {
        let before = try await names(postgres)
        #expect {
            try takeOver(database)
        } throws: {
            guard let error = $0 as? MigrationError else { return false }
            return error.name == name && error.reason.contains(words)
        }
        #expect(try await names(postgres) == before)
    }

    @Test func `a database at the last file but one gets the last, and the new record`()
        async throws
    {
        let (postgres, database) = try await Chain().make()
        try await postgres.query(
            """
            INSERT INTO tenants (id, slug, name, locator, created_at, updated_at)
            VALUES (gen_random_uuid(), 'acme', 'Acme', 'ACME01', now(), now())
            """)
        #expect(try Self.takeOver(database) == ["0088_one_signature.sql"] + Self.since())
        #expect(try await Self.names(postgres) == Migrator.names(in: Self.product))
        #expect(try Self.takeOver(database) == [])
        #expect(try await postgres.one("SELECT count(*) FROM tenants WHERE slug = 'acme'") == 1)
        #expect(
            try await postgres.one(
                """
                SELECT count(*) FROM pg_proc WHERE proname IN ('protect', 'tenant_rows_remove')
                    OR to_regclass('operator_places') IS NOT NULL
                """) == 1)
    }

    @Test func `a database at the last file gets the new record alone`() async throws {
        let chain = try Chain()
        try Shell.run(["cp", "\(Self.product)/folded/0088_one_signature.sql", chain.path])
        let (postgres, database) = try await chain.make()
        #expect(try Self.takeOver(database) == Self.since())
        #expect(try await Self.names(postgres) == Migrator.names(in: Self.product))
    }

    @Test func `a database before it is refused, with the commit that goes on`() async throws {
        let chain = try Chain(without: [
            "0086_targets_by_id.sql", "0087_numbered_failures_index.sql",
        ])
        let (postgres, database) = try await chain.make()
        try await Self.expectRefused(
            postgres, database, "0086_targets_by_id.sql",
            saying: "first run `gatehouse migrate` of the commit \(chain.commit)")
    }

    @Test func `a database with a changed file is refused`() async throws {
        let (postgres, database) = try await Chain().make()
        try await postgres.query(
            "UPDATE schema_migrations SET checksum = repeat('0', 64) WHERE version = '0042'")
        try await Self.expectRefused(
            postgres, database, "0042_lookups.sql", saying: "is not the file that was folded")
    }

    @Test func `replicas that start together take a database over once`() async throws {
        let (postgres, database) = try await Chain().make()
        let conninfo = database.owner
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await OwnThread.run {
                        try Migrator.migrate(conninfo: conninfo, directory: Self.product)
                    }
                }
            }
            return try await group.reduce([], +)
        }
        #expect(try applied == ["0088_one_signature.sql"] + Self.since())
        #expect(try await Self.names(postgres) == Migrator.names(in: Self.product))
    }

    /// The record says that it is one; nothing of it needs Citus.
    @Test func `a distributed database needs both of its files`() async throws {
        let (postgres, database) = try await Chain().make()
        let ledger = try Shell.run(["cat", "\(Self.product)/folded/ledger"])
        for line in ledger.split(separator: "\n") where line.contains("  distributed/") {
            let (checksum, name) = (String(line.prefix(64)), String(line.dropFirst(66)))
            try await postgres.query(
                """
                INSERT INTO schema_migrations (version, name, checksum)
                VALUES (left(\(name), 16), \(name), \(checksum))
                """)
        }
        let row = try await postgres.query(
            "DELETE FROM schema_migrations WHERE version = 'distributed/0085' RETURNING checksum")
        let checksum = try #require(row.first).get(0, as: String.self)
        try await Self.expectRefused(
            postgres, database, "distributed/0085_claimed_ids.sql", saying: "was not applied")
        try await postgres.query(
            """
            INSERT INTO schema_migrations (version, name, checksum)
            VALUES ('distributed/0085', 'distributed/0085_claimed_ids.sql', \(checksum))
            """)
        #expect(try Self.takeOver(database) == ["0088_one_signature.sql"] + Self.since())
        let names = try await Self.names(postgres)
        let numbered = try Migrator.names(in: Self.product)
        #expect(names == numbered + ["distributed/0016_by_tenant.sql"])
    }
}
