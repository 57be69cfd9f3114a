import Domain
import Postgres
import Text

/// An operator's answer to a person who asked to join and is waiting.
extension Change {
    /// The maximum number of characters of the text that an operator adds to an answer.
    package static let answerReasonLimit = 500
    /// Seconds for which a mail with the answer may wait to be sent.
    private static let answerMailSeconds: Int64 = 7 * 86_400

    /// Admits a person who waits for approval.
    package func approveUser(_ row: UserRow, reason: String? = nil) async throws -> UserRow {
        if row.status == .active { return row }
        try requireWaiting(row)
        return try await setStatus(
            row, .active, before: nil, action: .userApproved, reason: reason)
    }

    /// Declines a person who waits. The row stays as that of a deleted user and can be restored.
    /// The person may ask again after `Provisioning.deletedFor` seconds. If the person was declined
    /// already, nothing changes.
    package func declineUser(_ row: UserRow, reason: String?) async throws -> UserRow {
        if row.status == .deleted, try await isDeclined(row) {
            alreadyApplied()
            return row
        }
        try requireWaiting(row)
        try await endAccess(of: row)
        return try await setStatus(
            row, .deleted, before: .pending, action: .userDeclined, reason: reason)
    }

    /// Whether a deleted user is a person who was declined while waiting, and so was never
    /// admitted.
    func isDeclined(_ row: UserRow) async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            SELECT 1 FROM users
            WHERE tenant_id = \(tenant) AND id = \(row.id) AND declined_at IS NOT NULL
            """)
        return !rows.isEmpty
    }

    private func requireWaiting(_ row: UserRow) throws {
        guard row.status == .pending, [.approval, .signUp].contains(row.source) else {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: row.status == .pending
                    ? "The user is not waiting for approval." : "The user is \(row.status).",
                id: nil)
        }
    }

    /// Mails the answer to the person. `reason` is the operator's plain text. If the mail limits
    /// are reached, no mail is sent, but the answer is still valid.
    package func tellOfAnswer(
        to row: UserRow, _ kind: OutgoingMail.Kind, reason: String? = nil
    ) async throws {
        do {
            try checkMail(left: try await mailsLeft(kind))
        } catch is MailLimitReached { return }
        try await post(
            OutgoingMail(
                kind, to: row.email, tenantName: try await tenantName(), message: reason,
                expiresAt: now.adding(seconds: Self.answerMailSeconds)),
            about: row.id)
    }
}
