import Domain
import Postgres
import Text

/// Numbers for the overview.
package struct Overview: Sendable {
    package struct Bucket: Sendable {
        package var at: Timestamp
        package var admitted: Int
        package var refused: Int
    }

    package var users: ListTotal
    package var tenants: Int
    package var signUps: [Bucket]
    /// How often keys were found good, in whole hours.
    package var verifications: Int
}

extension Database {
    /// Where counting stops.
    private static let overviewCap = 1_000_000

    /// `tenant` nil: all of them, and of more than a list counts about how many users there are, which
    /// PostgreSQL keeps for the index of the living. `buckets` equal parts of `seconds` each end with
    /// the present one.
    package func overview(
        tenant: UUID?, buckets: Int, of seconds: Int64
    ) async throws(PostgresError) -> Overview {
        let width = seconds * 1_000_000
        let now = clock().microseconds
        let first = Timestamp(microseconds: (now / width - Int64(buckets) + 1) * width)
        let own: SQL = if let tenant { "tenant_id = \(tenant)" } else { "true" }
        let most = tenant == nil ? ListTotal.most : Self.overviewCap
        await writeKeyUses(of: tenant)
        let counts = try await platform.read(
            """
            SELECT (SELECT count(*) FROM (SELECT 1 FROM users WHERE \(own)
                    AND status <> 'deleted' LIMIT \(most + 1)) AS capped),
                (SELECT reltuples::bigint FROM pg_class
                    WHERE oid = to_regclass('users_live_email')),
                (SELECT count(*) FROM (SELECT 1 FROM tenants
                    WHERE status <> 'deleted' LIMIT \(Self.overviewCap)) AS capped),
                (SELECT coalesce(sum(good), 0)::bigint FROM verification_counts
                    WHERE \(own) AND hour >= \(first))
            """)
        let rows = try await platform.read(
            """
            SELECT floor(extract(epoch FROM created_at - \(first)) / \(seconds))::bigint AS bucket,
                count(*) FILTER (WHERE outcome IN ('created', 'linked', 'existing', 'reserved')),
                count(*) FILTER (WHERE outcome = 'refused')
            FROM decisions WHERE \(own) AND created_at >= \(first) AND created_at > '-infinity'
            GROUP BY bucket
            """)
        var signUps = (0..<buckets).map { index in
            Overview.Bucket(
                at: first.adding(seconds: Int64(index) * seconds), admitted: 0, refused: 0)
        }
        for row in rows {
            let index: Int = try row.get(0)
            guard signUps.indices.contains(index) else { continue }
            signUps[index].admitted = try row.get(1)
            signUps[index].refused = try row.get(2)
        }
        let users: Int = try counts.first?.get(0) ?? 0
        let about: Int = tenant == nil ? try counts.first?.get(1) ?? 0 : 0
        return Overview(
            users: users > most
                ? ListTotal(max(most, about), exact: false) : ListTotal(users, exact: true),
            tenants: tenant == nil ? try counts.first?.get(2) ?? 0 : 1, signUps: signUps,
            verifications: try counts.first?.get(3) ?? 0)
    }
}
