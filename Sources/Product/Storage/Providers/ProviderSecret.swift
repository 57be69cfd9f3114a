import Domain
import Postgres
import Text

/// A change of the secret that the provider gave to its client.
package enum ProviderSecret: Sendable {
    case keep, clear
    case set(String)
}

extension Database {
    /// The secret in clear, only for a call to the provider; nil if none is set.
    package func clientSecret(of provider: ProviderRow) async throws -> String? {
        let rows = try await app.read("SELECT secret FROM providers WHERE id = \(provider.id)")
        guard let sealed = try rows.first?.get(0, as: [UInt8]?.self) else { return nil }
        let owner = provider.tenantID ?? .platform
        let plain = try open(sealed, .providerSecret, of: owner, row: provider.id)
        return String(decoding: plain, as: UTF8.self)
    }

    /// Providers whose id tokens may name this issuer: of a pool the last segment is its id, and
    /// Google's may lack the scheme. An unconfirmed pool never matches: a tenant could claim any
    /// keys.
    package func providers(issuing issuer: String) async throws(PostgresError) -> [ProviderRow] {
        let names = [issuer, "https://" + issuer]
        let rows = try await app.read(
            """
            SELECT \(ProviderRow.columns) FROM providers
            WHERE kind IN ('oidc', 'google') AND issuer = ANY(\(names))
                OR kind = 'cognito' AND issuer = \(CognitoMapping.pool(issuer: issuer))
                    AND confirmed
            ORDER BY created_at, id LIMIT 100
            """)
        var found: [ProviderRow] = []
        for row in rows { found.append(try ProviderRow(row)) }
        return found
    }
}

extension Change {
    /// The provider after its secret was changed.
    package func changeSecret(
        _ row: ProviderRow, _ secret: ProviderSecret, in database: Database
    ) async throws -> ProviderRow {
        let sealed: [UInt8]?
        switch secret {
        case .keep: return row
        case .clear: sealed = nil
        case .set(let text):
            sealed = try database.seal(
                Array(text.utf8), .providerSecret, of: row.tenantID ?? .platform, row: row.id)
        }
        let rows = try await query(
            """
            UPDATE providers SET secret = \(sealed) WHERE id = \(row.id)
            RETURNING \(ProviderRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("secret_set", "\(row.hasSecret)", "\(sealed != nil)")
        try await audit(.providerSecretChanged, AuditTarget("provider", row.id, row.name), changes)
        return try rows.only(ProviderRow.init)
    }
}
