import Synchronization
import Text

/// Events of the current minute, as this process saw them, counted by key.
package final class MinuteCounters<Key: Hashable & Sendable>: Sendable {
    private struct Minute {
        var number: Int64 = -1
        var counts: [Key: Int] = [:]

        /// A clock that was set back by a little begins no minute anew.
        mutating func enter(_ number: Int64) {
            guard number > self.number || number < self.number - 2 else { return }
            self = Self(number: number)
        }
    }

    /// Further keys are not stored and count as seen once.
    private let keyLimit: Int
    private let minute = Mutex(Minute())

    package init(keyLimit: Int = 100_000) { self.keyLimit = keyLimit }

    /// Counts one; returns the number in this minute, including this one.
    package func count(_ key: Key, at now: Timestamp) -> Int {
        let number = now.microseconds / 60_000_000
        return minute.withLock { minute in
            minute.enter(number)
            let count = (minute.counts[key] ?? 0) + 1
            if count > 1 || minute.counts.count < keyLimit { minute.counts[key] = count }
            return count
        }
    }

    /// Counts one if fewer than `limit` were counted in this minute, and returns how many are left;
    /// nil, and nothing is counted, if the limit is used up: several keys may share one count under
    /// their own limits, and a refusal of one takes nothing from the others.
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
