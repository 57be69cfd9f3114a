import Cryptography
import Domain
import JSON
import Postgres
import Text

/// API keys of one tenant, or of the platform under the nil tenant.
extension TenantScope {
    /// One page; buffered uses of this tenant's keys are written first.
    package func apiKeys(
        _ list: ListQuery, _ filter: APIKeyFilter, walking most: Int? = nil
    ) async throws(PostgresError) -> ListPage<APIKeyRow> {
        await database.writeKeyUses(of: tenant)
        return try await page(
            of: apiKeyList(filter), try await search(filter.text, in: .apiKeys), list,
            walking: most
        ) { rows throws(PostgresError) in try rows.all(APIKeyRow.init) }
    }

    func apiKeyList(_ filter: APIKeyFilter) -> SearchedList {
        SearchedList(
            .apiKeys, of: tenant, in: "name_key", of: APIKeyRow.columns,
            where: "tenant_id = \(tenant)\(filter.condition(at: database.clock()))",
            isWide: filter.isWide)
    }

    /// nil if the tenant has no such key; buffered uses are written first.
    package func apiKey(_ id: UUID) async throws(PostgresError) -> APIKeyRow? {
        await database.writeKeyUses(of: tenant)
        let rows = try await read(
            """
            SELECT \(APIKeyRow.columns) FROM api_keys WHERE tenant_id = \(tenant) AND id = \(id)
            """)
        return try rows.first.map(APIKeyRow.init)
    }

    /// When the key last came in the address of a request; nil: never seen.
    package func leakedAt(ofAPIKey id: UUID) async throws(PostgresError) -> Timestamp? {
        let rows = try await read(
            """
            SELECT occurred_at FROM audit_events WHERE tenant_id = \(tenant)
                AND target_id = \(id.description) AND action = \(AuditAction.apiKeyLeaked.rawValue)
            ORDER BY occurred_at DESC LIMIT 1
            """)
        return try rows.first?.get(0)
    }

    /// How often the key was used on each of the last days, today last.
    package func uses(
        ofAPIKey id: UUID, days: Int
    ) async throws(PostgresError) -> [(at: Timestamp, uses: Int)] {
        await database.writeKeyUses(of: tenant)
        let today = database.clock().microseconds / KeyUses.day
        let starts = (0..<Int64(days)).map {
            Timestamp(microseconds: (today - Int64(days) + 1 + $0) * KeyUses.day)
        }
        let rows = try await read(
            """
            SELECT day, uses FROM api_key_uses
            WHERE tenant_id = \(tenant) AND key_id = \(id) AND day = ANY (\(starts))
            """)
        var counted: [Timestamp: Int] = [:]
        for row in rows { counted[try row.get(0)] = try row.get(1) }
        return starts.map { ($0, counted[$0] ?? 0) }
    }

    /// The scopes of the tenant's own product, by the policy in force.
    package func scopeCatalogue() async throws -> [String] {
        let rows = try await read(
            """
            SELECT p.document FROM policies p
            JOIN tenants t ON t.id = p.tenant_id AND t.policy_version = p.version
            WHERE p.tenant_id = \(tenant)
            """)
        guard let row = rows.first else { return TenantPolicy().scopeCatalogue }
        let document = try JSONValue(parsing: Array(row.get(0, as: String.self).utf8))
        return document["scope_catalogue"]?.array?.compactMap(\.string)
            ?? TenantPolicy().scopeCatalogue
    }

    /// The locator of this tenant's secrets; nil if there is no such tenant.
    package func keyLocator() async throws(PostgresError) -> String? {
        tenant == .platform ? APIKeySecret.platformLocator : try await tenantRow()?.locator
    }

    /// Whether the user may own a key: a deleted one may not.
    package func mayOwnKeys(_ user: UUID) async throws(PostgresError) -> Bool {
        let rows = try await read(
            """
            SELECT 1 FROM users
            WHERE tenant_id = \(tenant) AND id = \(user) AND status <> 'deleted'
            """)
        return rows.first != nil
    }
}

extension APIKeySecret {
    /// The stored part of it.
    package var stored: APIKey.Secret {
        APIKey.Secret(hash: SHA256.hash(Array(text.utf8)), prefix: prefix, last4: last4)
    }
}
