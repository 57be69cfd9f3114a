import Domain
import Postgres
import Text

/// Takes a purged person's address and name out of what records the past. What happened stays.
extension Change {
    /// The user's row and its invites are still there. `isAddressOwn`: the address is no other
    /// row's, so that everything under it is this person's.
    func redact(_ row: UserRow, isAddressOwn: Bool, _ database: Database) async throws {
        let addresses = try await formerAddresses(of: row, isAddressOwn: isAddressOwn)
        let keys = addresses.map(\.key)
        let things = try await recordedThings(of: row, keys)
        let words = try await spellings(of: addresses)
        try await query(
            "SELECT person_redact(\(tenant), \(row.id), \(things), \(words))")
        try await redactDecisions(of: row.id, keys)
        try await query(
            """
            UPDATE mail SET letter = NULL, next_at = NULL, ended_at = coalesce(ended_at, \(now)),
                failure = CASE WHEN failure IS NULL AND ended_at IS NOT NULL THEN NULL
                    ELSE 'redacted' END
            WHERE tenant_id = \(tenant) AND about = ANY (\(things + [row.id]))
            """)
        try await query(
            """
            UPDATE invites SET inviter_name = '' WHERE tenant_id = \(tenant)
                AND inviter_type = 'user' AND inviter_id = \(row.id.description)
            """)
        for table in ["pending_choices", "reservations"] {
            try await query(
                """
                DELETE FROM \(raw: table)
                WHERE tenant_id = \(tenant) AND email_key = ANY (\(keys))
                """)
        }
        guard isAddressOwn else { return }
        try await redactUnplacedDecisions(of: row, database)
    }

    /// Answers that are kept for retries and tell of the user; those that hold a secret are sealed
    /// under the caller's own key and end within a day.
    func redactStoredResponses(of row: UserRow) async throws {
        let slug = try await query("SELECT slug FROM tenants WHERE id = \(tenant)")
        var paths = ["/v1/tenants/\(tenant)/%"]
        if let row = slug.first {
            paths.append("/v1/tenants/\(try row.get(0, as: String.self))/%")
        }
        try await query(
            """
            DELETE FROM idempotency WHERE path LIKE ANY (\(paths)) AND answer IS NOT NULL
                AND position(\(Array(row.id.description.utf8)) IN answer) > 0
            """)
    }

    /// The present address, where it is the person's alone, and those from before.
    private func formerAddresses(
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

    /// Identities, present and former, and invites.
    private func recordedThings(
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

    /// The ways in which the addresses were written.
    private func spellings(
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

    /// With the answers that retries would be given again.
    private func redactDecisions(of user: UUID, _ keys: [String]) async throws(PostgresError) {
        try await query(
            """
            WITH redacted AS MATERIALIZED (
                SELECT decisions_redact(\(tenant), \(user), \(keys)) AS id)
            DELETE FROM provisioning_retries r USING redacted WHERE r.decision_id = redacted.id
            """)
    }

    /// Decisions that belong to no tenant, where no other tenant knows the address.
    private func redactUnplacedDecisions(of row: UserRow, _ database: Database) async throws {
        let key = database.personKey(emailKey: row.emailKey)
        let others = try await query(
            "SELECT id FROM directory_tenants_of(\(key)) AS id WHERE id <> \(tenant)")
        guard others.isEmpty else { return }
        try await switching(to: .platform).redactDecisions(of: row.id, [row.emailKey])
        _ = try await switching(to: tenant)
    }
}
