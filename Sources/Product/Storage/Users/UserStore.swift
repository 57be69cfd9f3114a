import Domain
import JSON
import Postgres
import Text

/// Creates users for operators, edits them, and changes their status.
extension Change {
    /// Creates a user, who is pending until the first sign-in. Throws 409 with the id of the other
    /// user if the address (`email_taken`) or the external id (`conflict`) is taken, and
    /// `AttributeFaults` for invalid attributes.
    package func createUser(
        email: EmailAddress, name: String?, role: UserRole, externalID: String? = nil,
        attributes: AttributePair = AttributePair(), isKept: Bool = false
    ) async throws -> UserRow {
        let schema = try await check(attributes, after: nil)
        try await removeLapsedInvitee(email.key)
        try await requireUnreserved(email.key)
        try await endTombstone(email.key)
        let new = NewUser(
            email: email.original, emailKey: email.key, name: name, role: role, status: .pending,
            source: .operator, externalID: externalID, attributes: attributes, isKept: isKept)
        guard try await insertUser(new) else {
            try await requireFree(externalID)
            throw try await emailTaken(email.key)
        }
        if let schema { index(attributes, of: new.id, createdAt: now, by: schema) }
        return try await lockUser(new.id)
    }

    /// The user's row, locked until the transaction ends. Every transaction locks it before
    /// anything else of the user.
    package func lockUser(_ id: UUID) async throws -> UserRow {
        let rows = try await query(
            """
            SELECT \(UserRow.columns(of: tenant)) FROM users WHERE tenant_id = \(tenant) AND id = \(id)
            FOR UPDATE OF users
            """)
        guard let row = rows.first else { throw StorageFailure.notFound("user") }
        return try UserRow(row)
    }

    /// Changes the user's fields to those of `new`. Throws 409 `conflict` if another user has the
    /// external id, and `AttributeFaults` for invalid attributes.
    package func editUser(
        _ row: UserRow, to new: UserEdit, reason: String? = nil
    ) async throws -> UserRow {
        var changes = AuditChanges()
        changes.add("name", row.name, new.name)
        changes.add("role", row.role, new.role)
        changes.add("external_id", row.externalID, new.externalID)
        changes.add("keep", .bool(row.isKept), .bool(new.isKept))
        changes.add(row.attributes, new.attributes)
        if changes.isEmpty {
            alreadyApplied()
            return row
        }
        changes.add("reason", nil, reason)
        let schema = try await check(new.attributes, after: row.attributes)
        // An external id that does not change need not be checked.
        if new.externalID != row.externalID { try await requireFree(new.externalID, for: row) }
        let rows = try await refusingTakenID {
            try await query(
                """
                UPDATE users SET name = \(new.name), role = \(new.role),
                    external_id = \(new.externalID), keep = \(new.isKept),
                    public_attributes = \(new.attributes.public.text),
                    private_attributes = \(new.attributes.private.text),
                    version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(row.id)
                RETURNING \(UserRow.columns(of: tenant))
                """)
        }
        let edited = try rows.only(UserRow.init)
        if let schema {
            index(edited.attributes, of: row.id, createdAt: edited.createdAt, by: schema)
        }
        try await putInSearch(edited)
        try await audit(.userUpdated, edited.target, changes)
        if edited.role != row.role { try await giveInviteOfRow(edited, new.role) }
        return edited
    }

    package func renameUser(_ row: UserRow, _ name: String) async throws -> UserRow {
        var new = UserEdit(of: row)
        new.name = name
        return try await editUser(row, to: new)
    }

    /// Suspends the user and revokes the invites to the address. `reason` goes to the audit trail.
    /// If the user is suspended already, the new suspension is audited. A retry of the same
    /// suspension changes nothing.
    package func suspendUser(_ row: UserRow, reason: String? = nil) async throws -> UserRow {
        if row.status == .suspended {
            return try await actAgain(on: row, .userSuspended, reason: reason, orFirst: true)
        }
        try require(row, row.status != .deleted)
        try await revokeInvites(to: row)
        // Ends the links that were made for the user, so that none of them works after the
        // suspension ends.
        try await endLinks(of: row)
        return try await setStatus(
            row, .suspended, before: row.status, action: .userSuspended, reason: reason)
    }

    /// Ends the suspension: the user gets back the status from before the suspension.
    package func resumeUser(_ row: UserRow, reason: String? = nil) async throws -> UserRow {
        try require(row, row.status != .deleted)
        guard row.status == .suspended else {
            return try await actAgain(on: row, .userResumed, reason: reason)
        }
        try await requireReachable(row)
        return try await setStatus(
            row, row.statusBefore == .pending ? .pending : .active, before: nil,
            action: .userResumed, reason: reason)
    }

    /// Restores a deleted user, within 30 days of the deletion.
    package func restoreUser(_ row: UserRow) async throws -> UserRow {
        guard row.status == .deleted, let deletedAt = row.deletedAt else { return row }
        guard now < deletedAt.adding(seconds: Retention.deleted) else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "The user was deleted 30 or more days ago and is about to be purged.",
                id: nil)
        }
        try await requireReachable(row)
        let status = row.statusBefore ?? .active
        try await requireFree(row.externalID, for: row)
        let rows = try await refusingTakenID {
            try await query(
                """
                UPDATE users SET status = \(status), status_before = NULL, deleted_at = NULL,
                    declined_at = NULL, resumed_at = \(now), version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(row.id) AND NOT EXISTS (
                    SELECT 1 FROM users o WHERE o.tenant_id = \(tenant)
                        AND o.email_key = \(row.emailKey) AND o.status <> 'deleted')
                RETURNING \(UserRow.columns(of: tenant))
                """)
        }
        guard let restored = rows.first else { throw try await emailTaken(row.emailKey) }
        var changes = AuditChanges()
        changes.add("status", row.status, status)
        try await markKeys(of: row.id, ownerDeletedAt: nil)
        try await audit(.userRestored, row.target, changes)
        return try UserRow(restored)
    }

    func setStatus(
        _ row: UserRow, _ status: User.Status, before: User.Status?, action: AuditAction,
        reason: String? = nil
    ) async throws -> UserRow {
        let deletedAt: Timestamp? = status == .deleted ? now : nil
        let declinedAt = action == .userDeclined ? deletedAt : nil
        let resumedAt: Timestamp? = status == .active ? now : nil
        let rows = try await query(
            """
            UPDATE users SET status = \(status), status_before = \(before),
                deleted_at = \(deletedAt), declined_at = \(declinedAt),
                resumed_at = coalesce(\(resumedAt)::timestamptz, resumed_at),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(row.id) RETURNING \(UserRow.columns(of: tenant))
            """)
        var changes = AuditChanges()
        changes.add("status", row.status, status)
        changes.add("reason", nil, reason)
        if deletedAt != nil { try await markKeys(of: row.id, ownerDeletedAt: deletedAt) }
        try await audit(action, row.target, changes)
        return try rows.only(UserRow.init)
    }

    func putInSearch(_ row: UserRow) async throws(PostgresError) {
        try await putInSearch(
            row.id, emailKey: row.emailKey, name: row.name, createdAt: row.createdAt)
    }

    /// Deletes a user whom an invite created, if they never signed in and no invite to the address
    /// is active, so that the address is free again. Returns whether there was such a user.
    @discardableResult
    func removeLapsedInvitee(_ emailKey: String) async throws -> Bool {
        let rows = try await query(
            """
            DELETE FROM users WHERE tenant_id = \(tenant) AND email_key = \(emailKey)
                AND status = 'pending' AND source = 'invite' AND last_sign_in_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM identities i
                    WHERE i.tenant_id = \(tenant) AND i.user_id = users.id)
                AND NOT EXISTS (SELECT 1 FROM invites v
                    WHERE v.tenant_id = \(tenant) AND v.email_key = \(emailKey)
                        AND \(SQL.unindexed("v.status")) = 'pending' AND v.expires_at > \(now))
            RETURNING id, email
            """)
        for row in rows {
            let id: UUID = try row.get(0)
            try await query("SELECT user_search_drop(\(tenant), \(id))")
            try await audit(.userRemoved, AuditTarget("user", id, row.get(1)))
        }
        return !rows.isEmpty
    }

    func emailTaken(_ emailKey: String) async throws -> StorageFailure {
        let rows = try await query(
            """
            SELECT id FROM users WHERE tenant_id = \(tenant) AND email_key = \(emailKey)
                AND status <> 'deleted'
            """)
        return .conflict(
            code: "email_taken", detail: "A user of this tenant has the address.",
            id: try rows.first?.get(0))
    }

    /// Throws 409 if the user was created by an invite, never signed in, and has no pending invite.
    /// Suspending or deleting such a user has revoked the invite, without which no rule admits
    /// them.
    private func requireReachable(_ row: UserRow) async throws {
        guard row.source == .invite, row.lastSignInAt == nil, row.identities.isEmpty,
            row.statusBefore == .pending
        else { return }
        let live = try await query(
            """
            SELECT 1 FROM invites WHERE tenant_id = \(tenant) AND email_key = \(row.emailKey)
                AND \(SQL.unindexed("status")) = 'pending' AND expires_at > \(now)
            """)
        guard live.isEmpty else { return }
        throw StorageFailure.conflict(
            code: "conflict",
            detail: "The invite that created this user has ended, and no one has signed in: "
                + (row.status == .suspended
                    ? "delete the user and send a new invite." : "send a new invite."),
            id: nil)
    }

    func require(_ row: UserRow, _ isFit: Bool) throws {
        guard isFit else {
            throw StorageFailure.conflict(
                code: "conflict", detail: "The user is \(row.status).", id: nil)
        }
    }
}

/// A user to insert, whose values the caller has checked.
struct NewUser: Sendable {
    var id = UUID.random()
    var email: String
    var emailKey: String
    var name: String?
    var role: UserRole
    var status: User.Status
    var source: User.Source
    var emailVerifiedAt: Timestamp?
    var lastSignInAt: Timestamp?
    var passwordHash: String?
    var externalID: String?
    var attributes = AttributePair()
    var isKept = false
}

extension Change {
    /// Inserts a user: the row, its search text, its directory entry and the audit event. Returns
    /// false if another user of the tenant who is not deleted has the address or the external id.
    func insertUser(_ new: NewUser) async throws -> Bool {
        let made = try await query(
            """
            INSERT INTO users (tenant_id, id, email, email_key, name, role, status, source,
                email_verified_at, last_sign_in_at, password_hash, password_changed_at,
                external_id, public_attributes, private_attributes, keep, created_at, updated_at)
            VALUES (\(tenant), \(new.id), \(new.email), \(new.emailKey), \(new.name), \(new.role),
                \(new.status), \(new.source), \(new.emailVerifiedAt), \(new.lastSignInAt),
                \(new.passwordHash), \(new.passwordHash.map { _ in now }), \(new.externalID),
                \(new.attributes.public.text), \(new.attributes.private.text), \(new.isKept),
                \(now), \(now))
            ON CONFLICT DO NOTHING RETURNING id
            """)
        guard made.count == 1 else { return false }
        try await putInSearch(new.id, emailKey: new.emailKey, name: new.name, createdAt: now)
        queryLater("SELECT directory_add_person(\(database.personKey(emailKey: new.emailKey)))")
        var changes = AuditChanges()
        changes.add("role", nil, new.role)
        changes.add("status", nil, new.status)
        changes.add("external_id", nil, new.externalID)
        if new.isKept { changes.add("keep", .bool(false), .bool(true)) }
        changes.add(AttributePair(), new.attributes)
        try await audit(.userCreated, AuditTarget("user", new.id, new.email), changes)
        return true
    }

    /// Replaces the search text of a user whose name or address changed.
    func putInSearch(
        _ user: UUID, emailKey: String, name: String?, createdAt: Timestamp
    ) async throws(PostgresError) {
        queryLater(
            "SELECT user_search_put(\(tenant), \(user), \(Self.searchText(emailKey, name)), \(createdAt))"
        )
    }

    /// The text that is searched: the address's key and the name, in lower case.
    static func searchText(_ emailKey: String, _ name: String?) -> String {
        emailKey + " " + (name ?? "").lowercased()
    }
}

/// Creates a tenant's first user as its admin, if a client's settings permit it.
extension TenantScope {
    /// Whether the tenant has any user who is not deleted.
    package func hasUsers() async throws(PostgresError) -> Bool {
        let rows = try await read(
            "SELECT 1 FROM users WHERE tenant_id = \(tenant) AND status <> 'deleted' LIMIT 1")
        return !rows.isEmpty
    }
}

extension Change {
    /// Creates the first admin. Returns nil if the tenant already has a user, or if the client's
    /// setting `admin_sign_up` is not true. Locks the client's row, so that only one of several
    /// requests succeeds, and then removes that setting. `profile` is the app's initial data about
    /// the user.
    package func makeFirstAdmin(
        email: EmailAddress, name: String, passwordHash: String, client: String,
        profile: [JSONValue.Member] = []
    ) async throws -> UserRow? {
        let row = try await lockClient(client)
        guard row.settings["admin_sign_up"]?.bool == true else { return nil }
        let others = try await query(
            "SELECT 1 FROM users WHERE tenant_id = \(tenant) AND status <> 'deleted' LIMIT 1")
        guard others.isEmpty else { return nil }
        let new = NewUser(
            email: email.original, emailKey: email.key, name: name, role: .admin, status: .active,
            source: .signUp, passwordHash: passwordHash)
        guard try await insertUser(new) else { return nil }
        if !profile.isEmpty { try await editClientProfile(of: new.id, at: client, profile) }
        var next = row
        next.settings = .object(
            (row.settings.members ?? []).filter { !sameBytes($0.name, "admin_sign_up") })
        _ = try await putClient(row, as: next)
        return try await lockUser(new.id)
    }
}

/// Users' external ids, by which the customer's own system knows them.
extension Change {
    /// Throws 409 `conflict` if another user than `row` has the external id and is not deleted. The
    /// error has the id of that other user.
    func requireFree(_ externalID: String?, for row: UserRow? = nil) async throws {
        guard let externalID else { return }
        let rows = try await query(
            """
            SELECT id FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND status <> 'deleted'
            """)
        guard let other: UUID = try rows.first?.get(0), other != row?.id else { return }
        throw Self.externalIDTaken(by: other)
    }

    /// Runs an update. If another transaction has taken the external id or the address since the
    /// check that it is free, throws the same 409 as that check.
    func refusingTakenID(_ update: () async throws -> Rows) async throws -> Rows {
        do {
            return try await update()
        } catch let error as PostgresError where error.isUniqueViolation {
            guard error.constraint == "users_live_email" else {
                throw Self.externalIDTaken(by: nil)
            }
            throw StorageFailure.conflict(
                code: "email_taken", detail: "A user of this tenant has the address.", id: nil)
        }
    }

    private static func externalIDTaken(by user: UUID?) -> StorageFailure {
        .conflict(
            code: "conflict", detail: "Another user of this tenant has the external id.", id: user)
    }
}
