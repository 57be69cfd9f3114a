import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct LeasedCacheTests {
    @Test func `a key withdrawn during a batch is read again`() async throws {
        let database = try await TestDatabase.make()
        let postgres = database.client(as: database.app)
        let replica = Replica(postgres: postgres, lease: .seconds(60))
        replica.start()
        // Without its lease it remembers nothing.
        while !replica.isTrusted { _ = try await postgres.query("SELECT 1") }
        let cache = LeasedCache<String, String>(of: replica, capacity: 100)
        let tag = CacheTag(UUID(high: 3, low: 4))
        let other = CacheTag(UUID(high: 5, low: 6))
        cache.keep("good", for: "first", token: replica.token, tags: CacheTags(tag))
        var asked: [[Int]] = []
        let values = try await cache.values(
            ["first", "second"], tags: { _ in CacheTags(other) },
            query: { indexes in
                asked.append(indexes)
                if indexes == [1] {
                    let announced = try await postgres.transaction {
                        try await replica.publish([tag], in: $0)
                    }
                    await replica.awaitAcknowledgements(announced)
                }
                return indexes.map { "read \($0)" }
            })
        #expect(values == ["read 0", "read 1"])
        #expect(asked == [[1], [0]])
    }
}
