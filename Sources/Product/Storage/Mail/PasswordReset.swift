import Cryptography
import Domain
import Postgres
import Text

extension Change {
    /// The same transaction with another name in its audit rows.
    func acting(as actor: Actor) -> Change {
        var change = self
        change.actor = actor
        return change
    }

    /// Earlier mailed links become invalid, and waiting ones are not mailed: a reader of the old
    /// mail must not undo a new password. A pending change of the address ends with them.
    func endResets(of user: UUID) async throws(PostgresError) {
        try await dropMail(.passwordReset, about: user)
        try await endEmailChange(of: user)
        try await query(
            """
            UPDATE password_resets SET used_at = \(now)
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND used_at IS NULL
            """)
    }

    /// To the confirmed operator with the address, or the only one; in a tenant, to its own.
    func offerOperatorReset(
        _ emailKey: String, _ publicURL: String, _ database: Database
    ) async throws {
        let isTenants = tenant != .platform
        let rows = try await query(
            """
            SELECT id, email, confirmed FROM operators
            WHERE email_key = \(emailKey) AND status <> 'suspended'
                AND (NOT \(isTenants) OR tenant_id = \(tenant))
            ORDER BY confirmed DESC LIMIT 2
            """)
        guard let row = rows.first, try rows.count == 1 || row.get(2, as: Bool.self) else { return }
        try await mailReset(of: row.get(0), to: row.get(1), publicURL, database)
    }

    /// Mails an operator a link to a new password.
    func mailReset(
        of id: UUID, to email: String, _ publicURL: String, _ database: Database
    ) async throws {
        // A link that was mailed stays good where no other follows it.
        guard try await hasRoom(.passwordReset, to: email, in: database) else { return }
        let token = TokenSecret.make()
        let end = now.adding(seconds: Database.resetSeconds)
        try await addOperatorLink(
            TokenSecret.hash(token) ?? [], for: id, to: .passwordReset,
            seconds: Database.resetSeconds, isMailed: true)
        try await post(
            OutgoingMail(
                .passwordReset, to: email,
                tenantName: tenant == .platform ? nil : tenantName(),
                link: "\(publicURL)/reset#token=\(token)", expiresAt: end),
            about: id, in: database)
    }

    /// Only a user with a password gets a link to change it, or one whose password did not come along
    /// with an import: a federated user's mailbox does not become a second way in.
    func offerUserReset(
        _ emailKey: String, returnTo: String?, _ publicURL: String, _ database: Database
    ) async throws {
        let rows = try await query(
            """
            SELECT u.id, u.email, t.name, t.locator FROM users u
            JOIN tenants t ON t.id = \(tenant)
            WHERE u.tenant_id = \(tenant) AND u.email_key = \(emailKey) AND t.status = 'active'
                AND (u.status = 'active' AND u.password_hash IS NOT NULL
                    OR u.status IN ('active', 'pending') AND u.password_awaited)
            """)
        guard let row = rows.first else { return }
        let id: UUID = try row.get(0)
        // A link that was mailed stays good where no other follows it.
        guard try await hasRoom(.passwordReset, to: row.get(1), in: database) else { return }
        let token = TenantToken.make(locator: try row.get(3))
        let end = now.adding(seconds: Database.resetSeconds)
        try await endResets(of: id)
        try await query(
            """
            INSERT INTO password_resets (tenant_id, id, token_hash, user_id, return_to, created_at,
                expires_at)
            VALUES (\(tenant), \(UUID.random()), \(TenantToken.hash(token)), \(id), \(returnTo),
                \(now), \(end))
            """)
        try await post(
            OutgoingMail(
                .passwordReset, to: try row.get(1), tenantName: try row.get(2),
                link: "\(publicURL)/reset#token=\(token)", expiresAt: end),
            about: id, in: database)
    }
}
