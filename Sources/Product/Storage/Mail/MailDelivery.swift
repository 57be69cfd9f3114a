import Domain
import Postgres
import Text

/// What became of the mail of an invite. A later mail of the invite has another id, so nothing that
/// is learned of the earlier one counts.
extension Change {
    /// The mail server took or refused the mail. Does nothing if a report came first.
    func showSending(_ mail: UUID, of invite: UUID, refused words: String?) async throws {
        guard let words else {
            try await query(
                """
                UPDATE invites SET delivery_status = 'sent', version = version + 1
                WHERE tenant_id = \(tenant) AND id = \(invite) AND mail_id = \(mail)
                    AND delivery_status = 'queued'
                """)
            return
        }
        let shown = try await show(.refused, words, mail, of: invite, "delivery_status = 'queued'")
        if let shown { try await audit(.inviteMailRefused, shown.target, shown.changes) }
    }

    /// `report` nil: the message was none.
    package func take(
        _ report: DeliveryReport?, to token: String
    ) async throws -> BounceResult {
        let rows = try await query(
            """
            SELECT id, about, kind FROM mail
            WHERE tenant_id = \(tenant) AND return_token = \(token)
            """)
        guard let row = rows.first else { return .unknown }
        guard let report, report.action != .other else { return .ignored }
        let (mail, invite): (UUID, UUID) = (try row.get(0), try row.get(1))
        // A mail that comes back at once may do so before we know that the mail server took it.
        let isOpen: SQL =
            "\(SQL.unindexed("status")) = 'pending' AND delivery_status IN ('queued', 'sent')"
        if report.action == .delayed {
            let shown = try await show(.sent, report.words, mail, of: invite, isOpen)
            return shown == nil ? .outdated : .delayed
        }
        guard let shown = try await show(.bounced, report.words, mail, of: invite, isOpen) else {
            return .outdated
        }
        try await audit(.inviteMailBounced, shown.target, shown.changes)
        return .bounced
    }

    /// nil if the invite's last mail is another one, or the condition does not hold. `updated_at`
    /// stays: no caller changed the invite.
    private func show(
        _ status: Invite.DeliveryStatus, _ words: String, _ mail: UUID, of invite: UUID,
        _ condition: SQL
    ) async throws -> (target: AuditTarget, changes: AuditChanges)? {
        let rows = try await query(
            """
            UPDATE invites v SET delivery_status = \(status.rawValue), delivery_detail = \(words),
                version = v.version + 1
            FROM (SELECT id, delivery_status AS before FROM invites
                WHERE tenant_id = \(tenant) AND id = \(invite) AND mail_id = \(mail)
                    AND \(condition) FOR UPDATE) AS was
            WHERE v.tenant_id = \(tenant) AND v.id = was.id
            RETURNING v.id, v.email, was.before
            """)
        guard let row = rows.first else { return nil }
        var changes = AuditChanges()
        changes.add("delivery_status", try row.get(2, as: String.self), status.rawValue)
        return (AuditTarget("invite", try row.get(0), try row.get(1)), changes)
    }
}
