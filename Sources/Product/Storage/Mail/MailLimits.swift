import Cryptography
import Domain
import Postgres
import Text

/// A mail is not sent because a limit is reached.
package struct MailLimitReached: Error, Sendable {
    /// One sentence for the caller.
    package var detail: String
    package var limit: Int
    /// Seconds until a mail may be sent again.
    package var seconds: Int64
}

/// How many mails a tenant may cause per hour. They carry a sender's name and a text of its choice
/// from the server's own domain, to addresses that never asked for them.
package enum MailLimit {
    package static let seconds: Int64 = 3600
    /// About one invite.
    package static let ofInvite = 5
    /// To one address, of one tenant.
    package static let ofRecipient = 10
    /// To one address, of all tenants together.
    package static let ofRecipientInAll = 50
    /// Of one tenant, to all addresses together.
    package static let ofTenant = 20_000
}

extension Database {
    /// Identifies an address in the mail table without revealing it.
    func recipient(_ address: String) -> [UInt8] {
        let key = (try? EmailAddress(address, allowSingleLabel: true))?.key ?? address
        return SHA256.authenticate(Array("mail \(key)".utf8), key: directoryKey)
    }
}

extension Change {
    /// How many mails of the kind the tenant may still cause within this hour. Ask once for a whole
    /// list, and count down: the transaction's own mails are not included.
    package func mailsLeft(_ kind: OutgoingMail.Kind) async throws(PostgresError) -> Int {
        let sent =
            try await query(
                """
                SELECT count(*) FROM (SELECT 1 FROM mail WHERE tenant_id = \(tenant)
                    AND kind = \(kind.rawValue) AND created_at > \(now.adding(seconds: -MailLimit.seconds))
                    LIMIT \(MailLimit.ofTenant)) AS sent
                """
            ).first?.get(0, as: Int.self) ?? 0
        return MailLimit.ofTenant - sent
    }

    /// Throws `MailLimitReached` if a mail of the kind to the address exceeds a limit. `thing`: the
    /// object of the mail, nil if it does not exist yet. `left`: as in `mailsLeft`.
    package func checkMail(
        _ kind: OutgoingMail.Kind, to address: String, about thing: UUID?, left: Int,
        in database: Database
    ) async throws {
        guard left > 0 else {
            throw MailLimitReached(
                detail: "The tenant has sent as many mails as it may within an hour.",
                limit: MailLimit.ofTenant, seconds: MailLimit.seconds)
        }
        let since = now.adding(seconds: -MailLimit.seconds)
        let recipient: SQL = "recipient = \(database.recipient(address))"
        let own: SQL = " AND tenant_id = \(tenant)"
        func sent(_ which: SQL) -> SQL {
            // The kind stands apart, so that all mails of the kind are not read to find these.
            """
            SELECT created_at FROM (SELECT created_at, kind FROM mail
                WHERE \(which) AND created_at > \(since) OFFSET 0) AS sent
            WHERE kind = \(kind.rawValue)
            """
        }
        let full = "This address was sent as many mails as one may be within an hour."
        try await check(sent(recipient + own), MailLimit.ofRecipient, full)
        try await check(sent(recipient), MailLimit.ofRecipientInAll, full, database.platform.read)
        if let thing {
            let often = "This was mailed as often as it may be within an hour."
            try await check(sent("about = \(thing)" + own), MailLimit.ofInvite, often)
        }
    }

    /// The newest `limit` of the mails: the oldest of them has to leave the hour first.
    private func check(
        _ mails: SQL, _ limit: Int, _ detail: String, _ read: ((SQL) async throws -> Rows)? = nil
    ) async throws {
        let last = mails + " ORDER BY created_at DESC OFFSET \(limit - 1) LIMIT 1"
        let rows = if let read { try await read(last) } else { try await query(last) }
        guard let first: Timestamp = try rows.first?.get(0) else { return }
        let end = first.adding(seconds: MailLimit.seconds)
        throw MailLimitReached(
            detail: detail, limit: limit,
            seconds: max(1, (end.microseconds - now.microseconds + 999_999) / 1_000_000))
    }
}
