import Domain
import Postgres
import Text

/// A link that sets a password, shown once.
package struct IssuedPasswordLink: Sendable {
    /// The tenant's locator (6 characters) and 43 random ones.
    package var token: String
    /// `passwordLinkSeconds` after its creation.
    package var expiresAt: Timestamp
}

extension Change {
    /// Seconds that an operator's link is valid.
    static let passwordLinkSeconds: Int64 = 1800

    /// A link for an operator to hand over, without mail: it sets the user's password, or the first
    /// one. Earlier links become invalid, and the apps demand a new password until one is set. The
    /// user row is locked. 409 `conflict` unless the user is active. `returnTo` nil: its page leads nowhere.
    /// `latest`: when it ends at the latest.
    package func makePasswordLink(
        for user: UserRow, returnTo: String? = nil, until latest: Timestamp? = nil
    ) async throws -> IssuedPasswordLink {
        guard user.status == .active else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: user.status == .pending
                    ? "The user is pending: an invite lets them choose a password."
                    : "The user is \(user.status).", id: nil)
        }
        try await endResets(of: user.id)
        let link = IssuedPasswordLink(
            token: TenantToken.make(locator: try await locator()),
            expiresAt: earlier(now.adding(seconds: Self.passwordLinkSeconds), latest))
        try await query(
            """
            INSERT INTO password_resets (tenant_id, id, token_hash, user_id, return_to,
                created_at, expires_at, by_operator, made_by_type, made_by_id)
            VALUES (\(tenant), \(UUID.random()), \(TenantToken.hash(link.token)), \(user.id),
                \(returnTo), \(now), \(link.expiresAt), true, \(actor.type), \(actor.id))
            """)
        try await requireNewPassword(of: user.id)
        try await audit(.userPasswordLinkMade, user.target)
        return link
    }

    private func requireNewPassword(of user: UUID) async throws {
        try await query(
            """
            UPDATE users SET must_change_password = true
            WHERE tenant_id = \(tenant) AND id = \(user)
            """)
    }
}
