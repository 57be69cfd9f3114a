import Domain
import Postgres
import Text

/// Removes a purged user's address and name from the records of the past. The events stay.
extension Change {
    /// The user's row and its invites still exist. `isAddressOwn`: no other row has the address, so
    /// that everything under it is this user's.
    func redact(_ row: UserRow, isAddressOwn: Bool, _ database: Database) async throws {
        let addresses = try await formerAddresses(of: row, isAddressOwn: isAddressOwn)
        let keys = addresses.map(\.key)
        let things = try await recordedThings(of: row, keys)
        let words = try await spellings(of: addresses)
        try await query("SELECT person_redact(\(tenant), \(row.id), \(things), \(words))")
        try await query("SELECT policies_redact(\(tenant), \(keys))")
        try await query("SELECT policies_redact_author(\(tenant), \(row.id))")
        try await redactDecisions(of: row.id, keys)
        try await redactMail(of: row.id, things, addresses.map(\.text), database)
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
        try await redactUnplacedDecisions(of: row, database)
    }

    /// What is not sent yet: about the person, about what is theirs, and to their addresses.
    private func redactMail(
        of user: UUID, _ things: [UUID], _ addresses: [String], _ database: Database
    ) async throws {
        let recipients = addresses.map(database.recipient)
        // One condition at a time: each has its index.
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

    /// What jobs still have to do about the person, and who made them. A row that waits fails then.
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

    /// Rows that wait, by address, external id or sign-in; each fails then.
    private func redactImports(of row: UserRow, _ keys: [String]) async throws(PostgresError) {
        let staged = row.stagedKeys + keys.map { StagedPerson.key(email: $0) }
        try await query(
            """
            UPDATE import_rows t SET document = NULL, email_key = NULL
            WHERE t.tenant_id = \(tenant) AND t.document IS NOT NULL
                AND \(StagedPerson.rows(staged, in: tenant))
            """)
    }

    /// Stored responses about the user; those that contain a secret are sealed under the caller's
    /// own key and expire within a day.
    func redactStoredResponses(of row: UserRow) async throws {
        try await query(
            """
            DELETE FROM idempotency WHERE tenant_id = \(tenant) AND answer IS NOT NULL
                AND ids_in(answer) @> \([row.id.description])::text[]
            """)
    }

    /// The current address, if it is only this user's, and the former ones.
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

    /// Identities, current and former, and invites.
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

    /// The spellings of the addresses.
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

    /// With the stored responses of retries.
    private func redactDecisions(of user: UUID, _ keys: [String]) async throws(PostgresError) {
        let rows = try await query("SELECT decisions_redact(\(tenant), \(user), \(keys))")
        let redacted = try rows.map { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        try await query("DELETE FROM provisioning_retries WHERE decision_id = ANY (\(redacted))")
    }

    /// Decisions without a tenant, if no other tenant knows the address.
    private func redactUnplacedDecisions(of row: UserRow, _ database: Database) async throws {
        let key = database.personKey(emailKey: row.emailKey)
        let others = try await query(
            "SELECT id FROM directory_tenants_of(\(key)) AS id WHERE id <> \(tenant)")
        guard others.isEmpty else { return }
        try await switching(to: .platform).redactDecisions(of: row.id, [row.emailKey])
        _ = try await switching(to: tenant)
    }
}
