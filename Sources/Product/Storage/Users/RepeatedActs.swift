import Domain
import Postgres
import Text

/// An act that finds what it wants to be so already.
extension Change {
    /// A retry changes nothing. An act of another actor, with another reason, or by hand after a job,
    /// is one of its own: it is audited and raises the version, so that the undo of the earlier one
    /// leaves the user. `orFirst`: also if the audit log has no earlier one.
    package func actAgain(
        on row: UserRow, _ action: AuditAction, reason: String?, orFirst: Bool = false
    ) async throws -> UserRow {
        guard try await isRetry(on: row, action, reason) ?? !orFirst else {
            let rows = try await query(
                """
                UPDATE users SET version = version + 1, updated_at = \(now)
                WHERE tenant_id = \(tenant) AND id = \(row.id)
                RETURNING \(UserRow.columns(of: tenant))
                """)
            var changes = AuditChanges()
            changes.add("reason", nil, reason)
            try await audit(action, row.target, changes)
            return try rows.only(UserRow.init)
        }
        alreadyApplied()
        return row
    }

    /// Nil if the audit log has no such act. What no request caused, a job did.
    private func isRetry(
        on row: UserRow, _ action: AuditAction, _ reason: String?
    ) async throws -> Bool? {
        try await query(
            """
            SELECT actor_type = \(actor.type) AND actor_id = \(actor.id)
                AND (request_id = '') = \(actor.requestID.isEmpty)
                AND changes->'reason'->>1 IS NOT DISTINCT FROM \(reason ?? actor.reason)::text
            FROM audit_events
            WHERE tenant_id = \(tenant) AND target_id = \(row.id.description)
                AND target_type = 'user' AND action = \(action.rawValue)
            ORDER BY occurred_at DESC, id DESC LIMIT 1
            """
        ).first?.get(0)
    }
}
