import Domain
import JSON
import Postgres
import Text

extension Change {
    /// Merges the loser's record into the winner's. Before anything changes, calls `permit` with
    /// both users; `permit` throws if the caller may not merge them. Throws 404 if a user does not
    /// exist. Throws 409 `conflict` if a user is suspended, deleted or merged; the error names this
    /// user's id.
    package func mergeUsers(
        winner: UUID, loser: UUID,
        permit: (_ winner: UserRow, _ loser: UserRow) throws -> Void
    ) async throws -> MergeRow {
        let users = try await lockPeople([winner, loser])
        guard let winner = users[winner], let loser = users[loser] else {
            throw StorageFailure.notFound("user")
        }
        for user in [winner, loser] { try requireMergeable(user) }
        try permit(winner, loser)
        try await requireProved(winner, loser)
        let merge = try await move(from: loser, to: winner)
        try await end(loser, merge)
        try await settle(winner, after: loser)
        try await noteUse(of: [winner.id])
        try await auditMerge(winner, loser)
        try await tellOfMerge(.merged, winner, loser)
        return merge
    }

    private func requireMergeable(_ user: UserRow) throws {
        guard user.status == .pending || user.status == .active else {
            throw StorageFailure.conflict(
                code: "conflict", detail: "The user is \(user.status).", id: user.id)
        }
    }

    /// Throws 409 if the merge would activate a winner who has a sign-in that was never proved. A
    /// stranger may have created this sign-in, and would then know the password of an active user.
    private func requireProved(_ winner: UserRow, _ loser: UserRow) async throws {
        guard winner.status == .pending, loser.status == .active else { return }
        let unproved = try await query(
            """
            SELECT 1 FROM users u WHERE u.tenant_id = \(tenant) AND u.id = \(winner.id)
                AND (u.password_hash IS NOT NULL AND u.email_verified_at IS NULL OR EXISTS (
                    SELECT 1 FROM identities i
                    WHERE i.tenant_id = \(tenant) AND i.user_id = \(winner.id)
                        AND NOT i.email_verified AND i.linked_by_type IS NULL))
            """)
        guard unproved.isEmpty else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail:
                    "The winner is pending and has a sign-in that was never proved; make the other "
                    + "user the winner.",
                id: winner.id)
        }
    }

    /// Moves the loser's proved sign-ins, keys, invites and addresses to the winner, and records
    /// what an undo needs.
    private func move(
        from loser: UserRow, to winner: UserRow
    ) async throws -> MergeRow {
        let identities = try await query(
            """
            UPDATE identities SET user_id = \(winner.id)
            WHERE tenant_id = \(tenant) AND user_id = \(loser.id)
                AND provider <> \(ProviderKind.password.rawValue)
                AND (email_verified OR \(loser.status) <> 'pending' OR linked_by_type IS NOT NULL)
            RETURNING id
            """
        ).all(Self.id)
        let keys = try await moveKeys(from: loser, to: winner)
        let accepted = try await query(
            """
            UPDATE invites SET accepted_user_id = \(winner.id)
            WHERE tenant_id = \(tenant) AND accepted_user_id = \(loser.id) RETURNING id
            """
        ).all(Self.id)
        let addresses = try await moveAddresses(from: loser, to: winner)
        let carried = try await query(
            """
            UPDATE merged_users SET user_id = \(winner.id)
            WHERE tenant_id = \(tenant) AND user_id = \(loser.id) RETURNING id
            """
        ).all(Self.id)
        return try await record(
            winner, loser,
            Moved(
                identities: identities, keys: keys, invites: accepted, addresses: addresses,
                carried: carried))
    }

    private struct Moved {
        var identities: [UUID]
        var keys: [MovedKey]
        var invites: [UUID]
        var addresses: [String]
        var carried: [UUID]
    }

    private func record(
        _ winner: UserRow, _ loser: UserRow, _ moved: Moved
    ) async throws -> MergeRow {
        let keyDocument = JSONB(JSONValue.array(moved.keys.map(\.document)))
        let rows = try await query(
            """
            INSERT INTO user_merges AS made (tenant_id, id, winner_id, loser_id, created_at,
                created_by_type, created_by_id, created_by_name, winner_status,
                winner_signed_in_at, winner_kept, loser_status, identities, keys, accepted_invites,
                revoked_invites, addresses, carried, left_identities, left_aliases,
                winner_email_key, winner_had_password)
            SELECT anchor.id, \(UUID.random()), \(winner.id), \(loser.id), \(now),
                \(actor.type), \(actor.id), \(actor.name), \(winner.status),
                \(winner.lastSignInAt), \(winner.isKept), \(loser.status), \(moved.identities), \(keyDocument),
                \(moved.invites), ARRAY(SELECT id FROM invites WHERE tenant_id = \(tenant)
                    AND email_key = \(loser.emailKey)
                    AND \(SQL.unindexed("status")) = 'pending'), \(moved.addresses),
                \(moved.carried),
                (SELECT coalesce(jsonb_agg(to_jsonb(i) ORDER BY i.id), '[]') FROM identities i
                    WHERE i.tenant_id = \(tenant) AND i.user_id = \(loser.id)),
                (SELECT coalesce(jsonb_agg(to_jsonb(a) ORDER BY a.pool, a.alias), '[]')
                    FROM identity_aliases a JOIN identities i
                        ON i.tenant_id = \(tenant) AND i.id = a.identity_id
                    WHERE a.tenant_id = \(tenant) AND i.user_id = \(loser.id)),
                \(winner.emailKey), (SELECT w.password_hash IS NOT NULL FROM users w
                    WHERE w.tenant_id = \(tenant) AND w.id = \(winner.id))
            FROM \(SQL.anchor(of: tenant)) WHERE anchor.id = \(tenant)
            RETURNING \(MergeRow.columns)
            """)
        return try rows.only(MergeRow.init)
    }

    /// Moves the loser's keys to the winner. Each key loses the scopes that the winner's role does
    /// not permit.
    private func moveKeys(
        from loser: UserRow, to winner: UserRow
    ) async throws -> [MovedKey] {
        let rows = try await query(
            """
            SELECT id, name, scopes FROM api_keys
            WHERE tenant_id = \(tenant) AND owner_user_id = \(loser.id) ORDER BY id FOR UPDATE
            """)
        var keys: [MovedKey] = []
        for row in rows {
            let scopes: [String] = try row.get(2)
            let kept = Permissions.scopesKept(scopes, from: loser.role, to: winner.role)
            let key = MovedKey(id: try row.get(0), scopes: scopes, kept: kept)
            queryLater(
                """
                UPDATE api_keys SET owner_user_id = \(winner.id), scopes = \(kept),
                    version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(key.id)
                """)
            try await auditMove(of: key, named: try row.get(1), from: loser.id, to: winner.id)
            keys.append(key)
        }
        return keys
    }

    func auditMove(
        of key: MovedKey, named name: String, from: UUID, to: UUID
    ) async throws {
        var changes = AuditChanges()
        changes.add("owner_user_id", from.description, to.description)
        let texts = [key.scopes, key.kept].map { JSONValue.array($0.map(JSONValue.string)) }
        changes.add("scopes", texts[0], texts[1])
        try await audit(.apiKeyUpdated, AuditTarget("api_key", key.id, name), changes)
    }

    /// Records the loser's current and former addresses as former addresses of the winner.
    private func moveAddresses(
        from loser: UserRow, to winner: UserRow
    ) async throws -> [String] {
        let former = try await query(
            """
            UPDATE former_addresses SET user_id = \(winner.id)
            WHERE tenant_id = \(tenant) AND user_id = \(loser.id) RETURNING email_key
            """
        ).all { row throws(PostgresError) in try row.get(0, as: String.self) }
        try await query(
            """
            INSERT INTO former_addresses (tenant_id, email_key, user_id, email, expires_at)
            VALUES (\(tenant), \(loser.emailKey), \(winner.id), \(loser.email),
                \(Self.endOfTime))
            ON CONFLICT (tenant_id, email_key) DO UPDATE SET user_id = excluded.user_id,
                email = excluded.email, expires_at = excluded.expires_at
            """)
        return former
    }

    /// When the loser's address expires as a former address of the winner: in effect never.
    static let endOfTime = Timestamp(microseconds: 253_402_300_799_000_000)

    static func id(_ row: Row) throws(PostgresError) -> UUID { try row.get(0) }

    /// Ends the loser's sessions and links, removes the sign-ins that were not moved, and hides the
    /// row.
    private func end(_ loser: UserRow, _ merge: MergeRow) async throws {
        try await revokeInvites(to: loser)
        try await endSessions(of: loser, except: nil)
        try await query(
            "DELETE FROM link_grants WHERE tenant_id = \(tenant) AND user_id = \(loser.id)")
        try await endResets(of: loser.id)
        try await removeSignIns(of: loser)
        try await hide(loser, behind: merge.winner)
    }

    private func removeSignIns(of loser: UserRow) async throws {
        let left = try await query(
            """
            DELETE FROM identities WHERE tenant_id = \(tenant) AND user_id = \(loser.id)
            RETURNING provider, issuer, subject
            """)
        for row in left {
            let key = database.personKey(
                provider: try row.get(0), issuer: try row.get(1), subject: try row.get(2))
            try await query("SELECT directory_remove_person(\(key))")
        }
    }

    private func hide(_ loser: UserRow, behind winner: UUID) async throws {
        try await query("SELECT user_search_drop(\(tenant), \(loser.id))")
        try await seeingMerged {
            try await query(
                """
                UPDATE users SET status = 'merged', version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(loser.id)
                """)
        }
        try await query(
            """
            INSERT INTO merged_users (tenant_id, id, user_id)
            VALUES (\(tenant), \(loser.id), \(winner))
            """)
    }

    /// Updates the winner's status, last sign-in and exemption from the inactivity rule after the
    /// merge. The winner is exempt if either user was. The winner's own role, name, password and
    /// PIN stay.
    private func settle(
        _ winner: UserRow, after loser: UserRow
    ) async throws(PostgresError) {
        try await query(
            """
            UPDATE users SET status = \(loser.status == .active ? loser.status : winner.status),
                last_sign_in_at = greatest(last_sign_in_at, \(loser.lastSignInAt)::timestamptz),
                keep = keep OR \(loser.isKept),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(winner.id)
            """)
    }

    private func auditMerge(_ winner: UserRow, _ loser: UserRow) async throws {
        var changes = AuditChanges()
        changes.add("merged_into", nil, winner.id.description)
        try await audit(.userMerged, loser.target, changes)
        changes = AuditChanges()
        changes.add("merged_ids", nil, loser.id.description)
        if loser.status == .active { changes.add("status", winner.status, loser.status) }
        changes.add("keep", .bool(winner.isKept), .bool(winner.isKept || loser.isKept))
        try await audit(.userMerged, winner.target, changes)
    }
}

/// Locks on persons, so that sign-ins and merges of the same person run one after the other.
extension Change {
    /// A statement that locks one row for each identity, then one for each address. Until the
    /// transaction ends, no other replica can decide about these persons. Each parameter consists
    /// of any number of concatenated keys from `Database.personKey`.
    static func lockingPeople(identities: [UInt8], addresses: [UInt8]) -> SQL {
        "SELECT lock_people(\(identities), \(addresses))"
    }

    /// Locks these users, every identity and address with which they can sign in, and the addresses
    /// in `also`. Returns the users that exist. Throws 409 `conflict` if a sign-in was added in the
    /// meantime.
    func lockPeople(
        _ ids: [UUID], also: [String] = []
    ) async throws -> [UUID: UserRow] {
        let before = try await query(
            """
            SELECT \(UserRow.columns(of: tenant)) FROM users
            WHERE tenant_id = \(tenant) AND id = ANY (\(ids))
            """
        ).all(UserRow.init)
        let identities = Set(before.flatMap { $0.personKeys(of: database) })
        let addresses = Set(
            (before.map(\.emailKey) + also).map { database.personKey(emailKey: $0) })
        try await query(
            Self.lockingPeople(
                identities: Array(identities.joined()), addresses: Array(addresses.joined())))
        let users = try await query(
            """
            SELECT \(UserRow.columns(of: tenant)) FROM users
            WHERE tenant_id = \(tenant) AND id = ANY (\(ids)) ORDER BY id FOR UPDATE OF users
            """
        ).all(UserRow.init)
        guard users.allSatisfy({ identities.isSuperset(of: $0.personKeys(of: database)) }) else {
            throw Self.changedMeanwhile
        }
        return Dictionary(uniqueKeysWithValues: users.map { ($0.id, $0) })
    }

    private static let changedMeanwhile = StorageFailure.conflict(
        code: "conflict", detail: "A sign-in has just been added; try again.", id: nil)
}

extension UserRow {
    fileprivate func personKeys(of database: Database) -> [[UInt8]] {
        identities.map {
            database.personKey(provider: $0.provider, issuer: $0.issuer, subject: $0.subject)
        }
    }
}

/// A key of the loser that the merge moved to the winner.
package struct MovedKey: Sendable {
    package var id: UUID
    /// The scopes that the key had before the merge.
    var scopes: [String]
    /// The scopes that the key has after the merge: of its earlier scopes, those that the winner's
    /// role permits too and those of the tenant's own catalogue.
    var kept: [String]

    /// The scopes that the key lost by the merge.
    package var refused: [String] {
        scopes.filter { scope in !kept.contains { sameBytes($0, scope) } }
    }

    init(id: UUID, scopes: [String], kept: [String]) {
        self.id = id
        self.scopes = scopes
        self.kept = kept
    }

    init?(_ document: JSONValue) {
        func texts(_ name: String) -> [String]? { document[name]?.array?.compactMap(\.string) }
        guard let id = document["id"]?.string.flatMap({ UUID($0) }), let scopes = texts("scopes"),
            let kept = texts("kept")
        else { return nil }
        self.init(id: id, scopes: scopes, kept: kept)
    }

    var document: JSONValue {
        func texts(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
        return .object([
            .init("id", .string(id.description)), .init("scopes", texts(scopes)),
            .init("kept", texts(kept)),
        ])
    }
}

extension Change {
    /// Mails both addresses that the records were merged, or that the merge was undone.
    func tellOfMerge(
        _ kind: OutgoingMail.Kind, _ winner: UserRow, _ loser: UserRow
    ) async throws {
        guard database.options.sendsMail else { return }
        let name = try await tenantName()
        for (address, other) in [(winner.email, loser.email), (loser.email, winner.email)] {
            // Each mail gets a random id as its object, since a later mail about the same object
            // would replace the mail.
            try await post(
                OutgoingMail(
                    kind, to: address, tenantName: name,
                    message: kind == .mergeUndone ? other : winner.email,
                    expiresAt: now.adding(seconds: Self.noticeSeconds)),
                about: UUID.random(), of: [winner.id, loser.id])
        }
    }
}
