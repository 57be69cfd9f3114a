import Domain
import JSON
import Postgres
import Text

/// Why a merge cannot be undone.
package struct UndoConflict: Error {
    /// One reason why the merge cannot be undone. `pointer` is a JSON pointer to the member of the
    /// merge that the reason is about.
    package struct Reason: Sendable {
        package var pointer: String
        /// The reason in one sentence.
        package var detail: String
    }

    /// The reasons why the merge cannot be undone; at least one.
    package var reasons: [Reason]
}

extension Change {
    /// Undoes a merge within 30 days and restores both users. Later merges into the winner must be
    /// undone first. If the merge is undone already, nothing changes. Throws `UndoConflict` if the
    /// undo is impossible, for example because the winner or a moved sign-in no longer exists.
    /// `permit` is called with both users and throws if the caller may not undo the merge.
    package func undoMerge(
        _ id: UUID,
        permit: (_ winner: UserRow, _ loser: UserRow) throws -> Void
    ) async throws -> MergeRow {
        let (winner, loser, users) = try await lockMerged(id)
        let merge = try await query(
            """
            SELECT \(MergeRow.columns) FROM user_merges
            WHERE tenant_id = \(tenant) AND id = \(id) FOR UPDATE
            """
        ).only(MergeRow.init)
        if merge.status == .undone {
            alreadyApplied()
            return merge
        }
        guard let winner = users[winner] else { throw try await withoutWinner(winner) }
        try await requireUndoable(merge, winner)
        let restored = try await restoreLoser(loser, of: merge, winner)
        try permit(winner, restored)
        try await giveBack(merge, winner, restored)
        let ended = try await endAccess(to: winner, since: merge)
        try await settle(winner, without: restored, merge)
        try await noteUse(of: [winner.id, restored.id])
        try await tellOfMerge(.mergeUndone, winner, restored)
        return try await markUndone(merge, winner, restored, ended)
    }

    /// Locks the users and persons of a merge. The merge itself must be locked after them.
    private func lockMerged(
        _ id: UUID
    ) async throws -> (winner: UUID, loser: UUID, users: [UUID: UserRow]) {
        let found = try await query(
            """
            SELECT m.winner_id, m.loser_id, f.email_key FROM user_merges m
            LEFT JOIN former_addresses f ON f.tenant_id = \(tenant) AND f.user_id = m.winner_id
            WHERE m.tenant_id = \(tenant) AND m.id = \(id)
            """)
        guard let first = found.first else { throw StorageFailure.notFound("merge") }
        let winner: UUID = try first.get(0)
        let addresses = try found.all { row throws(PostgresError) in
            try row.get(2, as: String?.self)
        }
        let users = try await lockPeople([winner], also: addresses.compactMap(\.self))
        return (winner, try first.get(1), users)
    }

    /// The conflict to throw if the winner no longer exists because it was merged into another user
    /// or purged.
    private func withoutWinner(_ user: UUID) async throws -> UndoConflict {
        let later: UUID? = try await query(
            """
            SELECT id FROM user_merges
            WHERE tenant_id = \(tenant) AND loser_id = \(user) AND status = 'done'
            """
        ).first?.get(0)
        let detail = later.map {
            "The winner has since been merged into another user; undo the merge \($0) first."
        }
        return UndoConflict(
            reasons: [.init(pointer: "/winner", detail: detail ?? "The winner was purged.")])
    }

    private func requireUndoable(_ merge: MergeRow, _ winner: UserRow) async throws {
        var reasons: [UndoConflict.Reason] = []
        if merge.undoUntil <= now {
            reasons.append(
                .init(
                    pointer: "/undo_until",
                    detail: "A merge can be undone for 30 days, which are over."))
        }
        let rows = try await query(
            """
            SELECT '', 'Undo the later merge ' || l.id || ' first.' FROM user_merges l
            WHERE l.tenant_id = \(tenant) AND l.winner_id = \(merge.winner) AND l.status = 'done'
                AND (l.created_at, l.id) > (\(merge.createdAt)::timestamptz, \(merge.id)::uuid)
            UNION ALL SELECT '/moved/identities/' || gone.id, 'The sign-in was removed since.'
            FROM user_merges m, unnest(m.identities) AS gone (id)
            WHERE m.tenant_id = \(tenant) AND m.id = \(merge.id) AND NOT EXISTS (
                SELECT 1 FROM identities i WHERE i.tenant_id = \(tenant) AND i.id = gone.id
                    AND i.user_id = \(merge.winner))
            UNION ALL SELECT '/moved/keys/' || k.id, 'The key was revoked since.' FROM api_keys k
            WHERE k.tenant_id = \(tenant) AND k.id = ANY (\(merge.keys.map(\.id)))
                AND k.revoked_at >= \(merge.createdAt)
            """)
        for row in rows { reasons.append(.init(pointer: try row.get(0), detail: try row.get(1))) }
        reasons += try await accessToJudge(merge, winner)
        guard reasons.isEmpty else { throw UndoConflict(reasons: reasons) }
    }

    /// Throws `UndoConflict` if another user has taken the loser's address or external id since the
    /// merge.
    private func requireFree(_ id: UUID) async throws {
        let taken = try await query(
            """
            SELECT CASE WHEN o.email_key = u.email_key THEN '/loser/email'
                ELSE '/loser/external_id' END
            FROM users u JOIN users o ON o.tenant_id = \(tenant)
                AND o.status NOT IN ('deleted', 'merged')
                AND (o.email_key = u.email_key OR o.external_id = u.external_id)
            WHERE u.tenant_id = \(tenant) AND u.id = \(id)
            """)
        let reasons = try taken.all { row throws(PostgresError) in
            UndoConflict.Reason(
                pointer: try row.get(0),
                detail: "Another user now has this address or external id.")
        }
        guard reasons.isEmpty else { throw UndoConflict(reasons: reasons) }
    }

    /// Restores the loser's row as it was before the merge, with a new version and time of change.
    /// If the winner was suspended after the merge, the loser is restored as suspended.
    private func restoreLoser(
        _ id: UUID, of merge: MergeRow, _ winner: UserRow
    ) async throws -> UserRow {
        let isSuspended = winner.status == .suspended
        let rows = try await seeingMerged {
            try await requireFree(id)
            return try await query(
                """
                UPDATE users SET version = users.version + 1, updated_at = \(now),
                    status = CASE WHEN \(isSuspended) THEN 'suspended' ELSE m.loser_status END,
                    status_before = CASE WHEN \(isSuspended) THEN m.loser_status
                        ELSE users.status_before END
                FROM user_merges m
                WHERE users.tenant_id = \(tenant) AND users.id = \(id) AND users.status = 'merged'
                    AND m.tenant_id = \(tenant) AND m.id = \(merge.id)
                RETURNING \(UserRow.columns(of: tenant))
                """)
        }
        return try rows.only(UserRow.init)
    }

    /// Gives back to the loser everything that the merge moved or removed.
    private func giveBack(
        _ merge: MergeRow, _ winner: UserRow, _ loser: UserRow
    ) async throws {
        try await query("DELETE FROM merged_users WHERE tenant_id = \(tenant) AND id = \(loser.id)")
        try await query(
            """
            DELETE FROM former_addresses WHERE tenant_id = \(tenant)
                AND email_key = \(loser.emailKey) AND user_id = \(winner.id)
            """)
        let moved: [(table: SQL, rows: SQL)] = [
            ("merged_users", "t.id = ANY (m.carried)"), ("identities", "t.id = ANY (m.identities)"),
            ("former_addresses", "t.email_key = ANY (m.addresses)"),
        ]
        for (table, rows) in moved {
            try await query(
                """
                UPDATE \(table) t SET user_id = \(loser.id) FROM user_merges m
                WHERE t.tenant_id = \(tenant) AND \(rows) AND t.user_id = \(winner.id)
                    AND m.tenant_id = \(tenant) AND m.id = \(merge.id)
                """)
        }
        try await giveBackInvites(merge, winner, loser)
        try await giveBackKeys(merge, to: loser)
        try await giveBackLeft(merge)
        try await putInSearch(loser)
        // Indexes the attributes anew, since the tenant's schema may have changed since the merge.
        index(
            loser.attributes, of: loser.id, createdAt: loser.createdAt,
            by: try await attributeSchema().schema)
    }

    /// Gives back the invites that the loser had accepted, and those that the merge revoked.
    private func giveBackInvites(
        _ merge: MergeRow, _ winner: UserRow, _ loser: UserRow
    ) async throws {
        try await query(
            """
            UPDATE invites v SET accepted_user_id = \(loser.id) FROM user_merges m
            WHERE v.tenant_id = \(tenant) AND v.id = ANY (m.accepted_invites)
                AND v.accepted_user_id = \(winner.id)
                AND m.tenant_id = \(tenant) AND m.id = \(merge.id)
            """)
        try await query(
            """
            UPDATE invites v SET status = 'pending', version = v.version + 1, updated_at = \(now)
            FROM user_merges m
            WHERE v.tenant_id = \(tenant) AND v.id = ANY (m.revoked_invites)
                AND \(SQL.unindexed("v.status")) = 'revoked' AND v.updated_at = \(merge.createdAt)
                AND m.tenant_id = \(tenant) AND m.id = \(merge.id)
            """)
    }

    /// Gives the moved keys back to the loser. If a key's scopes were not changed after the merge,
    /// the key gets its earlier scopes back.
    private func giveBackKeys(_ merge: MergeRow, to loser: UserRow) async throws {
        for key in merge.keys.sorted(by: { $0.id < $1.id }) {
            let rows = try await query(
                """
                UPDATE api_keys SET owner_user_id = \(loser.id), scopes = CASE
                        WHEN scopes = \(key.kept)::text[] THEN \(key.scopes)::text[] ELSE scopes END,
                    version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(key.id) RETURNING name
                """)
            guard let row = rows.first else { continue }
            let back = MovedKey(id: key.id, scopes: key.kept, kept: key.scopes)
            try await auditMove(of: back, named: try row.get(0), from: merge.winner, to: loser.id)
        }
    }

    /// Restores the loser's sign-ins that the merge removed, except sign-ins that a user has added
    /// again since.
    private func giveBackLeft(_ merge: MergeRow) async throws {
        let rows = try await query(
            """
            INSERT INTO identities AS made (tenant_id, id, user_id, provider, issuer, subject, email,
                email_verified, created_at, last_used_at, tenants_word, alias_count,
                linked_by_type, linked_by_id, email_vouched)
            SELECT m.tenant_id, i.id, i.user_id, i.provider, i.issuer, i.subject, i.email,
                i.email_verified, i.created_at, i.last_used_at, i.tenants_word, i.alias_count,
                i.linked_by_type, i.linked_by_id, i.email_vouched
            FROM user_merges m,
                jsonb_populate_recordset(NULL::identities, m.left_identities) AS i
            WHERE m.tenant_id = \(tenant) AND m.id = \(merge.id)
            ON CONFLICT DO NOTHING RETURNING id, provider, issuer, subject
            """)
        for row in rows {
            let key = database.personKey(
                provider: try row.get(1), issuer: try row.get(2), subject: try row.get(3))
            try await query("SELECT directory_add_person(\(key))")
        }
        try await query(
            """
            INSERT INTO identity_aliases (tenant_id, pool, alias, identity_id, created_at)
            SELECT m.tenant_id, a.pool, a.alias, a.identity_id, a.created_at FROM user_merges m,
                jsonb_populate_recordset(NULL::identity_aliases, m.left_aliases) AS a
            WHERE m.tenant_id = \(tenant) AND m.id = \(merge.id) AND EXISTS (
                SELECT 1 FROM identities i WHERE i.tenant_id = \(tenant) AND i.id = a.identity_id)
            ON CONFLICT DO NOTHING
            """)
        let ids = try rows.all(Self.id)
        try await query(
            "DELETE FROM former_identities WHERE tenant_id = \(tenant) AND id = ANY (\(ids))")
    }

    /// Takes from the winner what came only from the loser: the active status, the time of the last
    /// sign-in, and the exemption from the inactivity rule.
    private func settle(
        _ winner: UserRow, without loser: UserRow, _ merge: MergeRow
    ) async throws(PostgresError) {
        try await query(
            """
            UPDATE users u SET version = u.version + 1, updated_at = \(now),
                keep = u.keep AND (m.winner_kept OR NOT \(loser.isKept)),
                status = CASE WHEN u.status = 'active' AND m.winner_status = 'pending'
                    AND u.password_changed_at IS NULL AND NOT EXISTS (
                        SELECT 1 FROM identities i WHERE i.tenant_id = \(tenant)
                            AND i.user_id = u.id AND i.created_at > m.created_at)
                    THEN m.winner_status ELSE u.status END,
                last_sign_in_at = CASE WHEN u.last_sign_in_at
                    IS NOT DISTINCT FROM \(loser.lastSignInAt)::timestamptz
                    THEN m.winner_signed_in_at ELSE u.last_sign_in_at END
            FROM user_merges m
            WHERE u.tenant_id = \(tenant) AND u.id = \(winner.id)
                AND m.tenant_id = \(tenant) AND m.id = \(merge.id)
            """)
    }

    private func markUndone(
        _ merge: MergeRow, _ winner: UserRow, _ loser: UserRow, _ ended: EndedAccess
    ) async throws -> MergeRow {
        var changes = AuditChanges()
        changes.add("merged_into", winner.id.description, nil)
        if loser.status == .suspended { changes.add("status", loser.statusBefore, loser.status) }
        try await audit(.userMergeUndone, loser.target, changes)
        changes = AuditChanges()
        changes.add("merged_ids", loser.id.description, nil)
        changes.add("ended", .null, ended.document)
        try await audit(.userMergeUndone, winner.target, changes)
        return try await query(
            """
            UPDATE user_merges SET status = 'undone', left_identities = '[]', left_aliases = '[]',
                addresses = '{}', winner_email_key = NULL, ended = \(JSONB(ended.document))
            WHERE tenant_id = \(tenant) AND id = \(merge.id) RETURNING \(MergeRow.columns)
            """
        ).only(MergeRow.init)
    }
}
