import Domain
import JSON
import Postgres
import Text

extension Database {
    /// The confirmation of a purge: bound to the user as read, so that it is valid for no other and
    /// ends with the next change.
    package func purgeConfirmation(_ row: UserRow) -> String {
        purgeConfirmation(of: "\(row.tenant) \(row.id) \(row.version)")
    }
}

extension Change {
    /// Ends sessions, revokes invites, and keeps the row for the days of `Retention.deleted`, which
    /// count from the first deletion.
    package func deleteUser(_ row: UserRow, reason: String? = nil) async throws {
        guard row.status != .deleted else {
            _ = try await actAgain(on: row, .userDeleted, reason: reason, orFirst: true)
            return
        }
        try await endAccess(of: row)
        _ = try await setStatus(
            row, .deleted, before: row.status, action: .userDeleted, reason: reason)
    }

    /// Ends what could still let the person in.
    func endAccess(of row: UserRow) async throws {
        try await revokeInvites(to: row)
        try await query("DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(row.id)")
        try await endLinks(of: row)
    }

    /// Ends the links that were made for the user: to set a password, to add a sign-in, to confirm an
    /// address.
    func endLinks(of row: UserRow) async throws(PostgresError) {
        try await endResets(of: row.id)
        try await query(
            "DELETE FROM link_grants WHERE tenant_id = \(tenant) AND user_id = \(row.id)")
    }

    /// Purges the user: deletes row, identities, sessions, search text, invites to the address and
    /// directory entries, redacts the records of the past, and leaves a tombstone. `isManual`: done
    /// just now by an operator, so stored responses may still name the user. `evidence`: what the
    /// audit event says of what was there.
    @discardableResult
    package func purgeUser(
        _ row: UserRow, isManual: Bool = false, database: Database,
        evidence: ((LeftTombstones) -> JSONValue)? = nil
    ) async throws -> LeftTombstones {
        var left = LeftTombstones(until: now.adding(seconds: Self.tombstoneSeconds))
        left.count = try await purgeMerged(into: row, isManual: isManual, database: database)
        try await revokeInvites(to: row)
        try await query(
            """
            UPDATE api_keys SET revoked_at = \(now), revocation_reason = 'The user was purged.',
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND owner_user_id = \(row.id) AND revoked_at IS NULL
            """)
        let others = try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND email_key = \(row.emailKey)
                AND id <> \(row.id)
            """)
        try await redact(row, isAddressOwn: others.isEmpty, database)
        if isManual { try await redactStoredResponses(of: row) }
        // Who was declined was never a user: nothing of them stays.
        if try await !isDeclined(row) {
            left.count += try await bury(row, withAddress: others.isEmpty, database)
        }
        for identity in row.identities { try await invalidate(identity, database) }
        try await query("SELECT user_search_drop(\(tenant), \(row.id))")
        try await query(
            "DELETE FROM invites WHERE tenant_id = \(tenant) AND accepted_user_id = \(row.id)")
        try await query("DELETE FROM users WHERE tenant_id = \(tenant) AND id = \(row.id)")
        // Behind the user's sessions: one that another transaction ends leaves its last use.
        try await query(
            """
            DELETE FROM user_uses
            WHERE tenant_id = \(tenant) AND user_id = ANY (\(row.mergedIDs + [row.id]))
            """)
        if others.isEmpty {
            try await query(
                "DELETE FROM invites WHERE tenant_id = \(tenant) AND email_key = \(row.emailKey)")
            try await query(
                "SELECT directory_remove_person(\(database.personKey(emailKey: row.emailKey)))")
        }
        var changes = AuditChanges()
        if let evidence { changes.add("removed", .null, evidence(left)) }
        try await audit(.userPurged, AuditTarget("user", row.id, ""), changes)
        return left
    }

    func invalidate(_ identity: IdentityRow, _ database: Database) async throws {
        let key = database.personKey(
            provider: identity.provider, issuer: identity.issuer, subject: identity.subject)
        try await query("SELECT directory_remove_person(\(key))")
    }

    /// Revokes the pending invites to the user's address.
    func revokeInvites(to row: UserRow) async throws {
        let revoked = try await query(
            """
            UPDATE invites SET \(Self.revoked), version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND email_key = \(row.emailKey)
                AND \(SQL.unindexed("status")) = 'pending'
            RETURNING id, email
            """)
        var changes = AuditChanges()
        changes.add("status", "pending", "revoked")
        for invite in revoked {
            try await dropMail(.invite, about: invite.get(0))
            try await audit(
                .inviteRevoked, AuditTarget("invite", invite.get(0), invite.get(1)), changes)
        }
    }
}
