import Postgres
import Synchronization
import TestSupport
import Testing
import Text

/// Whose lease a change waits for, by what stands in the database.
@Suite(.cleansUp) struct LeaseTests {
    private static let other = UUID(high: 1, low: 2)

    /// A change made while the other's row says so is settled before or after the other obeys.
    private func waits(server: SQL) async throws -> Bool {
        let database = try await TestDatabase.make()
        let postgres = database.client(as: database.app)
        let replica = Replica(postgres: postgres, lease: .seconds(60))
        replica.start()
        CleanUp.atEnd { await replica.stop() }
        // A replica that does not listen gets no acknowledgement.
        while !replica.isTrusted { _ = try await postgres.query("SELECT 1") }
        _ = try await postgres.query(
            """
            INSERT INTO replicas (id, lease_until, server)
            VALUES (\(Self.other), clock_timestamp() - interval '1 second', \(server))
            """)
        let published = try await postgres.transaction { transaction in
            try await replica.publish([CacheTag(UUID(high: 3, low: 4))], in: transaction)
        }
        let settled = Settled()
        let change = Task {
            await replica.awaitAcknowledgements(published)
            settled.flag.store(true, ordering: .sequentiallyConsistent)
        }
        // A change that waits for no replica asks the database once.
        for _ in 0..<100 { _ = try await postgres.query("SELECT 1") }
        let waited = !settled.flag.load(ordering: .sequentiallyConsistent)
        let numbers = try await postgres.query("SELECT max(seq) FROM revocations")
        let number = try #require(numbers.first).get(0, as: Int64.self)
        _ = try await postgres.query(
            "SELECT pg_notify('gatehouse', \("acknowledged \(number) \(Self.other)"))")
        await change.value
        return waited
    }

    private final class Settled: Sendable {
        let flag = Atomic(false)
    }

    @Test func `a lease that is over by the clock of its own server is not waited for`()
        async throws
    {
        #expect(try await !waits(server: "pg_postmaster_start_time()"))
    }

    @Test func `a lease that another server granted is not over by the clock of this one`()
        async throws
    {
        #expect(try await waits(server: "timestamptz '2000-01-01'"))
    }
}
