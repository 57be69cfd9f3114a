import Domain
import JSON
import Postgres
import Text

/// The access that the undo of a merge ended. It was created for the winner after the merge,
/// possibly by the loser's person.
package struct EndedAccess: Sendable {
    /// Keys that were created or rotated after the merge, and all keys that were created by means
    /// of these keys.
    var keys: [UUID] = []
    var sessions = 0
    var linkGrants = 0
    var passwordLinks = 0
    /// Whether a pending change of the address was cancelled.
    var emailChange = false
    var password = false
    var pin = false

    init() {}

    init(_ document: JSONValue) {
        func count(_ name: String) -> Int { document[name]?.int ?? 0 }
        func flag(_ name: String) -> Bool { document[name]?.bool ?? false }
        keys = document["keys"]?.array?.compactMap { $0.string.flatMap { UUID($0) } } ?? []
        (sessions, linkGrants) = (count("sessions"), count("link_grants"))
        passwordLinks = count("password_links")
        (emailChange, password, pin) = (flag("email_change"), flag("password"), flag("pin"))
    }

    package var document: JSONValue {
        .object([
            .init("keys", .array(keys.map { .string($0.description) })),
            .init("sessions", .int(sessions)), .init("link_grants", .int(linkGrants)),
            .init("password_links", .int(passwordLinks)),
            .init("email_change", .bool(emailChange)), .init("password", .bool(password)),
            .init("pin", .bool(pin)),
        ])
    }
}

/// Ends access that was created for the winner between a merge and its undo, since the loser's
/// person may have created it. This includes keys that the merge moved to the winner and that were
/// rotated after the merge.
extension Change {
    /// The reasons why the merge cannot be undone yet: sign-ins that were added since the merge, a
    /// changed address, and a deletion of the winner. Only a person can say to whom a new sign-in
    /// or address belongs. A sign-in that an operator linked is not a reason, since a person has
    /// decided about it already.
    func accessToJudge(_ merge: MergeRow, _ winner: UserRow) async throws -> [UndoConflict.Reason] {
        let rows = try await query(
            """
            SELECT '/winner/identities/' || i.id, 'The sign-in came since the merge: unlink it, and '
                || 'link it to whom it belongs after the undo.'
            FROM identities i, user_merges m
            WHERE i.tenant_id = \(tenant) AND i.user_id = \(winner.id)
                AND i.created_at >= m.created_at AND NOT i.id = ANY (m.identities)
                AND i.provider <> \(ProviderKind.password.rawValue)
                AND i.linked_by_type IS DISTINCT FROM 'operator'
                AND m.tenant_id = \(tenant) AND m.id = \(merge.id)
            UNION ALL SELECT '/winner/email', 'The address was changed since; change it back first.'
            FROM user_merges m WHERE m.tenant_id = \(tenant) AND m.id = \(merge.id)
                AND m.winner_email_key <> \(winner.emailKey)
            """)
        var reasons = try rows.all { row throws(PostgresError) in
            UndoConflict.Reason(pointer: try row.get(0), detail: try row.get(1))
        }
        if winner.status == .deleted {
            reasons.append(
                .init(
                    pointer: "/winner/status",
                    detail: "The winner has been deleted since the merge; restore the winner "
                        + "first."))
        }
        return reasons
    }

    /// Ends all access to the winner's account that was created since the merge, except what
    /// `accessToJudge` reports. Must be called after the moved keys were given back to the loser.
    func endAccess(
        to winner: UserRow, since merge: MergeRow
    ) async throws -> EndedAccess {
        var ended = EndedAccess()
        ended.keys = try await revokeKeys(since: merge)
        ended.password = try await endPassword(of: winner, since: merge)
        ended.pin = try await endPin(of: winner, since: merge)
        try await endLinks(of: winner, since: merge, &ended)
        ended.sessions = try await query(
            """
            DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(winner.id)
                AND created_at >= \(merge.createdAt)
            """
        ).affected
        try await query(
            """
            DELETE FROM known_devices WHERE tenant_id = \(tenant) AND user_id = \(winner.id)
                AND last_at >= \(merge.createdAt)
            """)
        return ended
    }

    /// Returns the ids of the keys that were created or rotated since the merge. It does not matter
    /// which of the two persons created or rotated a key, since both may know its secret.
    private func keys(since merge: MergeRow) async throws -> [UUID] {
        try await query(
            """
            SELECT k.id FROM api_keys k WHERE k.tenant_id = \(tenant) AND k.revoked_at IS NULL
                AND (k.owner_user_id = \(merge.winner) AND k.created_at >= \(merge.createdAt)
                    OR (k.owner_user_id = \(merge.winner)
                        OR k.id = ANY (\(merge.keys.map(\.id))::uuid[]))
                        AND EXISTS (SELECT 1 FROM audit_events e
                            WHERE e.tenant_id = \(tenant) AND e.target_id = k.id::text
                                AND e.action = \(AuditAction.apiKeyRotated.rawValue)
                                AND e.occurred_at >= \(merge.createdAt)))
            ORDER BY k.id
            """
        ).all(Self.id)
    }

    private func revokeKeys(since merge: MergeRow) async throws -> [UUID] {
        let reason = "The merge \(merge.id) was undone."
        for id in try await keys(since: merge) {
            let key = try await lockAPIKey(id)
            _ = try await revokeWithMade(key, reason: reason, permit: { _ in })
        }
        return try await query(
            """
            SELECT id FROM api_keys WHERE tenant_id = \(tenant) AND revoked_at = \(now)
                AND revocation_reason = \(reason) ORDER BY id
            """
        ).all(Self.id)
    }

    /// Removes the winner's password if it was set after the merge; returns whether it was. A
    /// password that it replaced cannot be restored, but the winner can set a new password by mail.
    private func endPassword(
        of winner: UserRow, since merge: MergeRow
    ) async throws -> Bool {
        let ended = try await query(
            """
            UPDATE users u SET password_hash = NULL, must_change_password = false,
                password_awaited = coalesce(m.winner_had_password, true),
                password_changed_at = CASE WHEN m.winner_had_password IS FALSE THEN NULL
                    ELSE u.password_changed_at END
            FROM user_merges m
            WHERE u.tenant_id = \(tenant) AND u.id = \(winner.id) AND u.password_hash IS NOT NULL
                AND u.password_changed_at >= m.created_at
                AND m.tenant_id = \(tenant) AND m.id = \(merge.id)
            """)
        try await removePasswordSignIns(of: winner, since: merge)
        return ended.affected > 0
    }

    /// Removes the winner's password identity if it was created after the merge.
    private func removePasswordSignIns(
        of winner: UserRow, since merge: MergeRow
    ) async throws {
        for identity in winner.identities
        where identity.provider == ProviderKind.password.rawValue
            && identity.createdAt >= merge.createdAt
        {
            try await query(
                "DELETE FROM identities WHERE tenant_id = \(tenant) AND id = \(identity.id)")
            try await invalidate(identity)
        }
    }

    /// Removes the winner's PIN if it was set after the merge; returns whether it was. A PIN that
    /// it replaced cannot be restored, but the winner can set a new PIN without it.
    private func endPin(of winner: UserRow, since merge: MergeRow) async throws -> Bool {
        let ended = try await query(
            """
            UPDATE users SET pin_hash = NULL
            WHERE tenant_id = \(tenant) AND id = \(winner.id) AND pin_hash IS NOT NULL
                AND EXISTS (SELECT 1 FROM audit_events e
                    WHERE e.tenant_id = \(tenant) AND e.target_id = \(winner.id.description)
                        AND e.action = \(AuditAction.userPinSet.rawValue)
                        AND e.occurred_at >= \(merge.createdAt))
            """)
        if ended.affected == 0 { return false }
        // Ends the elevation also of sessions from before the merge, since the new PIN may have
        // elevated them.
        try await query(
            """
            UPDATE sessions SET elevated_until = NULL
            WHERE tenant_id = \(tenant) AND user_id = \(winner.id)
            """)
        try await audit(.userPinRemoved, winner.target)
        return true
    }

    private func endLinks(
        of winner: UserRow, since merge: MergeRow, _ ended: inout EndedAccess
    ) async throws {
        ended.linkGrants = try await query(
            """
            DELETE FROM link_grants WHERE tenant_id = \(tenant) AND user_id = \(winner.id)
                AND used_at IS NULL AND created_at >= \(merge.createdAt)
            """
        ).affected
        ended.passwordLinks = try await query(
            """
            UPDATE password_resets SET used_at = \(now)
            WHERE tenant_id = \(tenant) AND user_id = \(winner.id) AND used_at IS NULL
                AND created_at >= \(merge.createdAt)
            """
        ).affected
        if ended.passwordLinks > 0 { try await dropMail(.passwordReset, about: winner.id) }
        ended.emailChange = try await endEmailChange(of: winner, since: merge)
    }

    private func endEmailChange(
        of winner: UserRow, since merge: MergeRow
    ) async throws -> Bool {
        let changes = try await query(
            """
            SELECT 1 FROM email_changes WHERE tenant_id = \(tenant) AND user_id = \(winner.id)
                AND created_at >= \(merge.createdAt)
            """)
        if changes.isEmpty { return false }
        try await cancelEmailChange(of: winner)
        return true
    }
}
