import Domain
import Postgres
import Text

extension Change {
    /// Seconds for which the mail may wait for the mail server.
    private static let warningSeconds: Int64 = 7 * 86_400

    /// How many users may still be warned within this hour. Ask once for a batch, and count down.
    package func warningsLeft(in database: Database) async throws(PostgresError) -> Int {
        database.sendsMail ? try await mailsLeft(.inactivityWarning) : Int.max
    }

    /// The mail server never took the warning's mail: the user has to be warned again.
    func noteUnsentWarning(of user: UUID) async throws(PostgresError) {
        try await query(
            """
            UPDATE inactive_users SET by_mail = false
            WHERE tenant_id = \(tenant) AND user_id = \(user)
            """)
    }

    /// Warns the user by mail, or notes that there is no mail server; whether the mail is sent.
    /// `suspension`: when the account is suspended at the earliest; nil: never. `left`: as in
    /// `warningsLeft`. Throws `MailLimitReached`.
    package func warnOfInactivity(
        _ row: UserRow, suspension: Timestamp?, left: Int, in database: Database
    ) async throws -> Bool {
        if database.sendsMail {
            let kind = OutgoingMail.Kind.inactivityWarning
            try checkMail(left: left)
            guard try await hasRoom(kind, to: row.email, in: database) else {
                throw MailLimitReached(
                    detail: "Not warned: \(MailLimit.words).", limit: MailLimit.asks,
                    seconds: MailLimit.seconds)
            }
            try await post(
                OutgoingMail(
                    kind, to: row.email, tenantName: try await tenantName(),
                    message: suspension.map { String($0.description.prefix(10)) },
                    expiresAt: now.adding(seconds: Self.warningSeconds)),
                about: row.id, in: database)
        }
        try await query(
            """
            INSERT INTO inactive_users (tenant_id, user_id, warned_at, by_mail)
            VALUES (\(tenant), \(row.id), \(now), \(database.sendsMail))
            ON CONFLICT (tenant_id, user_id)
                DO UPDATE SET warned_at = excluded.warned_at, by_mail = excluded.by_mail
            """)
        var changes = AuditChanges()
        changes.add("by_mail", nil, database.sendsMail ? "true" : "false")
        try await audit(.userInactivityWarned, row.target, changes)
        return database.sendsMail
    }
}
