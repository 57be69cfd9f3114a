import Domain
import Postgres
import Replication
import Synchronization
import Text

/// Uses of keys as this process saw them: counted in memory, written down in batches. A rate limit
/// holds for the current minute of the clock, exactly so on one replica; n replicas, none of which
/// asks another, admit up to n times as many.
package final class KeyUses: Sendable {
    /// What is still to be written of one key.
    struct Pending: Sendable {
        var at: Timestamp
        var ip: String?
        /// By the start of the day, in microseconds.
        var uses: [Int64: Int] = [:]
        /// Uses of the secret before the last rotation, and the last of them.
        var previous = 0
        var previousAt: Timestamp?

        mutating func note(at now: Timestamp, ip: String?, isPrevious: Bool) {
            at = max(at, now)
            self.ip = ip
            uses[now.microseconds / day * day, default: 0] += 1
            guard isPrevious else { return }
            previous += 1
            previousAt = now
        }

        /// The address is that of the last use.
        func merged(with other: Pending) -> Pending {
            let last = other.at >= at ? other : self
            return Pending(
                at: last.at, ip: last.ip, uses: uses.merging(other.uses, uniquingKeysWith: +),
                previous: previous + other.previous,
                previousAt: [previousAt, other.previousAt].compactMap(\.self).max())
        }
    }

    /// What is still to be written of one tenant.
    struct Batch: Sendable {
        var keys: [UUID: Pending] = [:]
        /// By the start of the hour, in microseconds.
        var verified: [Int64: Int] = [:]

        mutating func note(_ key: PresentedKey, at now: Timestamp, ip: String?, isVerified: Bool) {
            keys[key.id, default: Pending(at: now, ip: ip)].note(
                at: now, ip: ip, isPrevious: key.isPrevious)
            if isVerified { verified[now.microseconds / hour * hour, default: 0] += 1 }
        }

        func merged(with other: Batch) -> Batch {
            Batch(
                keys: keys.merging(other.keys) { $0.merged(with: $1) },
                verified: verified.merging(other.verified, uniquingKeysWith: +))
        }
    }

    private final class Part: Sendable {
        let pending = Mutex<[UUID: Batch]>([:])
    }

    static let hour: Int64 = 3_600_000_000
    static let day = 24 * hour

    /// Only keys with a limit are counted, and so many in one minute are not seen.
    private let minute = MinuteCounts<UUID>(keyLimit: 1_000_000)
    /// By `Lane`.
    private let parts = (0..<Lane.count).map { _ in Part() }

    /// Counts one attempt to use the key; false where it is over the key's limit for the minute.
    package func isWithinLimit(_ key: PresentedKey, at now: Timestamp) -> Bool {
        guard let limit = key.rateLimit else { return true }
        return minute.count(key.id, at: now) <= limit
    }

    /// Notes that the key was good. `isVerified`: it was asked about, and not what the caller came
    /// with.
    package func note(_ key: PresentedKey, at now: Timestamp, ip: String?, isVerified: Bool) {
        parts[Lane.current].pending.withLock { pending in
            pending[key.tenant, default: Batch()].note(key, at: now, ip: ip, isVerified: isVerified)
        }
    }

    /// Hands over what is to be written: of one tenant, or of all.
    func take(_ tenant: UUID? = nil) -> [UUID: Batch] {
        var taken: [UUID: Batch] = [:]
        for part in parts {
            let more = part.pending.withLock { pending in
                guard let tenant else {
                    defer { pending = [:] }
                    return pending
                }
                return pending.removeValue(forKey: tenant).map { [tenant: $0] } ?? [:]
            }
            taken.merge(more) { $0.merged(with: $1) }
        }
        return taken
    }

    /// Takes back what could not be written.
    func restore(_ batch: Batch, of tenant: UUID) {
        parts[Lane.current].pending.withLock { pending in
            pending[tenant] = pending[tenant].map { $0.merged(with: batch) } ?? batch
        }
    }
}

extension Database {
    /// Writes down the uses of one tenant's keys, or of all: each few seconds, before they are
    /// shown, and when the service stops. What fails is tried again the next time.
    package func writeKeyUses(of tenant: UUID? = nil) async {
        for (tenant, batch) in keyUses.take(tenant) {
            do {
                try await write(batch, of: tenant)
            } catch {
                keyUses.restore(batch, of: tenant)
            }
        }
    }

    private func write(_ batch: KeyUses.Batch, of tenant: UUID) async throws {
        // One order for all writers, so that two of them never wait for each other.
        let keys = batch.keys.sorted { $0.key < $1.key }
        let hours = batch.verified.sorted { $0.key < $1.key }
        try await app.tenantTransaction(tenant) { transaction in
            try await transaction.query(
                """
                UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, used.at),
                    last_used_ip = nullif(used.ip, ''),
                    previous_uses = k.previous_uses + used.previous,
                    previous_last_used_at = CASE WHEN used.previous > 0 THEN used.at
                        ELSE k.previous_last_used_at END
                FROM (SELECT * FROM unnest(\(keys.map(\.key)), \(keys.map(\.value.at)),
                    \(keys.map { $0.value.ip ?? "" }), \(keys.map { Int64($0.value.previous) }))
                    AS given (id, at, ip, previous)) AS used
                WHERE k.tenant_id = \(tenant) AND k.id = used.id
                """)
            let days = keys.flatMap { key, use in use.uses.map { (key, $0.key, $0.value) } }
            try await transaction.query(
                """
                INSERT INTO api_key_uses (tenant_id, key_id, day, uses)
                SELECT \(tenant), given.key, given.day, given.uses
                FROM unnest(\(days.map(\.0)), \(days.map { Timestamp(microseconds: $0.1) }),
                    \(days.map { Int64($0.2) })) AS given (key, day, uses)
                ON CONFLICT (tenant_id, key_id, day)
                    DO UPDATE SET uses = api_key_uses.uses + EXCLUDED.uses
                """)
            if hours.isEmpty { return }
            try await transaction.query(
                """
                INSERT INTO verification_counts (tenant_id, hour, good)
                SELECT \(tenant), given.hour, given.good
                FROM unnest(\(hours.map { Timestamp(microseconds: $0.key) }),
                    \(hours.map { Int64($0.value) })) AS given (hour, good)
                ON CONFLICT (tenant_id, hour)
                    DO UPDATE SET good = verification_counts.good + EXCLUDED.good
                """)
        }
    }
}

extension PresentedKey {
    /// The key in the words of the domain, for its verdict. `hash`: of what was presented.
    package func facts(
        presented hash: [UInt8], scopes required: [String] = [], ip: String?, origin: String?,
        isRateLimited: Bool = false
    ) -> APIKeyVerdict.Facts? {
        guard let environment = APIKeySecret.Environment(rawValue: environment) else { return nil }
        let secret = APIKey.Secret(hash: hash, prefix: "", last4: "")
        let none = APIKey.Secret(hash: [], prefix: "", last4: "")
        let key = APIKey(
            id: id, tenantID: tenant == .platform ? nil : tenant,
            owner: tenant == .platform ? .platform : ownerUser.map { .user($0) } ?? .tenant(tenant),
            name: name, environment: environment, current: isPrevious ? none : secret,
            previous: isPrevious
                ? previousUntil.map { APIKey.Previous(secret: secret, until: $0) } : nil,
            scopes: scopes, allowedIPs: allowedIPs, allowedOrigins: allowedOrigins,
            ratePerMinute: rateLimit, createdAt: Timestamp(microseconds: 0), expiresAt: expiresAt,
            revokedAt: revokedAt)
        return APIKeyVerdict.Facts(
            key: key, presentedHash: hash,
            tenantStatus: tenant == .platform
                ? .active : tenantStatus.flatMap { Tenant.Status(rawValue: $0) } ?? .deleted,
            userStatus: userStatus.flatMap { User.Status(rawValue: $0) },
            requiredScopes: required, isIPAllowed: ip.map(allows(ip:)),
            isOriginAllowed: origin.map(allows(origin:)), isRateLimited: isRateLimited)
    }

    /// Whether the key's ranges hold the address; true where there are none.
    package func allows(ip text: String) -> Bool {
        guard !allowedIPs.isEmpty else { return true }
        guard let address = IPAddress(text) else { return false }
        return allowedIPs.contains { IPRange($0)?.contains(address) ?? false }
    }

    /// Whether the key's origins match what a browser sent; true where there are none.
    package func allows(origin text: String) -> Bool {
        guard !allowedOrigins.isEmpty else { return true }
        return allowedOrigins.contains {
            (try? Origin(configuring: $0))?.matches(Array(text.utf8)) ?? false
        }
    }
}
