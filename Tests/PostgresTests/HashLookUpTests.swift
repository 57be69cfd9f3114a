import Postgres
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct HashLookUpTests {
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
        let lookUp = HashLookUp(
            postgres, columns: "number", of: "kept", by: "hash", function: "kept_by_hash")
        return (lookUp, postgres)
    }

    private func hash(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private func find(
        _ number: Int, of tenant: UUID, in lookUp: HashLookUp
    ) async throws -> Int? {
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
                        let found = try await find(number, of: tenant, in: lookUp)
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
        async let first = find(4, of: Self.tenants[0], in: lookUp)
        async let second = find(4, of: Self.tenants[0], in: lookUp)
        async let strange = find(4, of: UUID.random(), in: lookUp)
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
                _ = try await find(4, of: Self.tenants[0], in: lookUp)
            }
        }
        _ = try await postgres.query("ALTER TABLE away RENAME TO kept")
        let found = try await find(4, of: Self.tenants[1], in: lookUp)
        #expect(found == 4)
    }

    @Test func `a look-up after the close fails at once`() async throws {
        let (lookUp, postgres) = try await makeRows()
        await postgres.close()
        await #expect(throws: PostgresError.self) {
            _ = try await find(4, of: Self.tenants[0], in: lookUp)
        }
    }
}
