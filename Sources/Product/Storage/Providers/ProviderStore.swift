import Domain
import JSON
import Postgres
import Text

/// Providers: registered once per owner by (kind, issuer); of a Cognito pool's registrations at
/// most one is confirmed.
extension Database {
    /// `owner` nil: every provider, for the platform; otherwise only that tenant's own. `ids` nil:
    /// whichever.
    package func providers(
        _ list: ListQuery, owner: UUID?, kind: String? = nil, ids: [UUID]? = nil
    ) async throws(PostgresError) -> ListPage<ProviderRow> {
        var source: SQL = "providers WHERE true"
        if let owner { source += " AND tenant_id = \(owner)" }
        if let kind { source += " AND kind = \(kind)" }
        if let ids { source += " AND id = ANY (\(ids)::uuid[])" }
        let statement = ListStatement(columns: ProviderRow.columns, source: source)
        var page = try await app.read(statement.page(list)).page(list, ProviderRow.init)
        page.rows = try await named(page.rows)
        return page
    }

    /// The providers with the names of their tenants, by one query for all.
    package func named(_ rows: [ProviderRow]) async throws(PostgresError) -> [ProviderRow] {
        let names = try await tenantNames(rows.compactMap(\.tenantID), to: nil)
        return rows.map { row in
            var row = row
            row.tenantName = row.tenantID.flatMap { names[$0] }
            return row
        }
    }

    /// A tenant's own providers first, then the platform's: where its users may sign in.
    package func providers(near tenant: UUID) async throws(PostgresError) -> [ProviderRow] {
        let rows = try await app.read(
            """
            SELECT \(ProviderRow.columns) FROM (
                (SELECT * FROM providers WHERE tenant_id = \(tenant)\(ListQuery.everyTime("created_at"))
                    ORDER BY created_at, id LIMIT 200)
                UNION ALL
                (SELECT * FROM providers WHERE tenant_id IS NULL\(ListQuery.everyTime("created_at"))
                    ORDER BY created_at, id LIMIT 200)) AS near
            ORDER BY tenant_id NULLS LAST, created_at, id LIMIT 200
            """)
        var found: [ProviderRow] = []
        for row in rows { found.append(try ProviderRow(row)) }
        return found
    }

    /// Those of them that work in a browser.
    package func signInProviders(near tenant: UUID) async throws(PostgresError) -> [ProviderRow] {
        try await providers(near: tenant).filter { row in
            ["oidc", "google", "github"].contains { sameBytes($0, row.kind) }
                && row.document["client_id"]?.string != nil
        }
    }

    /// The providers on a tenant's own pages: its own, and a platform's only if a client of the
    /// tenant names it, by id or kind, or if its `client_tenants` leads to the tenant.
    package func offeredProviders(of tenant: UUID) async throws(PostgresError) -> [ProviderRow] {
        let found = try await signInProviders(near: tenant)
        guard tenant != .platform else { return found }
        let clients = try await scope(tenant).read(
            """
            SELECT settings->>'provider' FROM clients
            WHERE tenant_id = \(tenant) AND enabled AND settings->>'provider' IS NOT NULL
            """)
        let named = try clients.all { row throws(PostgresError) in try row.get(0, as: String.self) }
        return found.filter { row in
            let leads = row.document["client_tenants"]?.members ?? []
            return row.tenantID != nil
                || named.contains { sameBytes($0, row.kind) || sameBytes($0, row.id.description) }
                || leads.contains { $0.value.string.flatMap { UUID($0) } == tenant }
        }
    }

    /// How many identities of users there are at the provider, in every tenant that it leads to; at
    /// most 100,000. A pool's upstreams count with it.
    package func identities(at row: ProviderRow) async throws(PostgresError) -> Int {
        var condition: SQL = "provider = \(row.kind) AND issuer = \(row.issuer)"
        if row.kind.utf8.elementsEqual("cognito".utf8) {
            condition =
                """
                provider = \(row.kind)
                    AND (issuer = \(row.issuer) OR starts_with(issuer, \(row.issuer + "/")))
                """
        }
        if let owner = row.tenantID { condition += " AND tenant_id = \(owner)" }
        let rows = try await platform.read(
            """
            SELECT count(*) FROM (SELECT 1 FROM identities WHERE \(condition)
                AND user_id IS NOT NULL LIMIT 100000) AS found
            """
        )
        return try rows.first?.get(0) ?? 0
    }

    /// Nil if there is none that `owner` may see; owner nil sees all.
    package func provider(_ id: UUID, owner: UUID?) async throws(PostgresError) -> ProviderRow? {
        let rows = try await app.read(
            "SELECT \(ProviderRow.columns) FROM providers WHERE id = \(id)")
        guard let row = try rows.first.map(ProviderRow.init) else { return nil }
        return owner == nil || row.tenantID == owner ? row : nil
    }
}
