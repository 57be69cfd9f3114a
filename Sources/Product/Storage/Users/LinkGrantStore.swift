import Cryptography
import Domain
import Postgres
import Text

/// A one-time leave to add the next sign-in to a user.
package struct LinkGrant: Sendable {
    package static let seconds: Int64 = 1800

    /// The tenant's locator (6 characters) and 43 random ones; shown once.
    package var token: String
    package var expiresAt: Timestamp

    package static func hash(_ token: String) -> [UInt8] { SHA256.hash(Array(token.utf8)) }
}

extension Change {
    /// The user row is locked.
    package func makeLinkGrant(for user: UserRow) async throws -> LinkGrant {
        try require(user, user.status != "deleted" && user.status != "suspended")
        let locator = try await query("SELECT locator FROM tenants WHERE id = \(tenant)")
            .only { row throws(PostgresError) in try row.get(0, as: String.self) }
        let grant = LinkGrant(
            token: locator + TokenSecret.make(), expiresAt: now.adding(seconds: LinkGrant.seconds))
        try await query(
            """
            INSERT INTO link_grants (tenant_id, token_hash, user_id, created_at, expires_at)
            VALUES (\(tenant), \(LinkGrant.hash(grant.token)), \(user.id), \(now),
                \(grant.expiresAt))
            """)
        try await audit("link_grant.created", user.target)
        return grant
    }

    /// Uses a grant up; nil where it is unknown, used or over. One statement decides single use.
    package func useLinkGrant(_ token: String) async throws(PostgresError) -> UUID? {
        let rows = try await query(
            """
            UPDATE link_grants SET used_at = \(now)
            WHERE tenant_id = \(tenant) AND token_hash = \(LinkGrant.hash(token))
                AND used_at IS NULL AND expires_at > \(now)
            RETURNING user_id
            """)
        return try rows.first?.get(0)
    }
}
