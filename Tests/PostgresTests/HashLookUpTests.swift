import Postgres
import Synchronization
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct HashLookUpTests {
    private final class Answers: Sendable {
        let times = Mutex<[Int: String]>([:])
    }

    private static let tenants = [UUID.random(), UUID.random()]

    private func makeRows() async throws -> (HashLookUp, Postgres) {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query(
            """
            CREATE TABLE kept (tenant_id uuid, hash bytea, number int8,
                UNIQUE (tenant_id, hash))
            """)
        _ = try await postgres.query(
            """
            INSERT INTO kept SELECT t.id, int4send(n), n
            FROM unnest(\(Self.tenants)) AS t (id), generate_series(0, 999, 2) AS n
            """)
        let lookUp = HashLookUp(postgres, columns: "number", of: "kept", by: "hash")
        return (lookUp, postgres)
    }

    private func hash(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private func find<T: PostgresDecodable>(
        _ number: Int, of tenant: UUID, in lookUp: HashLookUp
    ) async throws -> T? {
        let answer = await withUnsafeContinuation { continuation in
            hash(number).withUnsafeBytes { hash in
                lookUp.find(tenant, hash) { continuation.resume(returning: $0) }
            }
        }
        return try answer.get()?.get(0)
    }

    @Test func `each of many concurrent look-ups gets its own row, or nil`() async throws {
        let (lookUp, _) = try await makeRows()
        let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<1_000 {
                for tenant in Self.tenants {
                    group.addTask {
                        let found: Int? = try await find(number, of: tenant, in: lookUp)
                        return found != (number % 2 == 0 ? number : nil)
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wrong == 0)
    }

    @Test func `two look-ups of one hash get one row, and another tenant's is not found`()
        async throws
    {
        let (lookUp, _) = try await makeRows()
        async let first: Int? = find(4, of: Self.tenants[0], in: lookUp)
        async let second: Int? = find(4, of: Self.tenants[0], in: lookUp)
        async let strange: Int? = find(4, of: UUID.random(), in: lookUp)
        let found = try await [first, second, strange]
        #expect(found == [4, 4, nil])
    }

    @Test func `a failed statement fails all its look-ups, and the next one is answered`()
        async throws
    {
        let (lookUp, postgres) = try await makeRows()
        _ = try await postgres.query("ALTER TABLE kept RENAME TO away")
        for _ in 0..<2 {
            await #expect(throws: PostgresError.self) {
                let _: Int? = try await find(4, of: Self.tenants[0], in: lookUp)
            }
        }
        _ = try await postgres.query("ALTER TABLE away RENAME TO kept")
        let found: Int? = try await find(4, of: Self.tenants[1], in: lookUp)
        #expect(found == 4)
    }

    @Test func `look-ups that arrive while the server works become one statement`() async throws {
        let database = try await TestDatabase.makeEmpty()
        let postgres = database.client(as: database.administrator) { $0.lockTimeout = 30_000 }
        _ = try await postgres.query("CREATE TABLE kept (tenant_id uuid, hash bytea)")
        let tenant = UUID.random()
        for number in 0..<6 {
            _ = try await postgres.query("INSERT INTO kept VALUES (\(tenant), \(hash(number)))")
        }
        let lookUp = HashLookUp(
            postgres, columns: "statement_timestamp()::text", of: "kept", by: "hash")
        let answers = Answers()
        try await postgres.transaction { transaction in
            _ = try await transaction.query("LOCK TABLE kept")
            for number in 0..<6 {
                hash(number).withUnsafeBytes { hash in
                    lookUp.find(tenant, hash) { answer in
                        let time: String? = try? answer.get()?.get(0)
                        answers.times.withLock { $0[number] = time ?? "none" }
                    }
                }
                while number == 0, try await !database.waitsForLock() { await Task.yield() }
                // Each in a cycle of its own: a loop takes what it is given in its order.
                _ = try await transaction.query("SELECT 1")
            }
        }
        while answers.times.withLock({ $0.count }) < 6 { await Task.yield() }
        let times = answers.times.withLock { $0 }
        #expect(Set((1..<6).map { times[$0] }).count == 1)
        #expect(!times.values.contains("none") && times[0] != times[1])
    }

    @Test func `a look-up after the close fails at once`() async throws {
        let (lookUp, postgres) = try await makeRows()
        await postgres.close()
        await #expect(throws: PostgresError.self) {
            let _: Int? = try await find(4, of: Self.tenants[0], in: lookUp)
        }
    }
}
