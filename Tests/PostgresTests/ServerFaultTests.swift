import Postgres
import Runtime
import Synchronization
import TestSupport
import Testing

/// What the server itself cannot do is no fault of the statement.
@Suite(.cleansUp) struct ServerFaultTests {
    private final class Told: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }
        func add(_ name: StaticString, _ detail: String) {
            names.withLock { $0.append("\(name): \(detail)") }
        }
    }

    private static func client(
        of database: TestDatabase, _ told: Told, words: String = ""
    ) -> Postgres {
        database.client(as: database.administrator + words) {
            $0.log = { told.add($0, $1) }
        }
    }

    @Test func `a read-only server is unavailable for writes, is named, and reads go on`()
        async throws
    {
        let (writable, database) = try await makeDatabase()
        _ = try await writable.query("CREATE TABLE t (a int)")
        #expect(try await writable.takesWrites())
        let told = Told()
        let readOnly = Self.client(
            of: database, told, words: " options='-c default_transaction_read_only=on'")
        for _ in 0..<5 {
            await #expect {
                try await readOnly.query("INSERT INTO t VALUES (1)")
            } throws: {
                ($0 as? PostgresError)?.isUnavailable == true
            }
        }
        #expect(try await readOnly.one("SELECT count(*) FROM t") == 0)
        #expect(try await readOnly.takesWrites() == false)
        let lines = told.all.filter { $0.hasPrefix("postgres.writes_refused: 25006 ") }
        #expect((1...2).contains(lines.count), "once a second, not for each statement")
    }

    @Test func `a service without a connection for writes is not ready, though reads go on`()
        async throws
    {
        let (postgres, _) = try await makeDatabase(transactionsPerLoop: 0, acquireTimeout: 200)
        let one: Int = try await postgres.one("SELECT 1")
        #expect(one == 1)
        await #expect { try await postgres.takesWrites() } throws: {
            ($0 as? PostgresError)?.isUnavailable == true
        }
    }

    @Test(arguments: [
        ("53100", "postgres.disk_filled"), ("53200", "postgres.memory_exhausted"),
        ("57P03", "postgres.start_awaited"), ("53300", "postgres.connections_exhausted"),
        ("58030", "postgres.io_failed"),
    ])
    func `a fault of the server is logged by its name`(state: String, name: String) async throws {
        let (_, database) = try await makeDatabase()
        let told = Told()
        let postgres = Self.client(of: database, told)
        await #expect {
            try await postgres.query(
                SQL(raw: "DO $$ BEGIN RAISE 'away' USING ERRCODE = '\(state)'; END $$"))
        } throws: {
            ($0 as? PostgresError)?.isUnavailable == true
        }
        #expect(told.all.contains("\(name): \(state) away"))
    }

    @Test func `a COMMIT that the server refuses for want of room is not unknown`() async throws {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query("CREATE TABLE t (a int)")
        _ = try await postgres.query(
            """
            CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END $$
            """)
        _ = try await postgres.query(
            """
            CREATE CONSTRAINT TRIGGER no_room AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION full_disk()
            """)
        await #expect {
            try await postgres.transaction { try await $0.query("INSERT INTO t VALUES (1)") }
        } throws: {
            ($0 as? PostgresError)?.kind == .unavailable
        }
    }

    @Test func `no statement begins after its request's time is over`() async throws {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query("CREATE TABLE t (a int)")
        let over = Deadline(since: Deadline.now - 10_000_000_000, lasting: .seconds(5))
        try await Deadline.$current.withValue(over) {
            await #expect { try await postgres.read("SELECT 1") } throws: {
                ($0 as? PostgresError)?.kind == .timeout
            }
            await #expect { try await postgres.query("INSERT INTO t VALUES (1)") } throws: {
                ($0 as? PostgresError)?.kind == .timeout
            }
            await #expect {
                try await postgres.transaction { try await $0.query("SELECT 1") }
            } throws: {
                ($0 as? PostgresError)?.kind == .timeout
            }
        }
        #expect(try await postgres.one("SELECT count(*) FROM t") == 0)
    }

    @Test func `a wait for a connection ends with its request's time`() async throws {
        let (postgres, _) = try await makeDatabase(transactionsPerLoop: 1, acquireTimeout: 20_000)
        let clock = ContinuousClock()
        try await postgres.transaction { _ in
            let start = clock.now
            let short = Deadline(since: Deadline.now, lasting: .milliseconds(500))
            let failure: PostgresError? = await Deadline.$current.withValue(short) {
                do throws(PostgresError) {
                    _ = try await postgres.query("SELECT 1")
                    return nil
                } catch {
                    return error
                }
            }
            #expect(failure?.isUnavailable == true)
            #expect(clock.now - start < .seconds(5))
        }
    }

    @Test func `a log line of an error holds no value of a row`() {
        func error(_ code: String, _ message: String, _ constraint: String? = nil) -> PostgresError
        {
            PostgresError(
                .server(sqlstate: code, message: message, constraint: constraint), message)
        }
        #expect(error("P0001", "boom a@b.example").description == "P0001 a function refuses it")
        #expect(
            error("23505", "Key (a@b.example)", "users_key").description
                == "23505 a constraint refuses the row (users_key)")
        #expect(
            error("22P02", "invalid input syntax: \"a@b.example\"").description
                == "22P02 a value does not fit")
        #expect(
            error("42501", "permission denied for table users").description
                == "42501 permission denied for table users")
        #expect(error("P0001", "boom a@b.example").inFull == "P0001 boom a@b.example")
    }
}
