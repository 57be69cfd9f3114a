import Cryptography
import Domain
import Postgres
import Text

/// The secret of a client contract's own client at a provider.
package struct ClientSecret: Sendable {
    package var text: String
    /// The hash of the secret's audience at the time when it was set.
    package var audience: [UInt8]
}

extension TenantScope {
    /// In clear, only for a call to the provider; nil if none is set.
    package func clientSecret(of client: String) async throws -> ClientSecret? {
        let rows = try await read(
            """
            SELECT id, sealed, audience FROM client_secrets
            WHERE tenant_id = \(tenant) AND client = \(client)
            """)
        guard let row = rows.first else { return nil }
        let plain = try database.open(
            try row.get(1), .clientSecret, of: tenant, row: try row.get(0))
        return ClientSecret(text: String(decoding: plain, as: UTF8.self), audience: try row.get(2))
    }

    /// The clients that have a secret.
    package func clientsWithSecret() async throws(PostgresError) -> [String] {
        try await read("SELECT client FROM client_secrets WHERE tenant_id = \(tenant)")
            .all { row throws(PostgresError) in try row.get(0) }
    }
}

extension Change {
    /// Keeps a client's secret only while its audience stays the same: a caller who may change the
    /// address must not be sent a secret that they cannot read. Returns whether a secret is kept.
    /// `audience`: nil if there is nothing that it could be sent to.
    package func changeClientSecret(
        of client: ClientRow, _ secret: ProviderSecret, for audience: [UInt8]?,
        in database: Database
    ) async throws -> Bool {
        let had = try await query(
            """
            SELECT audience FROM client_secrets
            WHERE tenant_id = \(tenant) AND client = \(client.name) FOR UPDATE
            """
        ).first?.get(0, as: [UInt8].self)
        switch secret {
        case .keep:
            guard let had else { return false }
            if let audience, had == audience { return true }
        case .clear:
            if had == nil { return false }
        case .set: break
        }
        try await query(
            "DELETE FROM client_secrets WHERE tenant_id = \(tenant) AND client = \(client.name)")
        var isSet = false
        if case .set(let text) = secret, let audience {
            let id = UUID.random()
            let sealed = try database.seal(Array(text.utf8), .clientSecret, of: tenant, row: id)
            try await query(
                """
                INSERT INTO client_secrets (tenant_id, client, id, sealed, audience, created_at)
                VALUES (\(tenant), \(client.name), \(id), \(sealed), \(audience), \(now))
                """)
            isSet = true
        }
        var changes = AuditChanges()
        changes.add("secret_set", "\(had != nil)", "\(isSet)")
        try await audit(.clientSecretChanged, client.target, changes)
        return isSet
    }
}
