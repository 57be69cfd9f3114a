import Domain
import Postgres
import Text

/// How many things of one kind need an operator's attention in one tenant.
package struct Attention: Sendable {
    /// What needs attention. The raw values are those of `kind` in a response.
    package enum Kind: String, Sendable, CaseIterable {
        case joinRequests = "join_requests"
        case domainsUnproved = "domains_unproved"
        case mailFailed = "mail_failed"
        case keysEnding = "keys_ending"
        case originsRefused = "origins_refused"
        case keysGivenBefore = "keys_given_before"
    }

    package var kind: Kind
    /// The tenant's id; the nil id for the platform itself.
    package var tenantID: UUID
    package var slug: String
    package var name: String
    package var count: ListTotal

    /// A key counts if it expires within this many days.
    static let keyDays = 14
    /// The maximum number of tenants that are shown for each kind. Those with the highest counts
    /// come first.
    package static let tenants = 5
    /// The maximum number of refused origins that are counted. The list of refused origins has the
    /// same maximum.
    static let refusedOrigins = 200
}

extension Attention.Kind {
    /// A statement, without the keyword SELECT, that selects the tenant of each row to be counted.
    /// The caller limits the number of rows. `own` is the condition on the tenant. `isAcross` means
    /// that `own` admits all tenants, so the index over all tenants must be used.
    fileprivate func source(
        _ own: SQL, isAcross: Bool, covering: [String], at now: Timestamp
    ) -> SQL {
        let everywhere: SQL = isAcross ? " AND expires_at > '-infinity'" : ""
        return switch self {
        case .joinRequests:
            "tenant_id FROM users WHERE \(own) AND status = 'pending' AND source = 'approval'"
        case .domainsUnproved:
            "tenant_id FROM domains WHERE \(own)\(DomainRow.unproved)"
        case .mailFailed:
            """
            tenant_id FROM invites WHERE \(own) AND status = 'pending' AND expires_at > \(now)
                AND delivery_status IN ('refused', 'bounced')
            """
        case .keysEnding:
            """
            tenant_id FROM api_keys WHERE \(own)\(everywhere)
                \(APIKeyFilter.ending(within: Attention.keyDays, at: now))
            """
        case .keysGivenBefore:
            """
            tenant_id FROM api_keys
            WHERE \(own)\(APIKeyFilter.givenBefore(but: covering, at: now))
            """
        case .originsRefused:
            """
            DISTINCT tenant_id, origin FROM (SELECT tenant_id, origin FROM refused_origins
                WHERE \(own) AND hour >= \(RefusedOrigins.hour(of: now.adding(seconds: -86_400)))
                LIMIT \(raw: "\(Self.refusedRows)")) AS day
            """
        }
    }

    /// How many rows about refused origins are read at most; only rows of the last day are read.
    /// The limit is needed because anyone can cause such rows.
    private static let refusedRows = 100_000

    /// Whether the platform itself can have items of this kind.
    private var isOfPlatform: Bool { self == .keysGivenBefore }

    private var listMost: Int {
        self == .originsRefused ? Attention.refusedOrigins : ListTotal.most
    }

    /// A statement that selects the kind, the tenant, the count, and whether the count is exact.
    /// Counting stops at one limit for all tenants together, so that the cost does not depend on
    /// their number.
    fileprivate func counting(
        _ own: SQL, isAcross: Bool, covering: [String], at now: Timestamp
    ) -> SQL {
        """
        (SELECT \(rawValue), found.tenant_id, coalesce(t.slug, ''), coalesce(t.name, ''), least(found.count, \(listMost))::bigint,
            found.count <= \(listMost) AND found.whole <= \(ListTotal.most)
        FROM (SELECT tenant_id, count(*) AS count, sum(count(*)) OVER () AS whole
            FROM (SELECT \(source(own, isAcross: isAcross, covering: covering, at: now))
                LIMIT \(raw: "\(ListTotal.most + 1)")) AS capped
            GROUP BY tenant_id) AS found
        LEFT JOIN tenants t ON t.id = found.tenant_id AND t.status <> 'deleted'
        WHERE t.id IS NOT NULL OR \(isOfPlatform) AND found.tenant_id = \(UUID.platform)
        ORDER BY 5 DESC, t.slug LIMIT \(raw: "\(Attention.tenants + 1)"))
        """
    }
}

extension Database {
    /// What needs attention in the tenant or, if `tenant` is nil, in all tenants. For each kind,
    /// returns the tenants with the highest counts. It returns at most one tenant more than
    /// `Attention.tenants`, so that the caller can tell whether there are more.
    package func attention(
        _ kinds: [Attention.Kind], tenant: UUID?
    ) async throws(PostgresError) -> [Attention] {
        if kinds.isEmpty { return [] }
        if kinds.contains(.originsRefused) { await writeRefusedOrigins(of: tenant) }
        let now = clock()
        let own: SQL = if let tenant { "tenant_id = \(tenant)" } else { "true" }
        let covering = kinds.contains(.keysGivenBefore) ? try await coveringOperators() : []
        let counts = kinds.map {
            $0.counting(own, isAcross: tenant == nil, covering: covering, at: now)
        }
        return try await readLagging(SQL.joined(counts, separator: " UNION ALL "), in: nil)
            .all { row throws(PostgresError) in
                Attention(
                    kind: Attention.Kind(rawValue: try row.get(0)) ?? .joinRequests,
                    tenantID: try row.get(1), slug: try row.get(2), name: try row.get(3),
                    count: ListTotal(try row.get(4), exact: try row.get(5)))
            }
    }

    /// The ids of the actors whose rights include those of an admin: all active operators who are
    /// owners or admins, and the id that stands for the command line.
    package func coveringOperators() async throws(PostgresError) -> [String] {
        try await readLaggingAsApp(
            "SELECT id::text FROM operators WHERE role IN ('owner', 'admin') AND status = 'active'"
        ).all { row throws(PostgresError) in try row.get(0, as: String.self) }
            + [UUID.platform.description]
    }

    /// Which of the first steps are done in the tenant or, if `tenant` is nil, in any tenant.
    package func firstSteps(tenant: UUID?) async throws(PostgresError) -> FirstSteps {
        let own: SQL = if let tenant { "tenant_id = \(tenant)" } else { "true" }
        let operators: SQL =
            if let tenant { "tenant_id = \(tenant)" } else { "tenant_id IS NULL" }
        var steps = FirstSteps()
        let ofTenants = try await readLagging(
            """
            SELECT EXISTS (SELECT 1 FROM tenants WHERE status <> 'deleted'),
                EXISTS (SELECT 1 FROM invites WHERE \(own)),
                EXISTS (SELECT 1 FROM (SELECT 1 FROM verification_counts WHERE \(own) AND uses > 0
                    ORDER BY hour LIMIT 1) AS used)
            """, in: nil)
        if let row = ofTenants.first {
            (steps.tenant, steps.invite, steps.call) = try row.columns()
        }
        // Reads with the app's role, since no other role can read providers and operators, which
        // belong to the system.
        let others = try await readLaggingAsApp(
            """
            SELECT EXISTS (SELECT 1 FROM providers WHERE \(own)),
                (SELECT count(*) FROM (SELECT 1 FROM operators WHERE \(operators)
                    AND role = 'owner' AND status = 'active' LIMIT 2) AS owners) > 1
            """)
        if let row = others.first { (steps.provider, steps.secondOwner) = try row.columns() }
        return steps
    }
}

/// Which of the first steps are done.
package struct FirstSteps: Sendable {
    package var tenant = false
    package var invite = false
    package var provider = false
    /// Whether any key was used.
    package var call = false
    package var secondOwner = false
}
