import Domain
import Postgres
import Synchronization
import Text

/// Origins that this process has refused, counted in memory and written in batches. Anyone can
/// cause an entry, so every number is limited, and the least frequent origin is dropped first.
package final class RefusedOrigins: Sendable {
    /// The maximum number of refused origins of one tenant: both in memory and among the stored
    /// rows of one hour.
    static let ofTenant = 100
    /// The maximum number of tenants in memory. Refusals of further tenants are not counted until
    /// the next write.
    static let tenants = 1000
    /// The maximum number of requested paths that are stored for a refused origin.
    static let paths = 3

    /// The start of the hour to which a refusal at this time belongs.
    static func hour(of time: Timestamp) -> Timestamp {
        Timestamp(microseconds: KeyUses.start(of: KeyUses.hour, time))
    }

    struct Pending: Sendable {
        var count = 0
        var first: Timestamp
        var last: Timestamp
        /// Templates of the requested paths, without ids.
        var paths: [String] = []
    }

    typealias Batch = [String: Pending]

    let writing = CountWriting()
    private let pending = Mutex<[UUID: Batch]>([:])

    /// Counts a refusal of the origin. `path` is the template of the requested path; empty if it is
    /// not known.
    package func note(_ origin: String, of tenant: UUID, path: String, at now: Timestamp) {
        pending.withLock { all in
            guard all.count < Self.tenants || all[tenant] != nil else { return }
            var batch = all[tenant] ?? [:]
            var entry = batch[origin] ?? Pending(first: now, last: now)
            entry.count += 1
            entry.last = max(entry.last, now)
            if !path.isEmpty, entry.paths.count < Self.paths, !entry.paths.contains(path) {
                entry.paths.append(path)
            }
            batch[origin] = entry
            if batch.count > Self.ofTenant,
                let least = batch.filter({ $0.key != origin }).min(by: { $0.value.isLess($1.value) }
                )
            {
                batch[least.key] = nil
            }
            all[tenant] = batch
        }
    }

    /// The tenants with refusals that are not written yet.
    var unwritten: Set<UUID> { pending.withLock { Set($0.keys) } }

    /// Removes and returns the tenant's unwritten refusals, for the caller to write.
    func take(_ tenant: UUID) -> Batch {
        pending.withLock { $0.removeValue(forKey: tenant) ?? [:] }
    }
}

extension RefusedOrigins.Pending {
    fileprivate func isLess(_ other: RefusedOrigins.Pending) -> Bool {
        (count, last.microseconds) < (other.count, other.last.microseconds)
    }
}

/// A refused origin with its counts, summed over the requested hours.
package struct RefusedOriginRow: Sendable {
    package var origin: String
    package var count: Int
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    /// Templates of the requested paths, at most three.
    package var paths: [String]
}

extension Database {
    /// Writes the counted refusals of one tenant or, if `tenant` is nil, of all tenants. Counts
    /// that cannot be written are lost, since nothing depends on them. Returns the first error that
    /// is not an outage of the database.
    @discardableResult
    package func writeRefusedOrigins(of tenant: UUID? = nil) async -> (any Error)? {
        await refusedOrigins.writing.write(of: tenant, among: refusedOrigins.unwritten) { tenant in
            try await write(refusedOrigins.take(tenant), of: tenant)
            return false
        }
    }

    private func write(_ batch: RefusedOrigins.Batch, of tenant: UUID) async throws {
        if batch.isEmpty { return }
        // All writers use the same order, which prevents deadlocks.
        let found = batch.sorted { $0.key < $1.key }.map { RefusedHour($0.key, $0.value) }
        try await app.tenantTransaction(tenant) { transaction in
            // Refusals from before a tenant's deletion must not be written after its purge.
            let lives = try await transaction.query(
                "SELECT 1 FROM tenants WHERE id = \(tenant) AND status <> 'deleted' FOR KEY SHARE")
            if lives.isEmpty { return }
            try await transaction.query(Self.storing(found, of: tenant))
            for hour in Set(found.map(\.hour.microseconds)) {
                try await transaction.query(
                    Self.trimming(Timestamp(microseconds: hour), of: tenant))
            }
        }
    }

    private static func storing(_ found: [RefusedHour], of tenant: UUID) -> SQL {
        """
        INSERT INTO refused_origins AS r (tenant_id, hour, origin, count, first_seen, last_seen,
            paths)
        SELECT anchor.id, o.hour, o.origin, o.count, o.first_seen, o.last_seen,
            string_to_array(o.paths, ' ')
        FROM \(SQL.anchor(of: tenant)), unnest(\(found.map(\.hour))::timestamptz[], \(found.map(\.origin))::text[],
            \(found.map { Int64($0.seen.count) })::bigint[],
            \(found.map(\.seen.first))::timestamptz[], \(found.map(\.seen.last))::timestamptz[],
            \(found.map { $0.seen.paths.joined(separator: " ") })::text[])
            AS o (hour, origin, count, first_seen, last_seen, paths)
        WHERE anchor.id = \(tenant)
        ON CONFLICT (tenant_id, hour, origin) DO UPDATE SET count = r.count + excluded.count,
            first_seen = least(r.first_seen, excluded.first_seen),
            last_seen = greatest(r.last_seen, excluded.last_seen),
            paths = ARRAY(SELECT DISTINCT p.path FROM unnest(r.paths || excluded.paths) AS p (path)
                ORDER BY p.path LIMIT \(RefusedOrigins.paths))
        """
    }

    private static func trimming(_ hour: Timestamp, of tenant: UUID) -> SQL {
        """
        DELETE FROM refused_origins WHERE tenant_id = \(tenant) AND hour = \(hour)
            AND origin = ANY (ARRAY(SELECT origin FROM refused_origins
                WHERE tenant_id = \(tenant) AND hour = \(hour)
                ORDER BY count DESC, last_seen DESC, origin OFFSET \(RefusedOrigins.ofTenant)))
        """
    }
}

/// The counts of an origin in one hour.
private struct RefusedHour {
    let hour: Timestamp
    let origin: String
    let seen: RefusedOrigins.Pending

    init(_ origin: String, _ seen: RefusedOrigins.Pending) {
        hour = RefusedOrigins.hour(of: seen.last)
        self.origin = origin
        self.seen = seen
    }
}

extension TenantScope {
    /// The origins refused since the start of the hour of `since`, the most frequent first. Writes
    /// the counts of this process first, so that they are included.
    package func refusedOrigins(since: Timestamp, limit: Int) async throws -> [RefusedOriginRow] {
        await database.writeRefusedOrigins(of: tenant)
        let from = RefusedOrigins.hour(of: since)
        return try await read(
            """
            SELECT o.origin, o.count, o.first_seen, o.last_seen, array_to_string(ARRAY(
                    SELECT DISTINCT p.path FROM string_to_table(o.paths, ' ') AS p (path)
                    WHERE p.path <> '' ORDER BY p.path LIMIT \(RefusedOrigins.paths)), ' ')
            FROM (SELECT origin, sum(count)::bigint AS count, min(first_seen) AS first_seen,
                    max(last_seen) AS last_seen, string_agg(array_to_string(paths, ' '), ' ') AS paths
                FROM refused_origins WHERE tenant_id = \(tenant) AND hour >= \(from)
                GROUP BY origin ORDER BY 2 DESC, 4 DESC, 1 LIMIT \(limit)) AS o
            ORDER BY o.count DESC, o.last_seen DESC, o.origin
            """
        ).all { row throws(PostgresError) in
            RefusedOriginRow(
                origin: try row.get(0), count: try row.get(1), firstSeen: try row.get(2),
                lastSeen: try row.get(3),
                paths: try row.get(4, as: String.self).split(separator: " ").map(String.init))
        }
    }
}
