import Domain
import Postgres
import Text

/// Finds out to which tenants an id may belong if the kind and the tenant of its object are not
/// known. Only the search uses it.
extension Database {
    /// Tables whose rows belong to tenants and have ids that are shown to users.
    private static let tables: [StaticString] = [
        "users", "merged_users", "identities", "former_identities", "sessions", "api_keys",
        "invites",
        "join_links", "domains", "cors_origins", "jobs",
    ]

    /// At most ten tenants that have a row with this id, ordered by the tenants' own ids. The nil
    /// id stands for the platform.
    package func tenants(withThing id: UUID) async throws(PostgresError) -> [UUID] {
        let found = Self.tables.map { table -> SQL in
            "(SELECT tenant_id FROM \(raw: "\(table)") WHERE id::text = \(id.description) LIMIT 10)"
        }
        let rows = try await readLagging(
            """
            SELECT DISTINCT tenant_id FROM (\(SQL.joined(found, separator: " UNION ALL "))) AS found
            ORDER BY tenant_id LIMIT 10
            """, in: nil)
        return try rows.all { row throws(PostgresError) in try row.get(0) }
    }

    /// Keys whose secrets end with `last4`, at most ten. If `tenant` is nil, finds keys of every
    /// tenant, which only the platform may see.
    package func keys(
        endingIn last4: String, tenant: UUID?
    ) async throws(PostgresError) -> [(tenant: UUID, id: UUID, name: String)] {
        let own: SQL = tenant.map { "tenant_id = \($0) AND " } ?? ""
        let rows = try await readLagging(
            "SELECT tenant_id, id, name FROM api_keys WHERE \(own)last4 = \(last4) LIMIT 10",
            in: tenant)
        return try rows.all { row throws(PostgresError) in
            (try row.get(0), try row.get(1), try row.get(2))
        }
    }
}

extension TenantScope {
    /// The user whose identity, former identity or session has this id; `nil` if there is none.
    package func user(ofSignIn id: UUID) async throws(PostgresError) -> UUID? {
        let rows = try await readLagging(
            """
            SELECT user_id FROM identities WHERE tenant_id = \(tenant) AND id = \(id)
            UNION SELECT user_id FROM former_identities WHERE tenant_id = \(tenant) AND id = \(id)
            UNION SELECT user_id FROM sessions WHERE tenant_id = \(tenant) AND id = \(id) LIMIT 1
            """)
        return try rows.first?.get(0)
    }

    /// The entry of the allow list; `nil` if the list has no entry with this id.
    package func origin(_ id: UUID) async throws(PostgresError) -> CORSOriginRow? {
        let rows = try await readLagging(
            """
            SELECT \(CORSOriginRow.columns) FROM cors_origins
            WHERE tenant_id = \(tenant) AND id = \(id)
            """)
        return try rows.first.map(CORSOriginRow.init)
    }
}
