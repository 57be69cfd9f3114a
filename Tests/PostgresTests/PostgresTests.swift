import Postgres
import Runtime
import Synchronization
import TestSupport
import Testing
import Text

enum Colour: String, PostgresEncodable, PostgresDecodable {
    case red
    case green
}

/// A fresh, empty database and a client of it.
func makeDatabase(
    readsPerLoop: Int = 2, transactionsPerLoop: Int = 8, statementTimeout: Int = 2500,
    acquireTimeout: Int = 1500, statementLimit: Int = 256
) async throws -> (Postgres, TestDatabase) {
    let database = try await TestDatabase.makeEmpty()
    let postgres = database.client(as: database.administrator) {
        $0.readsPerLoop = readsPerLoop
        $0.transactionsPerLoop = transactionsPerLoop
        $0.statementTimeout = statementTimeout
        $0.acquireTimeout = acquireTimeout
        $0.statementLimit = statementLimit
    }
    return (postgres, database)
}

extension Postgres {
    /// One value, read.
    func one<T: PostgresDecodable>(_ sql: SQL, _ column: Int = 0) async throws -> T {
        try await read(sql)[0].get(column)
    }

    /// One value, by a write connection.
    func written<T: PostgresDecodable>(_ sql: SQL, _ column: Int = 0) async throws -> T {
        try await query(sql)[0].get(column)
    }
}

@Suite(.cleansUp) struct TypeTests {
    @Test func `every type makes the round trip`() async throws {
        let (postgres, _) = try await makeDatabase()
        let id = UUID.random()
        let time = Timestamp(microseconds: 1_763_631_000_123_456)
        let old = Timestamp(microseconds: -1_000_001)
        let row = try await postgres.read(
            """
            SELECT \(id) AS a, \("ü\u{1F600}") AS b, \(Int64.min) AS c, \(true) AS d,
                \(time) AS e, \(old) AS f, \([0, 255] as [UInt8]) AS g,
                \(["", "x,\"y"]) AS h, \([id, id]) AS i, \(nil as String?) AS j,
                \(Colour.green) AS k, \(JSONB(#"{"a": 1}"#)) AS l, \([] as [UInt8]) AS m,
                \([] as [String]) AS n, \("") AS o, \(1.5) AS p
            """)[0]
        #expect(try row.get(0) == id)
        #expect(try row.get("b") == "ü\u{1F600}")
        #expect(try row.get(2) == Int64.min)
        #expect(try row.get("d") == true)
        #expect(try row.get("e") == time)
        #expect(try row.get("f") == old)
        #expect(try row.get("g") == [0, 255] as [UInt8])
        #expect(try row.get("h") == ["", "x,\"y"])
        #expect(try row.get("i") == [id, id])
        #expect(try row.get("j", as: String?.self) == nil)
        #expect(try row.get("k") == Colour.green)
        #expect(try row.get("l", as: JSONB.self).text == #"{"a": 1}"#)
        #expect(try row.get("m") == [] as [UInt8])
        #expect(try row.get("n") == [] as [String])
        #expect(try row.get("o", as: String?.self) == "")
        #expect(try row.get("p") == 1.5)
        #expect(row.bytes(1)?.count == 6)
    }

    @Test func `times and integers mean the same to the server`() async throws {
        let (postgres, _) = try await makeDatabase()
        let row = try await postgres.read(
            """
            SELECT '2026-11-20T09:30:00.5Z'::timestamptz, 7::int2, -7::int4,
                \(Timestamp(microseconds: 0)) = to_timestamp(0), '{1,2}'::int8[]
            """)[0]
        #expect(try row.get(0, as: Timestamp.self).description == "2026-11-20T09:30:00.500Z")
        #expect(try row.get(1) == 7)
        #expect(try row.get(2) == -7)
        #expect(try row.get(3) == true)
        #expect(try row.get(4) == [1, 2] as [Int64])
    }

    @Test func `NULL, a wrong type and an unknown column fail to decode`() async throws {
        let (postgres, _) = try await makeDatabase()
        let row = try await postgres.read("SELECT NULL::text AS a, 'blue' AS b, 1 AS c")[0]
        for read in [
            { _ = try row.get("a", as: String.self) },
            { _ = try row.get("b", as: Colour.self) }, { _ = try row.get("c", as: UUID.self) },
            { _ = try row.get("d", as: Int.self) }, { _ = try row.get(9, as: Int.self) },
        ] as [() throws -> Void] {
            #expect { try read() } throws: { ($0 as? PostgresError)?.kind == .decoding }
        }
    }

    @Test func `a getter of a known type reads and refuses as the one for any type`() async throws {
        let (postgres, _) = try await makeDatabase()
        let id = UUID.random()
        let time = Timestamp(microseconds: 1)
        let row = try await postgres.read(
            """
            SELECT \(id), 'ü', \(time), 7::int2, NULL::uuid, NULL::text, NULL::timestamptz,
                \(JSONB("{}")), 'infinity'::timestamptz
            """)[0]
        let found: (UUID, String, Timestamp, Int) = try (
            row.get(0), row.get(1), row.get(2), row.get(3)
        )
        #expect(found == (id, "ü", time, 7))
        let given: (UUID?, String?, Timestamp?) = try (row.get(0), row.get(1), row.get(2))
        #expect(given == (id, "ü", time))
        let nothing: (UUID?, String?, Timestamp?) = try (row.get(4), row.get(5), row.get(6))
        #expect(nothing == (nil, nil, nil))
        let document: String = try row.get(7)
        #expect(document == "{}")
        for read in [
            { let _: UUID = try row.get(4) }, { let _: String = try row.get(5) },
            { let _: Timestamp = try row.get(6) }, { let _: Int = try row.get(4) },
            { let _: UUID? = try row.get(1) }, { let _: Timestamp? = try row.get(8) },
            { let _: String? = try row.get(9) }, { let _: UUID? = try row.get(-1) },
        ] as [() throws -> Void] {
            #expect { try read() } throws: { ($0 as? PostgresError)?.kind == .decoding }
        }
    }
}

@Suite(.cleansUp) struct ReadTests {
    @Test func `pipelined reads get each their own answer`() async throws {
        let (postgres, _) = try await makeDatabase()
        let sums = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                group.addTask(executorPreference: Loops.shared[number % 2]) {
                    try await postgres.read("SELECT \(number)")[0].get(0) == number
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(sums == 500)
    }

    /// A changed table's plan is stale; by then another caller may have the connection.
    @Test func `a repeated write does not run in another caller's transaction`() async throws {
        let (postgres, database) = try await makeDatabase(transactionsPerLoop: 1)
        let other = database.client(as: database.administrator)
        _ = try await other.query("CREATE TABLE marks (id int)")
        let write: SQL = "INSERT INTO marks (id) VALUES (1) RETURNING *"
        try await Task(executorPreference: Loops.shared[0]) {
            _ = try await postgres.query(write)
            _ = try await postgres.query(write)
            _ = try await other.query("ALTER TABLE marks ADD COLUMN more int")
            async let written = postgres.query(write)
            async let undone: Void = postgres.transaction { transaction in
                _ = try await transaction.query("SELECT 1")
                throw CancellationError()
            }
            #expect(try await written.count == 1)
            _ = try? await undone
        }.value
        let count: Int = try await other.one("SELECT count(*) FROM marks")
        #expect(count == 3)
    }

    @Test func `a failed read does not spoil its neighbours`() async throws {
        let (postgres, _) = try await makeDatabase(readsPerLoop: 1)
        let wrong: [String] = await withTaskGroup(of: String?.self) { group in
            for number in 0..<90 {
                group.addTask(executorPreference: Loops.shared[0]) {
                    await Self.neighbour(number, postgres)
                }
            }
            return await group.reduce(into: []) { if let text = $1 { $0.append(text) } }
        }
        #expect(wrong == [])
        let after: Int = try await postgres.one("SELECT 7")
        #expect(after == 7)
    }

    /// What went otherwise than it should for one of the neighbours, if anything.
    private static func neighbour(_ number: Int, _ postgres: Postgres) async -> String? {
        let kind = number % 9
        do {
            let rows =
                switch kind {
                case 0: try await postgres.read("SELECT 1 / \(0)")
                case 1: try await postgres.tenantRead(.random(), "SELECT 1/\(0)")
                case 2: try await postgres.read("SELECT nonsense")
                case 3: try await postgres.tenantRead(.random(), "SELEC")
                case 4: try await postgres.tenantRead(.random(), "SELECT \(number)")
                default: try await postgres.read("SELECT \(number)")
                }
            let value = try rows[0].get(0, as: Int.self)
            return kind > 3 && value == number ? nil : "\(number): \(value)"
        } catch {
            let wanted = ["22012", "22012", "42703", "42601"]
            return kind < 4 && error.sqlstate == wanted[kind] ? nil : "\(number): \(error)"
        }
    }

    @Test func `a tenant read sees its tenant and leaves the setting empty`() async throws {
        let (postgres, _) = try await makeDatabase(readsPerLoop: 1)
        let tenant = UUID.random()
        let setting: SQL = "SELECT coalesce(current_setting('app.tenant', true), '')"
        let seen: String = try await postgres.tenantRead(tenant, setting)[0].get(0)
        #expect(seen == tenant.description)
        #expect(try await postgres.one(setting) == "")
    }

    /// Sent in one batch, and so in one implicit transaction.
    @Test func `reads of several tenants and of none share a batch and see each their own`()
        async throws
    {
        let (postgres, _) = try await makeDatabase(readsPerLoop: 1)
        let setting: SQL = "SELECT coalesce(current_setting('app.tenant', true), '')"
        let tenants = (0..<5).map { _ in UUID.random() }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<300 {
                let tenant = number % 6 < 5 ? tenants[number % 6] : nil
                group.addTask {
                    // Some fail, and take their neighbours down to be sent again.
                    if number % 50 == 7, let tenant {
                        _ = try? await postgres.tenantRead(tenant, "SELECT 1 / 0")
                    }
                    guard let tenant else { return try await postgres.one(setting) == "" }
                    let rows = try await postgres.tenantRead(tenant, setting)
                    return try rows[0].get(0) == tenant.description
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func `a statement survives a change of its table`() async throws {
        let (postgres, _) = try await makeDatabase(readsPerLoop: 1)
        _ = try await postgres.query("CREATE TABLE t (a int)")
        _ = try await postgres.query("INSERT INTO t VALUES (1)")
        #expect(try await postgres.one("SELECT * FROM t", 0) == 1)
        _ = try await postgres.query("ALTER TABLE t ADD b int DEFAULT 2")
        #expect(try await postgres.one("SELECT * FROM t", 1) == 2)
    }

    @Test func `more texts than the cache holds still work`() async throws {
        let (postgres, _) = try await makeDatabase(readsPerLoop: 1, statementLimit: 8)
        for round in 0..<40 {
            let rows = try await postgres.read("SELECT \(round) AS \(raw: "c\(round % 13)")")
            #expect(try rows[0].get(0) == round)
        }
        let kept = try await postgres.read("SELECT count(*) FROM pg_prepared_statements")
        #expect(try kept[0].get(0, as: Int.self) <= 8)
    }

    @Test func `a statement past its timeout ends with a timeout`() async throws {
        let (postgres, _) = try await makeDatabase(statementTimeout: 100)
        for slow in ["SELECT pg_sleep(5)"] as [SQL] {
            await #expect { try await postgres.read(slow) } throws: {
                ($0 as? PostgresError)?.kind == .timeout
            }
            await #expect { try await postgres.query(slow) } throws: {
                ($0 as? PostgresError)?.kind == .timeout
            }
        }
        let after: Int = try await postgres.one("SELECT 1")
        #expect(after == 1)
    }

    @Test func `a loop calls at the end of its cycles until the answer is no`() async {
        let calls = Atomic(0)
        let loop = Loops.shared[0]
        func cycle(_ call: @escaping @Sendable () -> Void = {}) async {
            await withCheckedContinuation { continuation in
                loop.perform {
                    call()
                    continuation.resume()
                }
            }
        }
        await cycle { loop.atCycleEnd { calls.add(1, ordering: .relaxed).newValue < 3 } }
        // What is performed has the cycle before it behind it.
        for _ in 0..<8 { await cycle() }
        #expect(calls.load(ordering: .relaxed) == 3)
    }
}
