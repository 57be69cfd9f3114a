import Domain
import JSON
import Postgres
import Text

/// The user row of an invited person, from the invite until the first sign-in.
extension Change {
    /// Returns the live user at an address, locked; `nil` if there is none. Every transaction locks
    /// this user before the address's invites.
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

    /// Returns the id of the pending user row at the address, and creates one if there is none. If
    /// an earlier invite created the row, and no invite to the address is pending now, the row gets
    /// the role. A row that an operator created is not changed. Throws 409 if the user is active or
    /// suspended.
    func invitedUser(
        _ email: EmailAddress, _ role: UserRole
    ) async throws -> UUID {
        // Another transaction may create or delete the row between the two statements below. The
        // loop then repeats both.
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
            if let id = try await insertInvited(email, role) { return id }
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
        _ email: EmailAddress, _ role: UserRole
    ) async throws -> UUID? {
        let new = NewUser(
            email: email.original, emailKey: email.key, role: role, status: .pending,
            source: .invite)
        return try await insertUser(new) ? new.id : nil
    }

    /// Deletes the user row of a revoked invite, if an invite created the row and the user has no
    /// sign-in and has never signed in. Leaves no tombstone.
    func removeUnusedRow(_ emailKey: String) async throws {
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
        try await removeFromDirectory(emailKey)
        try await audit(.userRemoved, AuditTarget("user", id, try row.get(1)))
    }

    /// Removes the address from the directory, unless a user or an invite of the tenant still has
    /// it. Even a deleted user or an ended invite must be found, since it explains a refusal.
    func removeFromDirectory(_ emailKey: String) async throws(PostgresError) {
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

/// The attributes of an invite. They become the user's when the invite is accepted.
extension Change {
    /// Throws 409 with the pending invite's id if that invite does not already have these
    /// attributes.
    static func requireSame(_ attributes: AttributePair, as pending: InviteRow) throws {
        guard pending.attributes.merging(attributes) != pending.attributes else { return }
        throw StorageFailure.conflict(
            code: "conflict",
            detail: "The address has a pending invite with other attributes: change that one, or "
                + "send it again with `resend`.",
            id: pending.id)
    }

    /// Merges an invite's attributes into those of the user who accepted it. Attributes that no
    /// longer fit, because the rules or the user's own values have changed since, are left out.
    /// `inviteChanges` records them, and the acceptance goes on.
    func give(
        _ attributes: AttributePair, to user: UUID, _ inviteChanges: inout AuditChanges
    ) async throws {
        guard !attributes.isEmpty else { return }
        let row = try await lockUser(user)
        let schema = try await attributeSchema().schema
        let given = schema.fitting(attributes, on: row.attributes)
        try await set(row.attributes.merging(given), of: row, by: schema)
        let left =
            attributes.public.changedNames(to: given.public)
            + attributes.private.changedNames(to: given.private)
        if left.isEmpty { return }
        inviteChanges.add("attributes_left_out", nil, left.joined(separator: ", "))
    }

    private func set(
        _ attributes: AttributePair, of row: UserRow, by schema: AttributeSchema
    ) async throws {
        if attributes == row.attributes { return }
        try await query(
            """
            UPDATE users SET public_attributes = \(attributes.public.text),
                private_attributes = \(attributes.private.text), version = version + 1,
                updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(row.id)
            """)
        index(attributes, of: row.id, createdAt: row.createdAt, by: schema)
        var changes = AuditChanges()
        changes.add(row.attributes, attributes)
        try await audit(.userUpdated, row.target, changes)
    }
}

extension AttributeSchema {
    /// Returns those of the values that may be merged into the user's attributes without a fault.
    fileprivate func fitting(_ values: AttributePair, on before: AttributePair) -> AttributePair {
        var given = values
        while !given.isEmpty {
            let after = before.merging(given)
            let faults = after.faults() + faults(after, after: before, isNew: false)
            if faults.isEmpty { return given }
            let fewer = given.without(faults)
            // No single value is at fault, but together they exceed a limit: none is merged.
            if fewer == given { return AttributePair() }
            given = fewer
        }
        return given
    }
}

extension AttributePair {
    /// Returns these attributes with the other ones merged into them (RFC 7396).
    func merging(_ other: AttributePair) -> AttributePair {
        var merged = self
        merged.public = `public`.merging(.object(other.public.members))
        merged.private = `private`.merging(.object(other.private.members))
        return merged
    }

    fileprivate func without(_ faults: [AttributeFault]) -> AttributePair {
        func kept(_ attributes: Attributes, _ place: AttributeRule.Audience) -> Attributes {
            Attributes(
                attributes.members.filter { member in
                    !faults.contains { fault in
                        sameBytes(fault.object, place.object)
                            && fault.name.map { sameBytes($0, member.name) } ?? false
                    }
                })
        }
        var pair = self
        pair.public = kept(`public`, .public)
        pair.private = kept(`private`, .private)
        return pair
    }
}

/// The external ids of invites. The user row that an invite creates gets the id at once, so that no
/// one else can take it.
extension Change {
    /// Throws 409 `conflict` with a user's id if a live user at another address has the external
    /// id, or if the user at this address has a different one. The check runs before anything is
    /// written, so that the other invites of a list can go on.
    func requireFits(_ externalID: String?, at emailKey: String) async throws {
        guard let externalID else { return }
        let rows = try await query(
            """
            SELECT id FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND email_key <> \(emailKey) AND status <> 'deleted'
            UNION ALL SELECT id FROM users WHERE tenant_id = \(tenant)
                AND email_key = \(emailKey) AND external_id <> \(externalID)
                AND status <> 'deleted'
            """)
        guard let other: UUID = try rows.first?.get(0) else { return }
        throw StorageFailure.conflict(
            code: "conflict",
            detail: "Another user has this external id, or this person has a different one.",
            id: other)
    }

    /// Throws 409 with the pending invite's id if that invite has another external id or none.
    /// Without `resend`, also throws if the pending invite does not have the request's attributes.
    static func requireSame(_ request: InviteRequest, as pending: InviteRow) throws {
        if !request.resend { try requireSame(request.attributes, as: pending) }
        guard let externalID = request.externalID,
            !sameBytes(externalID, pending.externalID ?? "")
        else { return }
        throw StorageFailure.conflict(
            code: "conflict",
            detail: "The address has a pending invite with another external id or without one; "
                + "revoke that invite first.",
            id: pending.id)
    }

    /// Gives the external id to a user who has none. Throws 503 if another transaction has taken
    /// the id since it was checked. A failed statement ends the whole transaction, so all invites
    /// of a list fail.
    func give(_ externalID: String?, to user: UUID, _ email: String) async throws {
        guard let externalID else { return }
        let rows = try await givingWay {
            try await query(
                """
                UPDATE users SET external_id = \(externalID), version = version + 1,
                    updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(user) AND external_id IS NULL
                RETURNING id
                """)
        }
        guard !rows.isEmpty else { return }
        var changes = AuditChanges()
        changes.add("external_id", nil, externalID)
        try await audit(.userUpdated, AuditTarget("user", user, email), changes)
    }

    /// Moves the external id from the user row that the invite created to the user who accepted it.
    /// Takes the id from no other user, and replaces no id that the user already has.
    func pass(
        _ externalID: String, from invited: UUID?, to user: UUID, _ email: String
    ) async throws {
        if let invited, invited != user {
            try await query(
                """
                UPDATE users SET external_id = NULL, version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(invited) AND external_id = \(externalID)
                    AND status = 'pending' AND source = 'invite'
                """)
        }
        let taken = try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND status <> 'deleted'
            """)
        if taken.isEmpty { try await give(externalID, to: user, email) }
    }

    private func givingWay(_ update: () async throws -> Rows) async throws -> Rows {
        do {
            return try await update()
        } catch let error as PostgresError where error.isUniqueViolation {
            throw StorageFailure.unavailable
        }
    }
}
