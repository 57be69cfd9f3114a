import Domain
import Postgres
import Text

/// The upstreams seen in a pool's events, so that no native user takes a name that begins with one
/// of them.
extension Change {
    /// How many names are stored for one pool and one caller.
    private static let shownLimit = 50

    /// Those that the provider's owner or this caller reported.
    func shownUpstreams(
        of provider: Provider, by call: ProvisioningCall
    ) async throws(PostgresError) -> [String] {
        let showers = [provider.tenantID ?? .platform, call.caller ?? .platform]
        let rows = try await query(
            """
            SELECT DISTINCT unnest(names) FROM shown_upstreams
            WHERE provider_id = \(provider.id) AND tenant_id = ANY(\(showers))
            """)
        var names: [String] = []
        for row in rows { names.append(try row.get(0)) }
        return names
    }

    /// Stores the upstream of a federated attempt: a hook's under its caller, a token's under the
    /// owner, since the pool itself has signed it. Called last: the row stays locked to the end.
    func noteUpstream(
        of named: ResolvedAttempt, by call: ProvisioningCall
    ) async throws(PostgresError) {
        guard let provider = named.provider, provider.kind == .cognito,
            let name = named.attempt.upstream, provider.upstream(named: name) == nil
        else { return }
        let shower = call.isInPerson ? provider.tenantID : call.caller
        let shown = asciiLowercased(name)
        let known = try await query(
            """
            SELECT 1 FROM shown_upstreams
            WHERE provider_id = \(provider.id) AND tenant_id = \(shower ?? .platform)
                AND (\(shown) = ANY(names) OR cardinality(names) >= \(raw: "\(Self.shownLimit)"))
            """)
        guard known.isEmpty else { return }
        try await query(
            """
            INSERT INTO shown_upstreams AS s (provider_id, tenant_id, names)
            VALUES (\(provider.id), \(shower ?? .platform), \([shown]))
            ON CONFLICT (provider_id, tenant_id) DO UPDATE SET names = s.names || excluded.names
            WHERE NOT s.names @> excluded.names
                AND cardinality(s.names) < \(raw: "\(Self.shownLimit)")
            """)
    }
}
