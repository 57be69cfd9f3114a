import Domain
import Postgres
import Text

/// The values of an invite after a PATCH. A member that the request does not contain keeps its
/// value.
package struct InviteChange: Sendable {
    /// The role. The caller must have checked that the actor may give it.
    package var role: UserRole
    /// The end of the invite, exclusive.
    var expiresAt: Timestamp
    var message: String?
    var attributes: AttributePair

    /// All parameters are the values after the change.
    package init(
        role: UserRole, expiresAt: Timestamp, message: String?, attributes: AttributePair
    ) {
        self.role = role
        self.expiresAt = expiresAt
        self.message = message
        self.attributes = attributes
    }
}

extension Change {
    /// Changes a locked, pending invite; its token stays valid. The user row that the invite
    /// created gets the same role. Throws 409 `conflict` if the invite was accepted or revoked, or
    /// has expired. Throws `AttributeFaults` if the attributes are not allowed.
    package func editInvite(
        _ invite: InviteRow, to next: InviteChange
    ) async throws -> InviteRow {
        let status = invite.status(at: now)
        guard status == .pending else {
            throw StorageFailure.conflict(
                code: "conflict", detail: "The invite is \(status.rawValue).", id: nil)
        }
        var changes = AuditChanges()
        changes.add("role", invite.role.rawValue, next.role.rawValue)
        changes.add("expires_at", invite.expiresAt.description, next.expiresAt.description)
        changes.add("message", invite.message, next.message)
        changes.add(invite.attributes, next.attributes)
        if changes.isEmpty { return invite }
        _ = try await check(next.attributes, after: invite.attributes)
        let rows = try await query(
            """
            UPDATE invites SET message = \(next.message), expires_at = \(next.expiresAt),
                public_attributes = \(next.attributes.public.text),
                private_attributes = \(next.attributes.private.text),
                \(roleGiven(next.role)), version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(invite.id)
                AND \(SQL.unindexed("status")) = 'pending'
            RETURNING \(InviteRow.columns)
            """)
        let edited = try rows.only(InviteRow.init)
        try await audit(.inviteUpdated, invite.target, changes)
        if next.role != invite.role { try await giveRowOfInvite(edited.emailKey, next.role) }
        try await rewriteMail(.invite, about: invite.id) {
            $0.role = edited.role.rawValue
            $0.message = edited.message
            $0.expiresAt = edited.expiresAt
        }
        return edited
    }

    /// Gives a role to the pending invite of a user whose own role was just changed; otherwise the
    /// acceptance of the invite would undo the change. Does nothing if the user is not pending. The
    /// user's row must be locked.
    func giveInviteOfRow(_ row: UserRow, _ role: UserRole) async throws {
        guard row.status == .pending else { return }
        let rows = try await query(
            """
            UPDATE invites v SET \(roleGiven(role)),
                version = v.version + 1, updated_at = \(now)
            FROM (SELECT id, role AS before FROM invites WHERE tenant_id = \(tenant)
                AND email_key = \(row.emailKey)
                AND \(SQL.unindexed("status")) = 'pending' FOR UPDATE) AS was
            WHERE v.tenant_id = \(tenant) AND v.id = was.id AND v.role <> \(role)
            RETURNING v.id, v.email, was.before
            """)
        for found in rows {
            var changes = AuditChanges()
            changes.add("role", try found.get(2), role)
            try await audit(
                .inviteUpdated, AuditTarget("invite", found.get(0), found.get(1)), changes)
        }
    }

    /// Gives a role to the user row that an invite created. Changes no row that an operator
    /// created.
    func giveRowOfInvite(_ emailKey: String, _ role: UserRole) async throws {
        let rows = try await query(
            """
            UPDATE users u SET role = \(role.rawValue), version = u.version + 1,
                updated_at = \(now)
            FROM (SELECT id, role FROM users WHERE tenant_id = \(tenant)
                AND email_key = \(emailKey) AND status = 'pending' AND source = 'invite'
                FOR UPDATE) AS was
            WHERE u.tenant_id = \(tenant) AND u.id = was.id AND u.role <> \(role.rawValue)
            RETURNING u.id, u.email, was.role
            """)
        for found in rows {
            var changes = AuditChanges()
            changes.add("role", try found.get(2, as: String.self), role.rawValue)
            try await audit(.userUpdated, AuditTarget("user", found.get(0), found.get(1)), changes)
        }
    }

    /// Returns the SQL assignments for a role that this change's actor gives. If the role stays the
    /// same, the recorded giver of the role stays the same too.
    func roleGiven(_ role: UserRole) -> SQL {
        """
        role_by_type = CASE WHEN role = \(role.rawValue) THEN role_by_type ELSE \(actor.type) END,
        role_by_id = CASE WHEN role = \(role.rawValue) THEN role_by_id ELSE \(actor.id) END,
        role = \(role.rawValue)
        """
    }
}
