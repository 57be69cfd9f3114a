import Cryptography
import Domain
import Postgres
import Text

/// Thrown when a mail is not sent because a limit was reached.
package struct MailLimitReached: Error, Sendable {
    /// One sentence for the caller.
    var detail: String
    var limit: Int
    /// Seconds until a mail may be sent again.
    var seconds: Int64
}

/// Limits of mails per hour. They matter because anyone may be a recipient: a mail comes from the
/// server's own domain, but a tenant chooses the sender's name and the text.
package enum MailLimit {
    static let seconds: Int64 = 3600
    /// The maximum number of mails of one kind that one tenant may send in an hour, to all
    /// addresses together.
    package static let ofTenant = 20_000
    /// The maximum number of mails of the kinds in `MailPot.asks` from one tenant to one address in
    /// an hour.
    static let asksOfTenant = 4
    /// The maximum number of mails of the kinds in `MailPot.asks` from all tenants together to one
    /// address in an hour.
    static let asks = 8
    /// The maximum number of mails of the kinds in `MailPot.ownAsks` from all tenants together to
    /// one address in an hour.
    static let ownAsks = 4
    /// The number of notices to one address in an hour that are sent without delay. Further notices
    /// are collected into one mail.
    static let notices = 3
    /// Seconds for which a mail that collects notices waits for further notices. This wait and the
    /// sender's pause together take less than ten minutes.
    static let foldingSeconds: Int64 = 540
    /// The maximum number of notices whose text is in a mail that collects notices. Further notices
    /// are only counted.
    static let foldedNotices = 20
    /// The reason that is shown when a mail is not sent because its address has reached a limit.
    /// The text is the same for every limit.
    static let words = "too many mails to this address"
}

/// A group of mail kinds that share one count per recipient and hour. The counts are independent,
/// so that neither a tenant's invites nor a stranger's requests use up the limit of the notices.
enum MailPot: Sendable {
    /// Mails by which tenants and operators ask something of a person.
    case asks
    /// Mails that anyone can request by claiming to be the person.
    case ownAsks
    /// Mails that tell a person what they must know about their account. These mails are never
    /// dropped.
    case notices

    var kinds: [String] {
        OutgoingMail.Kind.allCases.filter { $0.pot == self }.map(\.rawValue)
    }
}

extension Database {
    /// Returns a keyed hash, which identifies an address in the mail table without revealing it.
    func recipient(_ address: String) -> [UInt8] {
        let key = (try? EmailAddress(address, allowSingleLabel: true))?.key ?? address
        return SHA256.authenticate(Array("mail \(key)".utf8), key: directoryKey)
    }
}

extension Change {
    /// The number of mails of this kind that the tenant may still send within this hour. A caller
    /// that sends a list of mails calls this once and then counts down by itself.
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

    /// Throws `MailLimitReached` if the tenant may send no more mail in this hour. `left` is a
    /// value from `mailsLeft`, which the caller has counted down.
    package func checkMail(left: Int) throws(MailLimitReached) {
        guard left > 0 else {
            throw MailLimitReached(
                detail: "The tenant has sent as many mails as it may within an hour.",
                limit: MailLimit.ofTenant, seconds: MailLimit.seconds)
        }
    }

    /// Whether a mail of this kind to this address would be sent now. Locks the address until the
    /// transaction ends: another transaction that calls this function for the same address waits,
    /// and then also counts the mails of this transaction.
    func hasRoom(
        _ kind: OutgoingMail.Kind, to address: String
    ) async throws -> Bool {
        let recipient = database.recipient(address)
        let lock = recipient.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        try await query("SELECT pg_advisory_xact_lock(\(lock))")
        let pot = kind.pot
        let own = try await query(sent(pot, to: recipient, "tenant_id = \(tenant)"))
            .only { row throws(PostgresError) in try row.get(0, as: Int.self) }
        if pot == .asks, own >= MailLimit.asksOfTenant { return false }
        // A notice of the platform to an operator is not delayed by what tenants send to the
        // address.
        var others = 0
        if pot != .notices || tenant != .platform {
            others = try await database.platform.read(
                sent(pot, to: recipient, "tenant_id <> \(tenant)")
            ).only { row throws(PostgresError) in try row.get(0, as: Int.self) }
        }
        let most =
            switch pot {
            case .asks: MailLimit.asks
            case .ownAsks: MailLimit.ownAsks
            case .notices: MailLimit.notices
            }
        return own + others < most
    }

    /// Returns SQL that counts the mails of the pot to the address within the last hour. The
    /// subquery finds mails by their recipient, and only the outer query filters them by kind:
    /// otherwise PostgreSQL would read all mails of a kind.
    private func sent(_ pot: MailPot, to recipient: [UInt8], _ whose: SQL) -> SQL {
        """
        SELECT count(*) FROM (SELECT kind, failure FROM mail
            WHERE \(whose) AND recipient = \(recipient)
                AND created_at > \(now.adding(seconds: -MailLimit.seconds)) OFFSET 0) AS sent
        WHERE kind = ANY (\(pot.kinds)) AND kind <> 'notices'
            AND failure IS DISTINCT FROM 'folded'
        """
    }
}
