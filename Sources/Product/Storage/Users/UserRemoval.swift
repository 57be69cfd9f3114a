import Domain
import JSON
import Postgres
import Text

extension Database {
    /// The token that confirms a purge. It is bound to the user's current version, so it becomes
    /// invalid when the user changes.
    package func purgeConfirmation(_ row: UserRow) -> String {
        purgeConfirmation(of: "\(row.tenant) \(row.id) \(row.version)")
    }
}

extension Change {
    /// Deletes the user: ends sessions and revokes invites. The row stays for the time of
    /// `Retention.deleted`, which counts from the first deletion, so that the user can be restored.
    package func deleteUser(_ row: UserRow, reason: String? = nil) async throws {
        guard row.status != .deleted else {
            _ = try await actAgain(on: row, .userDeleted, reason: reason, orFirst: true)
            return
        }
        try await endAccess(of: row)
        _ = try await setStatus(
            row, .deleted, before: row.status, action: .userDeleted, reason: reason)
    }

    /// Ends everything that could still admit the person: sessions, links and invites.
    func endAccess(of row: UserRow) async throws {
        try await revokeInvites(to: row)
        try await query("DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(row.id)")
        try await endLinks(of: row)
    }

    /// Invalidates the links that were made for the user: to set a password, to add a sign-in, and
    /// to confirm an address.
    func endLinks(of row: UserRow) async throws(PostgresError) {
        try await endResets(of: row.id)
        try await query(
            "DELETE FROM link_grants WHERE tenant_id = \(tenant) AND user_id = \(row.id)")
    }

    /// Purges the user: deletes the row, identities, sessions, search text, invites to the address
    /// and directory entries, redacts records of the past, and leaves a tombstone. `isManual` means
    /// that an operator, and not the sweep, purges the user. Stored responses may then still
    /// contain the user, so such responses are deleted too. The audit event includes what
    /// `evidence` returns for the tombstones that are left.
    @discardableResult
    package func purgeUser(
        _ row: UserRow, isManual: Bool = false,
        evidence: ((LeftTombstones) -> JSONValue)? = nil
    ) async throws -> LeftTombstones {
        var left = LeftTombstones(until: now.adding(seconds: Self.tombstoneSeconds))
        left.count = try await purgeMerged(into: row, isManual: isManual)
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
        try await redact(row, isAddressOwn: others.isEmpty)
        if isManual { try await redactStoredResponses(of: row) }
        // A person who was declined was never admitted, so nothing of them is left, not even a
        // tombstone.
        if try await !isDeclined(row) {
            left.count += try await bury(row, withAddress: others.isEmpty)
        }
        for identity in row.identities { try await invalidate(identity) }
        try await query("SELECT user_search_drop(\(tenant), \(row.id))")
        try await query(
            "DELETE FROM invites WHERE tenant_id = \(tenant) AND accepted_user_id = \(row.id)")
        try await query("DELETE FROM users WHERE tenant_id = \(tenant) AND id = \(row.id)")
        // Must come after the user's sessions are deleted. Until then, another transaction can end
        // one of the sessions and write the session's last use to `user_uses`.
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

    func invalidate(_ identity: IdentityRow) async throws {
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

/// How many HMACs a purge left behind, and until when they keep the person from signing up again.
package struct LeftTombstones: Sendable {
    var count = 0
    var until: Timestamp
}

/// Tombstones: what is left of a purged user for 30 days. They are HMACs of the address and of the
/// identities, by which the tenant refuses the person like a deleted user.
extension Change {
    /// Seconds for which a tombstone keeps the person from signing up again.
    static let tombstoneSeconds: Int64 = 30 * 86_400

    /// Stores the HMACs of a purged user and returns how many. `withAddress` means that no other
    /// user of this tenant has the address.
    func bury(_ row: UserRow, withAddress: Bool) async throws -> Int {
        var keys = row.identities.map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
        if withAddress { keys.append(database.personKey(emailKey: row.emailKey)) }
        let person = UUID.random()
        let end = now.adding(seconds: Self.tombstoneSeconds)
        for key in keys {
            try await query(
                """
                INSERT INTO tombstones (tenant_id, key, person, expires_at)
                VALUES (\(tenant), substring(\(key)::bytea FOR 36), \(person), \(end))
                ON CONFLICT (tenant_id, key) DO UPDATE
                SET person = excluded.person, expires_at = excluded.expires_at
                """)
        }
        return keys.count
    }

    /// Deletes all tombstones of the person who had this address, including those of the person's
    /// identities. An operator creates the user again, so the tenant must no longer refuse the
    /// person.
    func endTombstone(_ emailKey: String) async throws(PostgresError) {
        try await query(
            """
            DELETE FROM tombstones WHERE tenant_id = \(tenant) AND person IN (
                SELECT person FROM tombstones WHERE tenant_id = \(tenant)
                    AND key = ANY (person_keys(\(database.personKey(emailKey: emailKey)))))
            """)
    }

    /// The purged user to whom one of these keys belongs, in the form of a deleted user; `nil` if
    /// there is none. The id in this form refers to no row. `keys` are those of the identity and of
    /// addresses.
    func buried(_ keys: [[UInt8]]) async throws(PostgresError) -> UserFacts? {
        let rows = try await query(
            """
            SELECT person FROM tombstones
            WHERE tenant_id = \(tenant) AND key = ANY (person_keys(\(Array(keys.joined()))))
                AND expires_at > \(now) LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        return UserFacts(id: try row.get(0), status: .deleted, source: .operator)
    }
}

/// Removes a purged user's address and name from records of the past, such as audit events, which
/// themselves stay.
extension Change {
    /// Redacts the records. Must run while the user's row and invites still exist. `isAddressOwn`
    /// means that no other user has the address, so that everything with it belongs to this user.
    func redact(_ row: UserRow, isAddressOwn: Bool) async throws {
        let addresses = try await formerAddresses(of: row, isAddressOwn: isAddressOwn)
        let keys = addresses.map(\.key)
        let things = try await recordedThings(of: row, keys)
        let words = try await spellings(of: addresses)
        try await query("SELECT person_redact(\(tenant), \(row.id), \(things), \(words))")
        try await query("SELECT policies_redact(\(tenant), \(keys))")
        try await query("SELECT policies_redact_author(\(tenant), \(row.id))")
        try await redactDecisions(of: row.id, keys)
        try await redactMail(of: row.id, things, addresses.map(\.text))
        try await query(
            """
            UPDATE invites SET inviter_name = '' WHERE tenant_id = \(tenant)
                AND inviter_type = 'user' AND inviter_id = \(row.id.description)
            """)
        try await query(
            """
            UPDATE join_links SET maker_name = '' WHERE tenant_id = \(tenant)
                AND maker_type = 'user' AND maker_id = \(row.id.description)
            """)
        try await query(
            """
            UPDATE user_merges SET created_by_name = '' WHERE tenant_id = \(tenant)
                AND created_by_type = 'user' AND created_by_id = \(row.id.description)
            """)
        try await query(
            """
            UPDATE api_keys SET last_used_ip = NULL, note = NULL
            WHERE tenant_id = \(tenant) AND owner_user_id = \(row.id)
            """)
        try await query(
            """
            UPDATE reset_asks SET email_key = NULL, next_at = NULL
            WHERE tenant_id = \(tenant) AND email_key = ANY (\(keys))
            """)
        try await redactJobs(of: row, keys)
        for table in ["pending_choices", "reservations"] {
            try await query(
                """
                DELETE FROM \(raw: table)
                WHERE tenant_id = \(tenant) AND email_key = ANY (\(keys))
                """)
        }
        try await redactImports(of: row, keys)
        guard isAddressOwn else { return }
        try await redactUnplacedDecisions(of: row)
    }

    /// Drops unsent mails that are about the person or their identities and invites, or go to their
    /// addresses.
    private func redactMail(
        of user: UUID, _ things: [UUID], _ addresses: [String]
    ) async throws {
        let recipients = addresses.map(database.recipient)
        // Runs one statement for each condition, since each has its own index.
        let conditions: [SQL] = [
            "about = ANY (\(things + [user])::uuid[])", "people && \([user])::uuid[]",
            """
            next_at IS NOT NULL AND recipient = ANY (ARRAY(
                SELECT substring(\(Array(recipients.joined()))::bytea FROM n::integer FOR 32)
                FROM generate_series(1, \(recipients.count * 32), 32) AS n))
            """,
        ]
        for condition in conditions {
            try await query(
                """
                UPDATE mail SET letter = NULL, next_at = NULL,
                    ended_at = coalesce(ended_at, \(now)),
                    failure = CASE WHEN failure IS NULL AND ended_at IS NOT NULL THEN NULL
                        ELSE 'redacted' END
                WHERE tenant_id = \(tenant) AND \(condition)
                """)
        }
    }

    /// Removes the person from the rows of jobs, and from the jobs that they created. A row that
    /// still waits will then fail.
    private func redactJobs(of row: UserRow, _ keys: [String]) async throws {
        try await query(
            """
            UPDATE job_rows SET input = NULL, email_key = NULL
            WHERE tenant_id = \(tenant) AND email_key = ANY (\(keys))
            """)
        try await query(
            """
            UPDATE job_rows SET effect = NULL
            WHERE tenant_id = \(tenant) AND target_id = \(row.id) AND effect IS NOT NULL
            """)
        try await query(
            """
            UPDATE job_rows SET external_id = NULL
            WHERE tenant_id = \(tenant) AND target_id = \(row.id) AND external_id IS NOT NULL
            """)
        if let externalID = row.externalID {
            try await query(
                """
                UPDATE job_rows SET external_id = NULL
                WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                """)
        }
        for role in ["created_by", "actor"] {
            try await query(
                """
                UPDATE jobs SET \(raw: role)_name = '' WHERE tenant_id = \(tenant)
                    AND \(raw: role)_type = 'user' AND \(raw: role)_id = \(row.id.description)
                """)
        }
    }

    /// Removes the content of import rows that wait and refer to the person by address, external id
    /// or sign-in. Each of them will then fail.
    private func redactImports(of row: UserRow, _ keys: [String]) async throws(PostgresError) {
        let staged = row.stagedKeys + keys.map { StagedPerson.key(email: $0) }
        try await query(
            """
            UPDATE import_rows t SET document = NULL, email_key = NULL
            WHERE t.tenant_id = \(tenant) AND t.document IS NOT NULL
                AND \(StagedPerson.rows(staged, in: tenant))
            """)
    }

    /// Deletes the stored responses that are about the user. Responses that contain a secret cannot
    /// be searched, since they are encrypted with the caller's own key; they expire within a day.
    func redactStoredResponses(of row: UserRow) async throws {
        try await query(
            """
            DELETE FROM idempotency WHERE tenant_id = \(tenant) AND answer IS NOT NULL
                AND ids_in(answer) @> \([row.id.description])::text[]
            """)
    }

    /// The user's former addresses, and the current one if no other user has it.
    func formerAddresses(
        of row: UserRow, isAddressOwn: Bool
    ) async throws(PostgresError) -> [(key: String, text: String)] {
        let rows = try await query(
            """
            SELECT email_key, email FROM former_addresses
            WHERE tenant_id = \(tenant) AND user_id = \(row.id)
            """)
        var found = isAddressOwn ? [(key: row.emailKey, text: row.email)] : []
        for row in rows { found.append((try row.get(0), try row.get(1))) }
        return found
    }

    /// The ids of the user's current and former identities, of the invites to the addresses with
    /// `keys`, and of the invites that the user accepted.
    func recordedThings(
        of row: UserRow, _ keys: [String]
    ) async throws(PostgresError) -> [UUID] {
        let rows = try await query(
            """
            SELECT id FROM former_identities WHERE tenant_id = \(tenant) AND user_id = \(row.id)
            UNION SELECT id FROM invites WHERE tenant_id = \(tenant) AND email_key = ANY (\(keys))
            UNION SELECT id FROM invites
                WHERE tenant_id = \(tenant) AND accepted_user_id = \(row.id)
            """)
        var things = row.identities.map(\.id)
        for row in rows { things.append(try row.get(0)) }
        return things
    }

    /// All spellings in which the addresses appear in records.
    func spellings(
        of addresses: [(key: String, text: String)]
    ) async throws(PostgresError) -> [String] {
        let keys = addresses.map(\.key)
        let rows = try await query(
            """
            SELECT email FROM invites WHERE tenant_id = \(tenant) AND email_key = ANY (\(keys))
            UNION SELECT email FROM decisions
                WHERE tenant_id = \(tenant) AND email_key = ANY (\(keys)) AND email IS NOT NULL
            """)
        var words = keys + addresses.map(\.text)
        for row in rows { words.append(try row.get(0)) }
        return words
    }

    /// Redacts the decisions about the user, and deletes the stored responses of their retries.
    private func redactDecisions(of user: UUID, _ keys: [String]) async throws(PostgresError) {
        let rows = try await query("SELECT decisions_redact(\(tenant), \(user), \(keys))")
        let redacted = try rows.map { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        try await query("DELETE FROM provisioning_retries WHERE decision_id = ANY (\(redacted))")
    }

    /// Redacts decisions that belong to no tenant, if no other tenant knows the address.
    private func redactUnplacedDecisions(of row: UserRow) async throws {
        let key = database.personKey(emailKey: row.emailKey)
        let others = try await query(
            "SELECT id FROM directory_tenants_of(\(key)) AS id WHERE id <> \(tenant)")
        guard others.isEmpty else { return }
        try await switching(to: .platform).redactDecisions(of: row.id, [row.emailKey])
        _ = try await switching(to: tenant)
    }
}
