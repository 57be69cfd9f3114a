import Domain
import Postgres
import Text

/// A new link that sets a password. Its token is shown only once.
package struct IssuedPasswordLink: Sendable {
    /// The tenant's locator (6 characters) and 43 random characters.
    package var token: String
    /// When the link expires: at most `passwordLinkSeconds` after its creation.
    package var expiresAt: Timestamp
}

extension Change {
    /// Seconds for which a link that sets a password is valid, if an operator hands the link over.
    static let passwordLinkSeconds: Int64 = 1800

    /// Creates a link that sets the user's password, even if there was none. An operator hands it
    /// over without mail. Earlier links become invalid, and apps require a new password until one
    /// is set. The user's row must be locked. Throws 409 `conflict` unless the user is active.
    /// `returnTo` is where the link's page leads in the end; nil for nowhere. The link ends at
    /// `latest` if that is before its normal end.
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

/// Handles an action on a user who is already in the state to which the action leads.
extension Change {
    /// Does nothing if the action only repeats the last one, as a retry does. An action counts as
    /// new if it has another actor or another reason, or if it is done by hand and a job did the
    /// last one. A new action is audited and raises the version, so that an undo of the earlier
    /// action does not change the user. With `orFirst`, an action is also new if the audit trail
    /// has no such action on this user yet.
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

    /// Whether the last such action in the audit trail was by the same actor and for the same
    /// reason; `nil` if there is none. A job's actions have no request id, so an action by hand
    /// differs from them.
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
