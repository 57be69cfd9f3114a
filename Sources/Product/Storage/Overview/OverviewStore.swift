import Domain
import Postgres
import Text

/// Numbers for the overview page. They describe the time between `since` and `until`.
package struct Overview: Sendable {
    package struct Bucket: Sendable {
        package var at: Timestamp
        package var admitted: Int
        package var refused: Int
    }

    package var users: ListTotal
    /// The number of tenants, without the deleted ones.
    package var tenants: Int
    /// The start of the first bucket.
    package var since: Timestamp
    /// The end of the last bucket, which is now. A list of decisions between `since` and `until`
    /// has exactly the decisions that were counted.
    package var until: Timestamp
    package var signUps: [Bucket]
    /// How many verifications found the API key valid. The number covers all hours that begin in
    /// the period.
    package var verifications: Int
    /// How often keys were used in any way. The number covers all hours that begin in the period.
    package var keyUses: Int
}

/// The period of an overview, which is divided into buckets.
package enum OverviewWindow: Sendable {
    /// The last hours. Each bucket is an hour and begins on a full hour in UTC.
    case hours(Int)
    /// The last days. Each bucket is a day and begins at midnight in this time zone (an IANA name).
    case days(Int, zone: String)
    /// The time from the first value to the second, exclusive. The buckets follow the time zone.
    case between(Timestamp, Timestamp, zone: String)

    /// The maximum number of buckets of a period.
    private static let most = 31

    /// Selects the starts of the buckets, the oldest first.
    fileprivate func starts(at now: Timestamp) -> SQL {
        switch self {
        case .hours(let count):
            """
            SELECT date_trunc('hour', \(now)::timestamptz, 'UTC') - ago * interval '1 hour'
            FROM generate_series(\(count - 1), 0, -1) AS ago
            """
        case .days(let count, let zone):
            """
            SELECT (date_trunc('day', \(now)::timestamptz AT TIME ZONE \(zone))
                - ago * interval '1 day') AT TIME ZONE \(zone)
            FROM generate_series(\(count - 1), 0, -1) AS ago
            """
        case .between(let since, let until, let zone):
            HistogramRequest.starts(
                from: since, to: until,
                step: HistogramRequest.step(
                    of: (until.microseconds - since.microseconds) / 1_000_000, most: Self.most),
                zone: zone)
        }
    }

    /// The end of the last bucket. Times in responses have milliseconds, so the current millisecond
    /// is counted as a whole.
    fileprivate func end(at now: Timestamp) -> Timestamp {
        let end = Timestamp(microseconds: (now.microseconds / 1000 + 1) * 1000)
        guard case .between(_, let until, _) = self else { return end }
        return min(until, end)
    }
}

extension Database {
    /// The number at which counting stops.
    private static let overviewCap = 1_000_000

    /// The numbers of the tenant or, if `tenant` is nil, of all tenants. The users of all tenants
    /// are counted only up to `ListTotal.most`. A larger number is estimated from PostgreSQL's
    /// statistics of the index of active users. Returns nil if PostgreSQL does not know the time
    /// zone.
    package func overview(
        tenant: UUID?, _ window: OverviewWindow
    ) async throws(PostgresError) -> Overview? {
        let now = clock()
        guard let starts = try await overviewStarts(window, at: now), let first = starts.first
        else {
            return nil
        }
        let until = window.end(at: now)
        let own: SQL = if let tenant { "tenant_id = \(tenant)" } else { "true" }
        let most = tenant == nil ? ListTotal.most : Self.overviewCap
        await writeKeyUses(of: tenant)
        // Each number has its own statement, since its rows may be on several servers.
        let users = try await number(
            """
            SELECT count(*) FROM (SELECT 1 FROM users WHERE \(own)
                AND status <> 'deleted' LIMIT \(most + 1)) AS capped
            """)
        let uses = try await readLagging(
            """
            SELECT coalesce(sum(good), 0)::bigint, coalesce(sum(uses), 0)::bigint
            FROM verification_counts WHERE \(own) AND hour >= \(first) AND hour < \(until)
            """, in: nil
        ).first
        var (about, tenants) = (0, 1)
        if tenant == nil {
            about = try await number("SELECT rows_about('public.users_live_email')")
            tenants = try await number(
                """
                SELECT count(*) FROM (SELECT 1 FROM tenants
                    WHERE status <> 'deleted' LIMIT \(Self.overviewCap)) AS capped
                """)
        }
        return Overview(
            users: users > most
                ? ListTotal(max(most, about), exact: false) : ListTotal(users, exact: true),
            tenants: tenants, since: first, until: until,
            signUps: try await signUps(in: own, from: starts, until: until),
            verifications: try uses?.get(0) ?? 0, keyUses: try uses?.get(1) ?? 0)
    }

    private func number(_ sql: SQL) async throws(PostgresError) -> Int {
        try await readLagging(sql, in: nil).first?.get(0) ?? 0
    }

    private func overviewStarts(
        _ window: OverviewWindow, at now: Timestamp
    ) async throws(PostgresError) -> [Timestamp]? {
        do {
            return try await readLagging(window.starts(at: now), in: nil)
                .all { row throws(PostgresError) in try row.get(0) }
        } catch  where error.sqlstate == "22023" {
            // `invalid_parameter_value` means that there is no such time zone.
            return nil
        }
    }

    private func signUps(
        in own: SQL, from starts: [Timestamp], until: Timestamp
    ) async throws(PostgresError) -> [Overview.Bucket] {
        var buckets = starts.map { Overview.Bucket(at: $0, admitted: 0, refused: 0) }
        let rows = try await readLagging(
            """
            SELECT width_bucket(created_at, \(starts)) AS bucket,
                count(*) FILTER (WHERE outcome IN ('created', 'linked', 'existing', 'reserved')),
                count(*) FILTER (WHERE outcome = 'refused')
            FROM decisions
            WHERE \(own) AND part IS NULL AND created_at >= \(starts[0]) AND created_at < \(until)
                AND created_at > '-infinity'
            GROUP BY bucket
            """, in: nil)
        for row in rows {
            let index: Int = try row.get(0) - 1
            guard buckets.indices.contains(index) else { continue }
            buckets[index].admitted = try row.get(1)
            buckets[index].refused = try row.get(2)
        }
        return buckets
    }
}
