import Domain
import JSON
import Postgres
import Text

extension Change {
    /// Creates a provider of this change's tenant or, under the nil tenant, of the platform.
    package func createProvider(
        kind: String, name: String, issuer: String, document: JSONValue, isConfirmed: Bool
    ) async throws -> ProviderRow {
        let owner: UUID? = tenant == .platform ? nil : tenant
        let id = UUID.random()
        let rows = try await query(
            """
            INSERT INTO providers (id, tenant_id, kind, name, issuer, document, created_at,
                updated_at, confirmed)
            VALUES (\(id), \(owner), \(kind), \(name), \(issuer), \(JSONB(document)), \(now),
                \(now), \(isConfirmed))
            ON CONFLICT DO NOTHING RETURNING \(ProviderRow.columns)
            """)
        guard let row = rows.first else {
            throw Self.taken(by: try await provider(kind, issuer)?.id)
        }
        try await audit(.providerCreated, AuditTarget("provider", id, name))
        return try ProviderRow(row)
    }

    /// The provider, locked until the transaction ends. Throws 404 if this tenant or platform owns
    /// no provider with this id.
    package func lockProvider(_ id: UUID) async throws -> ProviderRow {
        let owner: UUID? = tenant == .platform ? nil : tenant
        let rows = try await query(
            """
            SELECT \(ProviderRow.columns) FROM providers
            WHERE tenant_id IS NOT DISTINCT FROM \(owner) AND id = \(id) FOR UPDATE
            """)
        guard let row = rows.first else { throw StorageFailure.notFound("provider") }
        return try ProviderRow(row)
    }

    package func updateProvider(
        _ row: ProviderRow, name: String, issuer: String, document: JSONValue, isConfirmed: Bool
    ) async throws -> ProviderRow {
        if let other = try await provider(row.kind, issuer), other.id != row.id {
            throw Self.taken(by: other.id)
        }
        let rows: Rows
        do {
            rows = try await query(
                """
                UPDATE providers SET name = \(name), issuer = \(issuer),
                    document = \(JSONB(document)), confirmed = \(isConfirmed),
                    version = version + 1, updated_at = \(now)
                WHERE id = \(row.id) RETURNING \(ProviderRow.columns)
                """)
        } catch {
            if error.isUniqueViolation { throw Self.taken(by: nil) }
            throw error
        }
        var changes = AuditChanges()
        changes.add("name", row.name, name)
        changes.add("issuer", row.issuer, issuer)
        for member in document.members ?? [] {
            changes.add(member.name, row.document[member.name] ?? .null, member.value)
        }
        try await audit(.providerUpdated, AuditTarget("provider", row.id, name), changes)
        return try rows.only(ProviderRow.init)
    }

    package func deleteProvider(_ row: ProviderRow) async throws {
        try await query("DELETE FROM providers WHERE id = \(row.id)")
        try await audit(.providerDeleted, AuditTarget("provider", row.id, row.name))
    }

    /// The provider of this tenant or platform with this kind and issuer; `nil` if there is none.
    private func provider(_ kind: String, _ issuer: String) async throws -> ProviderRow? {
        let owner: UUID? = tenant == .platform ? nil : tenant
        return try await query(
            """
            SELECT \(ProviderRow.columns) FROM providers
            WHERE tenant_id IS NOT DISTINCT FROM \(owner) AND kind = \(kind) AND issuer = \(issuer)
            """
        ).first.map(ProviderRow.init)
    }

    private static func taken(by id: UUID?) -> StorageFailure {
        .conflict(
            code: "conflict",
            detail: "A provider of this kind and issuer is registered already; change that one.",
            id: id)
    }
}

/// What a request does with the client secret that the provider issued.
package enum ProviderSecret: Sendable {
    case keep, clear
    case set(String)
}

extension Database {
    /// The client secret in clear, which is needed only to call the provider; nil if none is
    /// stored.
    package func clientSecret(of provider: ProviderRow) async throws -> String? {
        let rows = try await app.read("SELECT secret FROM providers WHERE id = \(provider.id)")
        guard let sealed = try rows.first?.get(0, as: [UInt8]?.self) else { return nil }
        let owner = provider.tenantID ?? .platform
        let plain = try open(sealed, .providerSecret, of: owner, row: provider.id)
        return String(decoding: plain, as: UTF8.self)
    }

    /// The registered providers whose id tokens may have this issuer. A Cognito pool is found by
    /// the last segment of the issuer, which is the pool's id. Other providers are found also if
    /// `issuer` lacks the scheme, as in Google's tokens. An unconfirmed pool is never returned,
    /// since a tenant could claim any keys for it.
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
    /// Changes or removes the provider's client secret and returns the new row.
    package func changeSecret(
        _ row: ProviderRow, _ secret: ProviderSecret
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
