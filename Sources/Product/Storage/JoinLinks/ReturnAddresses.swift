import Postgres
import Text

extension TenantScope {
    /// Where the page of an invite or a join link leads in the end: an address that is still one of
    /// the tenant's clients; nil: nowhere.
    package func returnAddress(of token: BroughtToken) async throws(PostgresError) -> String? {
        let sql: SQL =
            switch token {
            case .invite(let hash):
                "SELECT return_to FROM invites WHERE tenant_id = \(tenant) AND token_hash = \(hash)"
            case .join(let hash):
                "SELECT return_to FROM join_links WHERE tenant_id = \(tenant) AND token_hash = \(hash)"
            }
        let rows = try await read(sql)
        return try await listed(rows.first?.get(0, as: String?.self) ?? nil)
    }

    /// The same of a password reset.
    package func returnAddress(ofReset token: String) async throws(PostgresError) -> String? {
        let rows = try await read(
            """
            SELECT return_to FROM password_resets
            WHERE tenant_id = \(tenant) AND token_hash = \(TenantToken.hash(token))
            """)
        return try await listed(rows.first?.get(0, as: String?.self) ?? nil)
    }

    private func listed(_ address: String?) async throws(PostgresError) -> String? {
        guard let address else { return nil }
        return try await returnAddresses().contains { sameBytes($0, address) } ? address : nil
    }

    /// The redirect addresses of the tenant's enabled clients.
    package func returnAddresses() async throws(PostgresError) -> [String] {
        let rows = try await read(
            """
            SELECT DISTINCT unnest(redirect_uris) FROM clients
            WHERE tenant_id = \(tenant) AND enabled
            """)
        return try rows.all { row throws(PostgresError) in try row.get(0) }
    }
}
