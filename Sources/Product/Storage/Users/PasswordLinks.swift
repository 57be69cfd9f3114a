import Domain
import Postgres
import Text

/// A link that sets a password, shown once.
package struct IssuedPasswordLink: Sendable {
    /// The tenant's locator (6 characters) and 43 random characters.
    package var token: String
    /// `passwordLinkSeconds` after its creation.
    package var expiresAt: Timestamp
}

extension Change {
    /// Seconds for which an operator's link is valid.
    static let passwordLinkSeconds: Int64 = 1800

    /// Creates a link that an operator hands over without mail: it sets the user's password, even
    /// if there was none. Earlier links become invalid, and the apps demand a new password until
    /// one is set. The user's row must be locked. Throws 409 `conflict` unless the user is active.
    /// If `returnTo` is nil, its page leads nowhere. `latest` is its latest possible end.
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

/// Actions on a user who is already in the requested state.
extension Change {
    /// A retry changes nothing. The same action by another actor, with another reason, or by hand
    /// after a job counts as a new one: it is audited and raises the version, so that an undo of
    /// the earlier one leaves the user alone. With `orFirst` it also counts if the audit trail has
    /// no earlier one.
    package func actAgain(
        on row: UserRow, _ action: AuditAction, reason: String?, orFirst: Bool = false
    ) async throws -> UserRow {
        guard try await isRetry(on: row, action, reason) ?? !orFirst else {
            let rows = try await query(
                """
                UPDATE users SET version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(row.id)
                RETURNING \(UserRow.columns(of: tenant))
                """)
            var changes = AuditChanges()
            changes.add("reason", nil, reason)
            try await audit(action, row.target, changes)
            return try rows.only(UserRow.init)
        }
        alreadyApplied()
        return row
    }

    /// Whether the last such action in the audit trail was the same one; `nil` if there is none. An
    /// event without a request was caused by a job.
    private func isRetry(
        on row: UserRow, _ action: AuditAction, _ reason: String?
    ) async throws -> Bool? {
        try await query(
            """
            SELECT actor_type = \(actor.type) AND actor_id = \(actor.id)
                AND (request_id = '') = \(actor.requestID.isEmpty)
                AND changes->'reason'->>1 IS NOT DISTINCT FROM \(reason ?? actor.reason)::text
            FROM audit_events
            WHERE tenant_id = \(tenant) AND target_id = \(row.id.description)
                AND target_type = 'user' AND action = \(action.rawValue)
            ORDER BY occurred_at DESC, id DESC LIMIT 1
            """
        ).first?.get(0)
    }
}
