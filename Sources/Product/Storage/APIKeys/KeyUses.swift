import Domain
import Postgres
import Synchronization
import Text

/// Counts the uses of keys that this process sees, and writes them in batches. Also applies the
/// rate limits, which count per minute of the clock. Each replica counts for itself: n replicas
/// together may admit up to n times the limit.
package final class KeyUses: Sendable {
    /// The number of uses of a key within one hour.
    struct Hour: Sendable {
        /// The start of the hour, in microseconds since 1970.
        let start: Int64
        var uses = 0
        /// How many of the uses were verifications of the key.
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
        /// How many uses were of the secret from before the last rotation.
        var previous = 0
        /// The uses within the hour of the last use. Those of other hours are in `others`, since
        /// they are rare.
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

        /// Returns the sum of this value and `other`. The time and the address are those of the
        /// last use.
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

    /// Returns the start of the hour or day that contains the time, in microseconds since 1970.
    /// `span` is `hour` or `day`.
    static func start(of span: Int64, _ time: Timestamp) -> Int64 {
        time.microseconds / span * span
    }

    /// The uses in the current minute, for at most `keyLimit` keys. Only keys with a limit are
    /// counted.
    private let minute = MinuteCounters<UUID>(keyLimit: 1_000_000)
    let writing = CountWriting()
    /// The unwritten uses. Each event loop (`Lane`) has its own part.
    private let parts = (0..<Lane.count).map { _ in Part() }

    /// Whether the key may be used once more in this minute. Counts the use if so.
    package func isWithinLimit(_ key: PresentedKey, at now: Timestamp) -> Bool {
        guard let limit = key.rateLimit else { return true }
        return take(limit, of: key.limitKey, at: now) != nil
    }

    /// Counts one use against a limit per minute. `shared` is the id whose uses are counted.
    /// Returns how many uses are left in this minute. If the limit is used up already, counts
    /// nothing and returns nil.
    package func take(_ limit: Int, of shared: UUID, at now: Timestamp) -> Int? {
        minute.take(shared, limit: limit, at: now)
    }

    /// Records a use of an active key. `isVerified` is true if a caller verified the key, and false
    /// if the key was the caller's own credential.
    package func note(_ key: PresentedKey, at now: Timestamp, ip: String?, isVerified: Bool) {
        parts[Lane.current].pending.withLock { pending in
            pending[key.tenant, default: [:]][key.id, default: Pending(at: now)].note(
                at: now, ip: ip, isPrevious: key.isPrevious, isVerified: isVerified)
        }
    }

    /// The tenants whose keys have unwritten uses.
    var tenants: Set<UUID> {
        parts.reduce(into: []) { all, part in
            all.formUnion(part.pending.withLock { $0.keys })
        }
    }

    /// Removes and returns the tenant's unwritten uses, so that they can be written.
    func take(_ tenant: UUID) -> Batch {
        parts.reduce(into: [:]) { taken, part in
            guard let more = part.pending.withLock({ $0.removeValue(forKey: tenant) }) else {
                return
            }
            taken.merge(more) { $0.merged(with: $1) }
        }
    }

    /// Puts back uses that could not be written.
    func restore(_ batch: Batch, of tenant: UUID) {
        parts[Lane.current].pending.withLock { pending in
            pending[tenant, default: [:]].merge(batch) { $0.merged(with: $1) }
        }
    }
}

extension Database {
    /// Writes the counted uses of one tenant's keys, or of all tenants' keys. It runs every few
    /// seconds, before uses are shown, and when the service stops. If it fails, the counts are kept
    /// for the next call. Returns the first error that is not an outage.
    @discardableResult
    package func writeKeyUses(of tenant: UUID? = nil) async -> (any Error)? {
        await keyUses.writing.write(
            of: tenant, among: keyUses.tenants, taking: keyUses.take,
            restoring: { keyUses.restore($0, of: $1) }, { try await write($0, of: $1) })
    }

    private func write(_ batch: KeyUses.Batch, of tenant: UUID) async throws {
        if batch.isEmpty { return }
        // All writers use one order, which prevents deadlocks.
        let keys = batch.sorted { $0.key < $1.key }
        let hours = usesByHour(batch).sorted { $0.start < $1.start }
        let days = keys.flatMap { key, use in usesByDay(use).map { (key, $0.key, $0.value) } }
        try await writeCounts(of: tenant) { transaction in
            try await transaction.query(
                """
                UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, used.at),
                    last_used_ip = nullif(used.ip, ''),
                    previous_uses = k.previous_uses + used.previous,
                    previous_last_used_at = CASE WHEN used.previous > 0 THEN used.at
                        ELSE k.previous_last_used_at END
                FROM (SELECT * FROM unnest(\(keys.map(\.key))::uuid[], \(keys.map(\.value.at))::timestamptz[],
                    \(keys.map { $0.value.ip ?? "" })::text[],
                    \(keys.map { Int64($0.value.previous) })::bigint[])
                    AS given (id, at, ip, previous)) AS used
                WHERE k.tenant_id = \(tenant) AND k.id = used.id
                """)
            try await transaction.query(
                """
                INSERT INTO api_key_uses AS u (tenant_id, key_id, day, uses)
                SELECT anchor.id, given.key, given.day, given.uses
                FROM \(SQL.anchor(of: tenant)), unnest(\(days.map(\.0))::uuid[],
                    \(days.map { Timestamp(microseconds: $0.1) })::timestamptz[],
                    \(days.map { Int64($0.2) })::bigint[]) AS given (key, day, uses)
                WHERE anchor.id = \(tenant)
                ON CONFLICT (tenant_id, key_id, day)
                    DO UPDATE SET uses = u.uses + EXCLUDED.uses
                """)
            try await transaction.query(
                """
                INSERT INTO verification_counts AS c (tenant_id, hour, good, uses)
                SELECT anchor.id, given.hour, given.good, given.uses
                FROM \(SQL.anchor(of: tenant)), unnest(\(hours.map { Timestamp(microseconds: $0.start) })::timestamptz[],
                    \(hours.map { Int64($0.verified) })::bigint[],
                    \(hours.map { Int64($0.uses) })::bigint[]) AS given (hour, good, uses)
                WHERE anchor.id = \(tenant)
                ON CONFLICT (tenant_id, hour)
                    DO UPDATE SET good = c.good + EXCLUDED.good,
                        uses = c.uses + EXCLUDED.uses
                """)
        }
    }

    /// Returns the uses of all keys in the batch, added up by hour.
    private func usesByHour(_ batch: KeyUses.Batch) -> [KeyUses.Hour] {
        var sums: [Int64: KeyUses.Hour] = [:]
        for hour in batch.values.flatMap(\.hours) {
            sums[hour.start, default: KeyUses.Hour(start: hour.start)].uses += hour.uses
            sums[hour.start]?.verified += hour.verified
        }
        return Array(sums.values)
    }

    /// The uses by day; the keys are the starts of the days, in microseconds.
    private func usesByDay(_ use: KeyUses.Pending) -> [Int64: Int] {
        use.hours.reduce(into: [:]) { sums, hour in
            sums[hour.start / KeyUses.day * KeyUses.day, default: 0] += hour.uses
        }
    }
}
