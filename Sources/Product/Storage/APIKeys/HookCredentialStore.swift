import Cryptography
import Domain
import Postgres
import Text

/// A hook credential, without its secret. It signs calls of the Lambda Invoke API for one provider.
package struct HookCredentialRow: ListedRow {
    package var id: UUID
    package var providerID: UUID
    package var name: String?
    package var createdAt: Timestamp
    package var createdByType: String
    package var createdByID: String
    /// The expiry, addresses, origins and rate limit of the key that created the credential. They
    /// apply to each call that the credential signs.
    package var bounds: APIKeyBounds
    /// The id under which uses are counted for the rate limit: the id of the key whose limit the
    /// credential shares, or else the credential's own id.
    package var limitKey: UUID

    static let columns: SQL =
        """
        id, provider_id, name, created_at, created_by_type, created_by, expires_at, allowed_ips,
        allowed_origins, rate_limit, limit_shared_with
        """

    init(_ row: Row) throws(PostgresError) {
        id = try row.get(0)
        providerID = try row.get(1)
        name = try row.get(2, as: String?.self)
        createdAt = try row.get(3)
        createdByType = try row.get(4)
        createdByID = try row.get(5)
        bounds = APIKeyBounds(
            scopes: [ManagementScope.hooksSignup.rawValue], expiresAt: try row.get(6),
            allowedIPs: try row.get(7), allowedOrigins: try row.get(8),
            ratePerMinute: try row.get(9))
        limitKey = try row.get(10, as: UUID?.self) ?? id
    }

    var target: AuditTarget { AuditTarget("hook_credential", id, name ?? id.description) }

    /// The associated data with which a credential's secret is sealed.
    static func context(_ id: UUID) -> [UInt8] { Array("hook_credentials.sealed \(id)".utf8) }
}

extension Database {
    package func hookCredentials(
        of provider: UUID, _ list: ListQuery
    ) async throws(PostgresError) -> ListPage<HookCredentialRow> {
        let statement = ListStatement(
            columns: HookCredentialRow.columns,
            source: "hook_credentials WHERE provider_id = \(provider)")
        return try await app.read(statement.page(list)).page(list, HookCredentialRow.init)
    }

    /// Returns a credential with its provider and its decrypted secret; `nil` if the credential or
    /// the provider does not exist.
    package func hookCredential(
        _ id: UUID
    ) async throws -> (row: HookCredentialRow, provider: ProviderRow, secret: [UInt8])? {
        let rows = try await app.read(
            """
            SELECT \(HookCredentialRow.columns), sealed FROM hook_credentials WHERE id = \(id)
            """)
        guard let row = rows.first,
            let provider = try await provider(try row.get(1, as: UUID.self), owner: nil)
        else { return nil }
        let sealed: [UInt8] = try row.get(11)
        let secret = try sealer.open(sealed, context: HookCredentialRow.context(id))
        return (try HookCredentialRow(row), provider, secret)
    }

    /// Returns the confirmed provider for a Cognito pool; `nil` if there is none.
    package func pool(_ id: String) async throws(PostgresError) -> ProviderRow? {
        let rows = try await app.read(
            """
            SELECT \(ProviderRow.columns) FROM providers
            WHERE kind = 'cognito' AND issuer = \(id) AND confirmed
            """)
        return try rows.first.map(ProviderRow.init)
    }
}

extension Change {
    /// Creates a credential and its secret, which cannot be shown again. Locks the provider's row,
    /// so that the provider is not deleted meanwhile. `maker` is the calling key, whose bounds the
    /// credential gets; `nil` if an operator calls.
    package func createHookCredential(
        for provider: ProviderRow, name: String?, boundedBy maker: APIKeyRow?
    ) async throws -> (row: HookCredentialRow, secret: String) {
        let provider = try await lockProvider(provider.id)
        let id = UUID.random()
        let secret = Base62.randomText(40)
        let sealed = try database.sealer.seal(
            Array(secret.utf8), context: HookCredentialRow.context(id))
        let rows = try await query(
            """
            INSERT INTO hook_credentials (id, provider_id, name, sealed, created_by_type,
                created_by, created_at, expires_at, allowed_ips, allowed_origins, rate_limit,
                limit_shared_with)
            VALUES (\(id), \(provider.id), \(name), \(sealed), \(actor.type), \(actor.id),
                \(now), \(maker?.key.expiresAt), \(maker?.key.allowedIPs ?? []),
                \(maker?.key.allowedOrigins ?? []), \(maker?.key.ratePerMinute),
                \(maker?.key.sharedLimit))
            RETURNING \(HookCredentialRow.columns)
            """)
        let row = try rows.only(HookCredentialRow.init)
        try await audit(.hookCredentialCreated, row.target)
        return (row, secret)
    }

    /// Deletes the credential. Once this is committed, no call that it signs is accepted.
    package func deleteHookCredential(_ id: UUID, of provider: ProviderRow) async throws {
        let rows = try await query(
            """
            DELETE FROM hook_credentials WHERE provider_id = \(provider.id) AND id = \(id)
            RETURNING \(HookCredentialRow.columns)
            """)
        guard let row = try rows.first.map(HookCredentialRow.init) else {
            throw StorageFailure.notFound("hook credential")
        }
        try await audit(.hookCredentialDeleted, row.target)
    }
}
