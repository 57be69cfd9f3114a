import Postgres
import Synchronization

/// A cache of query results, used only while the replica's lease lasts. Its size is bounded: when
/// the young half is full, it replaces the old half. Each event loop has its own entries, since a
/// profile showed that loops waited for each other's lock on a popular key.
package final class LeasedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    package struct Entry: Sendable {
        package let value: Value
        package let token: Freshness.Token
        package let tags: CacheTags
    }

    private struct Halves {
        var young: [Key: Entry] = [:]
        var old: [Key: Entry] = [:]
    }

    private final class Shard: Sendable {
        let halves = Mutex(Halves())
    }

    /// The number of shards per loop.
    private static var shardCount: Int { 8 }

    private let replica: Replica
    private let half: Int
    private let shards: [Shard]

    /// `capacity` is the maximum number of entries for each event loop.
    package init(of replica: Replica, capacity: Int) {
        self.replica = replica
        half = max(1, capacity / 2 / Self.shardCount)
        shards = (0..<Self.shardCount * Lane.count).map { _ in Shard() }
    }

    /// Returns the entry if it is fresh; otherwise nil.
    func fresh(_ key: Key) -> Entry? {
        guard let entry = found(key), replica.isFresh(entry.token, entry.tags) else { return nil }
        return entry
    }

    /// Stores an entry. `token` must be taken before the query that returns the value.
    package func keep(_ value: Value, for key: Key, token: Freshness.Token, tags: CacheTags) {
        let half = half
        shard(key).halves.withLock { halves in
            if halves.young.count >= half {
                halves.old = halves.young
                // Reserves the whole size at once; growth in steps would move every entry twice.
                halves.young = Dictionary(minimumCapacity: half)
            }
            halves.young[key] = Entry(value: value, token: token, tags: tags)
        }
    }

    /// Returns the cached value or else the result of `query`. The result is cached under `tags`,
    /// or not at all if `tags` returns nil.
    package func value(
        _ key: Key, tags: (Value) -> CacheTags?, query: () async throws -> Value
    ) async throws -> Value {
        if let entry = fresh(key) { return entry.value }
        let token = replica.token
        let value = try await query()
        if replica.isTrusted, let tags = tags(value) {
            keep(value, for: key, token: token, tags: tags)
        }
        return value
    }

    /// Returns the values of many keys. `query` gets the indices of the keys that are not cached,
    /// and returns their values in that order. It is not called if all are cached.
    package func values(
        _ keys: [Key], tags: (Value) -> CacheTags?, query: ([Int]) async throws -> [Value]
    ) async throws -> [Value] {
        var cached = keys.map(fresh)
        var values = cached.map { $0?.value }
        var missing = keys.indices.filter { values[$0] == nil }
        while !missing.isEmpty {
            let token = replica.token
            let answers = try await query(missing)
            for (index, value) in zip(missing, answers) {
                values[index] = value
                guard replica.isTrusted, let tags = tags(value) else { continue }
                keep(value, for: keys[index], token: token, tags: tags)
            }
            // Queries again the cached values that were invalidated during the query.
            missing = cached.indices.filter { index in
                cached[index].map { !replica.isFresh($0.token, $0.tags) } ?? false
            }
            for index in missing { cached[index] = nil }
        }
        return values.compactMap(\.self)
    }

    /// Returns the entry, fresh or not. The caller must check `Replica.isFresh` once more, right
    /// before it answers.
    package func found(_ key: Key) -> Entry? {
        let half = half
        return shard(key).halves.withLock { halves in
            if let entry = halves.young[key] { return entry }
            guard let entry = halves.old[key] else { return nil }
            if halves.young.count < half { halves.young[key] = entry }
            return entry
        }
    }

    private func shard(_ key: Key) -> Shard {
        shards[Lane.current * Self.shardCount + (key.hashValue >> 7) & (Self.shardCount - 1)]
    }
}
