import Domain
import Postgres
import Text

/// The row of an invited user until the first sign-in.
extension Change {
    /// The live user at an address, locked: before the address's invites, in every transaction.
    func lockLiveUser(
        _ emailKey: String
    ) async throws(PostgresError) -> (id: UUID, status: User.Status)? {
        let rows = try await query(
            """
            SELECT id, status FROM users
            WHERE tenant_id = \(tenant) AND email_key = \(emailKey) AND status <> 'deleted'
            FOR UPDATE
            """)
        guard let row = rows.first else { return nil }
        return (try row.get(0), try row.get(1))
    }

    /// The pending row at the address, created if there is none; 409 if the user is a member
    /// already. A row that an operator created is not changed.
    func invitedUser(
        _ email: EmailAddress, _ role: UserRole, _ database: Database
    ) async throws -> UUID {
        // A row that another transaction deletes concurrently is neither found nor blocks for long.
        for _ in 0..<3 {
            if let user = try await lockLiveUser(email.key) {
                try Self.checkInvitable(user.id, user.status)
                try await query(
                    """
                    UPDATE users SET role = \(role), version = version + 1,
                        updated_at = \(now)
                    WHERE tenant_id = \(tenant) AND id = \(user.id) AND source = 'invite'
                        AND role <> \(role) AND NOT EXISTS (
                            SELECT 1 FROM invites v WHERE v.tenant_id = \(tenant)
                                AND v.email_key = \(email.key)
                                AND \(SQL.unindexed("v.status")) = 'pending'
                                AND v.expires_at > \(now))
                    """)
                return user.id
            }
            try await requireUnreserved(email.key)
            if let id = try await insertInvited(email, role, database) { return id }
        }
        throw StorageFailure.unavailable
    }

    private static func checkInvitable(_ user: UUID, _ status: User.Status) throws {
        switch status {
        case .active:
            throw StorageFailure.conflict(
                code: "email_taken", detail: "This person is an active user already.", id: user)
        case .suspended:
            throw StorageFailure.conflict(
                code: "user_suspended", detail: "This person is suspended; resume them instead.",
                id: user)
        default: return
        }
    }

    private func insertInvited(
        _ email: EmailAddress, _ role: UserRole, _ database: Database
    ) async throws -> UUID? {
        let new = NewUser(
            email: email.original, emailKey: email.key, role: role, status: .pending,
            source: .invite)
        return try await insertUser(new, database) ? new.id : nil
    }

    /// Deletes the row of a revoked invite without a tombstone, unless it had a sign-in or came
    /// from elsewhere.
    func removeUnusedRow(_ emailKey: String, _ database: Database) async throws {
        let rows = try await query(
            """
            DELETE FROM users u
            WHERE u.tenant_id = \(tenant) AND u.email_key = \(emailKey) AND u.status = 'pending'
                AND u.source = 'invite' AND u.last_sign_in_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM identities i
                    WHERE i.tenant_id = \(tenant) AND i.user_id = u.id)
            RETURNING u.id, u.email
            """)
        guard let row = rows.first else { return }
        let id: UUID = try row.get(0)
        try await query("SELECT user_search_drop(\(tenant), \(id))")
        try await removeFromDirectory(emailKey, database)
        try await audit(.userRemoved, AuditTarget("user", id, try row.get(1)))
    }

    /// Unless the tenant knows the address: a deleted user there is still to be found, and so is a
    /// dead invite, which explains a refusal.
    func removeFromDirectory(_ emailKey: String, _ database: Database) async throws(PostgresError) {
        let known = try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND email_key = \(emailKey)
            UNION ALL
            SELECT 1 FROM invites WHERE tenant_id = \(tenant) AND email_key = \(emailKey) LIMIT 1
            """)
        guard known.isEmpty else { return }
        try await query(
            "SELECT directory_remove_person(\(database.personKey(emailKey: emailKey)))")
    }
}
