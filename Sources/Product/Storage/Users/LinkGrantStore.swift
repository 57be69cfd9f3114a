import Domain
import Postgres
import Text

/// A link grant, shown once.
package struct IssuedLinkGrant: Sendable {
    /// The tenant's locator (6 characters) and 43 random ones; shown once.
    package var token: String
    /// `LinkGrant.lifetime` seconds after its creation.
    package var expiresAt: Timestamp
}

extension Change {
    /// The user row is locked.
    package func makeLinkGrant(for user: UserRow) async throws -> IssuedLinkGrant {
        try require(user, user.status != .deleted && user.status != .suspended)
        let locator = try await query("SELECT locator FROM tenants WHERE id = \(tenant)")
            .only { row throws(PostgresError) in try row.get(0, as: String.self) }
        let grant = IssuedLinkGrant(
            token: TenantToken.make(locator: locator),
            expiresAt: now.adding(seconds: LinkGrant.lifetime))
        try await query(
            """
            INSERT INTO link_grants (tenant_id, id, token_hash, user_id, created_at,
                expires_at, made_by_type, made_by_id)
            VALUES (\(tenant), \(UUID.random()), \(TenantToken.hash(grant.token)), \(user.id),
                \(now), \(grant.expiresAt), \(actor.type), \(actor.id))
            """)
        try await audit(.linkGrantCreated, user.target)
        return grant
    }

    /// The grant of the token, whatever its state, locked; nil if it is unknown.
    package func linkGrant(_ token: String) async throws(PostgresError) -> LinkGrant? {
        try await linkGrant(hash: TenantToken.hash(token))
    }

    func linkGrant(hash: [UInt8]) async throws(PostgresError) -> LinkGrant? {
        let rows = try await query(
            """
            SELECT id, user_id, expires_at, used_at FROM link_grants
            WHERE tenant_id = \(tenant) AND token_hash = \(hash)
            \(locking("FOR UPDATE"))
            """)
        guard let row = rows.first else { return nil }
        return LinkGrant(
            id: try row.get(0), userID: try row.get(1), expiresAt: try row.get(2),
            usedAt: try row.get(3))
    }

    /// Uses a grant up; false if it is unknown, used or expired. One statement decides.
    package func consumeLinkGrant(_ id: UUID) async throws(PostgresError) -> Bool {
        try await query(
            """
            UPDATE link_grants SET used_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(id) AND used_at IS NULL
                AND expires_at > \(now)
            """
        ).affected == 1
    }
}
