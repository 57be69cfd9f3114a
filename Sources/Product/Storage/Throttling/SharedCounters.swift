import Cryptography
import Postgres
import Synchronization
import Text

/// Counters of events in the current minute, by name, which all replicas share.
extension Database {
    /// Counts `number` events. Returns how many were counted in this minute, including these.
    package func count(_ name: String, _ number: Int = 1) async throws -> Int {
        try await app.mark(Self.counting(countKey(name), in: Self.minute(clock()), number))
            .only { try $0.get(0) }
    }

    /// How many events were counted in this minute.
    package func counted(_ name: String) async throws(PostgresError) -> Int {
        try await app.read(Self.counted(countKey(name), in: Self.minute(clock()))).first?.get(0)
            ?? 0
    }

    /// Seconds until the minute ends and the counters start at 0 again.
    package var secondsOfMinuteLeft: Int64 { 60 - clock().microseconds / 1_000_000 % 60 }

    /// Counts one event and returns whether the limit is exceeded. If it was exceeded before,
    /// counts nothing more.
    func isOver(_ limit: Int, of name: String, in change: Change) async throws -> Bool {
        let (key, minute) = (countKey(name), Self.minute(change.now))
        let seen = try await change.query(Self.counted(key, in: minute)).first?.get(0) ?? 0
        if seen > limit { return true }
        return try await change.query(Self.counting(key, in: minute))
            .only { try $0.get(0, as: Int.self) } > limit
    }

    /// Whether more events than the limit were counted in this minute. Counts nothing.
    func isUsedUp(
        _ limit: Int, of name: String, in change: Change
    ) async throws(PostgresError) -> Bool {
        let counted = Self.counted(countKey(name), in: Self.minute(change.now))
        return try await change.query(counted).first?.get(0) ?? 0 > limit
    }

    private func countKey(_ name: String) -> [UInt8] {
        SHA256.authenticate(Array("minute \(name)".utf8), key: directoryKey)
    }

    private static func minute(_ now: Timestamp) -> Timestamp {
        Timestamp(microseconds: now.microseconds / 60_000_000 * 60_000_000)
    }

    /// The latest stored minute that still counts as the current minute. It is later than `minute`,
    /// since the clock of the replica that stored it may be ahead. If only `minute` itself counted,
    /// two replicas whose clocks differ would keep restarting the counter, and there would be no
    /// limit.
    private static func last(_ minute: Timestamp) -> Timestamp { minute.adding(seconds: 120) }

    private static func counted(_ key: [UInt8], in minute: Timestamp) -> SQL {
        """
        SELECT count FROM minute_counts
        WHERE key = \(key) AND minute BETWEEN \(minute) AND \(last(minute))
        """
    }

    private static func counting(_ key: [UInt8], in minute: Timestamp, _ number: Int = 1) -> SQL {
        """
        INSERT INTO minute_counts AS c (key, minute, count) VALUES (\(key), \(minute), \(number))
        ON CONFLICT (key) DO UPDATE SET
            minute = CASE WHEN c.minute BETWEEN \(minute) AND \(last(minute)) THEN c.minute
                ELSE excluded.minute END,
            count = CASE WHEN c.minute BETWEEN \(minute) AND \(last(minute))
                THEN c.count + excluded.count ELSE excluded.count END
        RETURNING count
        """
    }
}

/// Counters of events in the current minute, by key, in the memory of this process.
package final class MinuteCounters<Key: Hashable & Sendable>: Sendable {
    private struct Minute {
        var number: Int64 = -1
        var counts: [Key: Int] = [:]

        /// Restarts the counters if a new minute has begun. A clock that is set back slightly does
        /// not restart them.
        mutating func enter(_ number: Int64) {
            guard number > self.number || number < self.number - 2 else { return }
            self = Self(number: number)
        }
    }

    /// The maximum number of keys that are stored. A further key is not stored, so each of its
    /// events counts as its first.
    private let keyLimit: Int
    private let minute = Mutex(Minute())

    package init(keyLimit: Int = 100_000) { self.keyLimit = keyLimit }

    /// Counts one event. Returns how many were counted in this minute, including this one.
    package func count(_ key: Key, at now: Timestamp) -> Int {
        let number = now.microseconds / 60_000_000
        return minute.withLock { minute in
            minute.enter(number)
            let count = (minute.counts[key] ?? 0) + 1
            if count > 1 || minute.counts.count < keyLimit { minute.counts[key] = count }
            return count
        }
    }

    /// Counts one event if fewer than `limit` were counted in this minute, and returns how many are
    /// left. Otherwise counts nothing and returns nil: several callers may share one counter with
    /// different limits, and a refusal to one caller must not use up the limits of the others.
    package func take(_ key: Key, limit: Int, at now: Timestamp) -> Int? {
        let number = now.microseconds / 60_000_000
        return minute.withLock { minute in
            minute.enter(number)
            let count = (minute.counts[key] ?? 0) + 1
            guard count <= limit else { return nil }
            if count > 1 || minute.counts.count < keyLimit { minute.counts[key] = count }
            return limit - count
        }
    }
}
