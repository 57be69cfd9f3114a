import Replication
import Synchronization

/// Answers of the database, kept in memory while the lease holds. Of bounded size: when the young
/// half is full, the old half is let go. Each loop has entries of its own: a key that everybody
/// presents would have the loops wait for one lock, which the profile of verifications showed.
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

    /// Of one loop.
    private static var shardCount: Int { 8 }

    private let replica: Replica
    private let half: Int
    private let shards: [Shard]

    /// `capacity`: how many entries are kept for each loop.
    package init(of replica: Replica, capacity: Int) {
        self.replica = replica
        half = max(1, capacity / 2 / Self.shardCount)
        shards = (0..<Self.shardCount * Lane.count).map { _ in Shard() }
    }

    /// The entry, if it may be answered at this moment.
    package func fresh(_ key: Key) -> Entry? {
        guard replica.isTrusted, let entry = find(key), replica.isFresh(entry.token, entry.tags)
        else { return nil }
        return entry
    }

    /// The entry, fresh or not: whoever answers it asks `Replica.holds` last.
    package func found(_ key: Key) -> Entry? { find(key) }

    package func keep(_ value: Value, for key: Key, token: Freshness.Token, tags: CacheTags) {
        let half = half
        shard(key).halves.withLock { halves in
            if halves.young.count >= half {
                halves.old = halves.young
                // It will be full again: growing by and by would move every entry twice.
                halves.young = Dictionary(minimumCapacity: half)
            }
            halves.young[key] = Entry(value: value, token: token, tags: tags)
        }
    }

    /// From memory, else by `query`, whose answer is kept where `tags` says what it is made of.
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

    /// The same for many keys: `query` is given the places of those that are not in memory, and
    /// answers in their order. It is not called for none.
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
            // Meanwhile what was in memory may have been withdrawn.
            missing = cached.indices.filter { index in
                cached[index].map { !replica.isFresh($0.token, $0.tags) } ?? false
            }
            for index in missing { cached[index] = nil }
        }
        return values.compactMap(\.self)
    }

    private func find(_ key: Key) -> Entry? {
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
