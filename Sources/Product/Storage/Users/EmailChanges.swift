import Domain
import Postgres
import Text

/// A change of a user's address: it is requested, proved with a mailed link, and then applied.
/// Until it is proved, nothing about the user changes.
extension Change {
    /// Seconds for which the link that confirms a new address is valid.
    static let emailChangeSeconds: Int64 = 1800
    /// Seconds for which a former address stays reserved in the tenant.
    static let formerAddressSeconds: Int64 = 30 * 86_400

    /// Mails a link that confirms the new address; an earlier pending change becomes invalid. The
    /// user's row must be locked. Throws 409 `conflict` unless the user is active. Throws 409
    /// `email_taken` if another user has the address, with that user's id.
    package func askForEmail(
        _ email: EmailAddress, for user: UserRow, until latest: Timestamp? = nil,
        publicURL: String
    ) async throws -> Timestamp {
        try require(user, user.status == .active)
        try await requireFree(email.key, for: user)
        let name = try await tenantName()
        let token = TenantToken.make(locator: try await locator())
        let end = earlier(now.adding(seconds: Self.emailChangeSeconds), latest)
        try await query(
            """
            INSERT INTO email_changes (tenant_id, user_id, email, email_key, token_hash,
                created_at, expires_at)
            VALUES (\(tenant), \(user.id), \(email.original), \(email.key),
                \(TenantToken.hash(token)), \(now), \(end))
            ON CONFLICT (tenant_id, user_id) DO UPDATE SET email = excluded.email,
                email_key = excluded.email_key, token_hash = excluded.token_hash,
                created_at = excluded.created_at, expires_at = excluded.expires_at
            """)
        try await post(
            OutgoingMail(
                .emailChange, to: email.original, tenantName: name,
                link: "\(publicURL)/email#token=\(token)", expiresAt: end),
            about: user.id)
        var changes = AuditChanges()
        changes.add("email", user.email, email.original)
        try await audit(.userEmailChangeAsked, user.target, changes)
        return end
    }

    /// Cancels the pending change of the user's address; does nothing if there is none.
    package func cancelEmailChange(of user: UserRow) async throws {
        guard try await endEmailChange(of: user) else { return }
        try await audit(.userEmailChangeEnded, user.target)
    }

    /// Removes the pending change of the user's address and drops its mail. Returns whether there
    /// was a pending change.
    @discardableResult
    func endEmailChange(of user: UserRow) async throws(PostgresError) -> Bool {
        try await endEmailChange(of: user.id)
    }

    @discardableResult
    func endEmailChange(of user: UUID) async throws(PostgresError) -> Bool {
        let ended = try await query(
            "DELETE FROM email_changes WHERE tenant_id = \(tenant) AND user_id = \(user)")
        if ended.affected == 0 { return false }
        try await dropMail(.emailChange, about: user)
        return true
    }

    /// Gives the user the new address and notifies the old one. The token was mailed to the new
    /// address, so it proves that address. Returns nil if the token is unknown, used or expired.
    /// Throws 409 `email_taken` if another user has the address by now.
    func confirmEmail(_ token: String) async throws -> UserRow? {
        let hash = TenantToken.hash(token)
        let found = try await query(
            """
            SELECT user_id FROM email_changes
            WHERE tenant_id = \(tenant) AND token_hash = \(hash) AND expires_at > \(now)
            """)
        guard let id = try found.first?.get(0, as: UUID.self) else { return nil }
        // The user's row is locked first, as in every transaction.
        let user = try await lockUser(id)
        let used = try await query(
            """
            DELETE FROM email_changes WHERE tenant_id = \(tenant) AND user_id = \(id)
                AND token_hash = \(hash) AND expires_at > \(now)
            RETURNING email, email_key
            """)
        guard let row = used.first, user.status == .active else { return nil }
        let (email, key): (String, String) = (try row.get(0), try row.get(1))
        try await requireFree(key, for: user)
        return try await take(email, key, user)
    }

    private func take(
        _ email: String, _ key: String, _ user: UserRow
    ) async throws -> UserRow {
        let rows = try await query(
            """
            UPDATE users SET email = \(email), email_key = \(key), email_verified_at = \(now),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id) RETURNING \(UserRow.columns(of: tenant))
            """)
        let changed = try rows.only(UserRow.init)
        try await query(
            "DELETE FROM former_addresses WHERE tenant_id = \(tenant) AND email_key = \(key)")
        if key != user.emailKey {
            let end = now.adding(seconds: Self.formerAddressSeconds)
            try await query(
                """
                INSERT INTO former_addresses (tenant_id, email_key, user_id, email, expires_at)
                VALUES (\(tenant), \(user.emailKey), \(user.id), \(user.email), \(end))
                ON CONFLICT (tenant_id, email_key) DO UPDATE SET user_id = excluded.user_id,
                    email = excluded.email, expires_at = excluded.expires_at
                """)
        }
        try await putInSearch(changed)
        // The directory keeps the old address too, so that a person who signs in with it learns that
        // the account is another person's.
        try await query("SELECT directory_add_person(\(database.personKey(emailKey: key)))")
        try await endResets(of: user.id)
        try await query(
            "DELETE FROM link_grants WHERE tenant_id = \(tenant) AND user_id = \(user.id)")
        try await post(
            OutgoingMail(
                .emailChanged, to: user.email, tenantName: try await tenantName(),
                message: email, expiresAt: now.adding(seconds: Self.noticeSeconds)),
            about: user.id)
        var changes = AuditChanges()
        changes.add("email", user.email, email)
        try await audit(.userEmailChanged, changed.target, changes)
        return changed
    }

    /// Seconds for which the server tries to send a mail that only informs.
    static let noticeSeconds: Int64 = 3 * 86_400

    /// Throws 409 `email_taken` if another user who is not deleted has the address, or had it until
    /// recently.
    private func requireFree(_ key: String, for user: UserRow) async throws {
        let others = try await query(
            """
            SELECT id FROM users WHERE tenant_id = \(tenant) AND email_key = \(key)
                AND status <> 'deleted' AND id <> \(user.id)
            """)
        guard others.isEmpty else { throw try await emailTaken(key) }
        try await requireUnreserved(key, but: user.id)
    }

    /// Throws 409 `email_taken` if another user than `user` had the address until recently and is
    /// not deleted. The error has the id of that other user.
    func requireUnreserved(_ emailKey: String, but user: UUID? = nil) async throws {
        let rows = try await query(
            """
            SELECT user_id FROM former_addresses f WHERE tenant_id = \(tenant)
                AND email_key = \(emailKey) AND expires_at > \(now)
                AND user_id IS DISTINCT FROM \(user) AND EXISTS (
                    SELECT 1 FROM users u WHERE u.tenant_id = \(tenant) AND u.id = f.user_id
                        AND u.status <> 'deleted')
            """)
        guard let row = rows.first else { return }
        throw StorageFailure.conflict(
            code: "email_taken",
            detail:
                "The address belonged to another user until recently and is reserved for 30 days.",
            id: try row.get(0))
    }
}

extension Database {
    /// Applies an address that the mailed token proves. Returns nil if the token is unknown, used
    /// or expired.
    package func confirmEmail(
        _ token: String, requestID: String, ip: String?
    ) async throws -> UserRow? {
        guard let tenant = try await tenant(ofToken: token) else { return nil }
        let found = try await scope(tenant).read(
            """
            SELECT u.id, u.email FROM email_changes c
            JOIN users u ON u.tenant_id = \(tenant) AND u.id = c.user_id
            JOIN tenants t ON t.id = \(tenant) AND t.status = 'active'
            WHERE c.tenant_id = \(tenant) AND c.token_hash = \(TenantToken.hash(token))
            """)
        guard let row = found.first else { return nil }
        let actor = Actor(
            type: "user", id: try row.get(0, as: UUID.self).description, name: try row.get(1),
            requestID: requestID, ip: ip)
        return try await scope(tenant).change(by: actor) {
            try await $0.confirmEmail(token)
        }
    }
}
