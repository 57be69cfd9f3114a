import Domain
import Postgres
import Replication
import Synchronization
import Text

/// Uses of keys as this process saw them: counted in memory, written in batches. A rate limit
/// counts the current minute of the clock, exactly on one replica; n replicas, which do not ask
/// each other, admit up to n times as many.
package final class KeyUses: Sendable {
    /// How often a key was used within one hour.
    struct Hour: Sendable {
        /// Its start, in microseconds.
        let start: Int64
        var uses = 0
        /// Uses that were verifications of the key.
        var verified = 0

        mutating func add(_ other: Hour) {
            uses += other.uses
            verified += other.verified
        }
    }

    /// The unwritten uses of one key.
    struct Pending: Sendable {
        var at: Timestamp
        var ip: String?
        /// Uses of the secret before the last rotation.
        var previous = 0
        /// The hour of the last use. Stored apart, since more than one hour is rare.
        private var hour: Hour
        private var others: [Hour] = []

        var hours: [Hour] { others + [hour] }

        init(at: Timestamp) {
            self.at = at
            hour = Hour(start: KeyUses.start(of: KeyUses.hour, at))
        }

        mutating func note(at now: Timestamp, ip: String?, isPrevious: Bool, isVerified: Bool) {
            at = max(at, now)
            self.ip = ip
            if now.microseconds < hour.start || now.microseconds - hour.start >= KeyUses.hour {
                others.append(hour)
                hour = Hour(start: KeyUses.start(of: KeyUses.hour, now))
            }
            hour.uses += 1
            if isVerified { hour.verified += 1 }
            if isPrevious { previous += 1 }
        }

        /// The address is that of the last use.
        func merged(with other: Pending) -> Pending {
            var (last, first) = other.at >= at ? (other, self) : (self, other)
            for hour in first.hours { last.add(hour) }
            last.previous += first.previous
            return last
        }

        private mutating func add(_ more: Hour) {
            if more.start == hour.start { return hour.add(more) }
            guard let index = others.firstIndex(where: { $0.start == more.start }) else {
                return others.append(more)
            }
            others[index].add(more)
        }
    }

    /// The unwritten uses of one tenant, by key.
    typealias Batch = [UUID: Pending]

    private final class Part: Sendable {
        let pending = Mutex<[UUID: Batch]>([:])
    }

    static let hour: Int64 = 3_600_000_000
    static let day = 24 * hour

    /// The beginning of the hour or the day, in microseconds.
    static func start(of span: Int64, _ time: Timestamp) -> Int64 {
        time.microseconds / span * span
    }

    /// Only keys with a limit are counted; one minute never sees as many.
    private let minute = MinuteCounters<UUID>(keyLimit: 1_000_000)
    let writing = CountWriting()
    /// By `Lane`.
    private let parts = (0..<Lane.count).map { _ in Part() }

    /// Counts one use of the key; false, and not counted, if the minute's limit is used up.
    package func isWithinLimit(_ key: PresentedKey, at now: Timestamp) -> Bool {
        guard let limit = key.rateLimit else { return true }
        return take(limit, of: key.limitKey, at: now) != nil
    }

    /// Counts one use under a limit per minute whose count belongs to `shared`, and returns how
    /// many uses are left in this minute; nil, and nothing is counted, if it is used up.
    package func take(_ limit: Int, of shared: UUID, at now: Timestamp) -> Int? {
        minute.take(shared, limit: limit, at: now)
    }

    /// Records a use of an active key. `isVerified`: the key was verified, not the caller's
    /// credential.
    package func note(_ key: PresentedKey, at now: Timestamp, ip: String?, isVerified: Bool) {
        parts[Lane.current].pending.withLock { pending in
            pending[key.tenant, default: [:]][key.id, default: Pending(at: now)].note(
                at: now, ip: ip, isPrevious: key.isPrevious, isVerified: isVerified)
        }
    }

    /// Those whose keys have unwritten uses.
    var tenants: Set<UUID> {
        parts.reduce(into: []) { all, part in
            all.formUnion(part.pending.withLock { $0.keys })
        }
    }

    /// Takes what is to be written of one tenant.
    func take(_ tenant: UUID) -> Batch {
        parts.reduce(into: [:]) { taken, part in
            guard let more = part.pending.withLock({ $0.removeValue(forKey: tenant) }) else {
                return
            }
            taken.merge(more) { $0.merged(with: $1) }
        }
    }

    /// Takes back what could not be written.
    func restore(_ batch: Batch, of tenant: UUID) {
        parts[Lane.current].pending.withLock { pending in
            pending[tenant, default: [:]].merge(batch) { $0.merged(with: $1) }
        }
    }
}
