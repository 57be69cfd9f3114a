import Cryptography
import Domain
import Postgres
import Text

/// A due mail that this replica has leased in order to send it.
package struct DueMail: Sendable {
    package var id: UUID
    var tenant: UUID
    var about: UUID
    /// The number of attempts to send it, including the current one.
    package var attempts: Int
    /// Identifies the mail in its return address, to which the mail bounces; `nil` if the return
    /// address is the sender's own.
    package var returnToken: String?
    package var mail: OutgoingMail
}

extension Change {
    /// Queues a mail, which is sent if this transaction commits. The new mail replaces waiting
    /// mails of the same kind about the same object, since their links are no longer valid. If the
    /// recipient's limit per hour is reached, returns false and queues nothing; an invite then
    /// shows that its mail was not sent. A notice is never refused: beyond the limit, it is
    /// collected into a later mail. If the object or one of `people` is purged, the mail is
    /// dropped. `known` is the mail's id if the object stores that id; then delivery reports are
    /// expected.
    @discardableResult
    package func post(
        _ mail: OutgoingMail, about thing: UUID, of people: [UUID] = [], as known: UUID? = nil
    ) async throws -> Bool {
        try await dropMail(mail.kind, about: thing)
        let id = known ?? .random()
        guard try await hasRoom(mail.kind, to: mail.to) else {
            if mail.kind.pot == .notices {
                try await fold(mail, of: people + [thing])
                return true
            }
            if mail.kind == .invite {
                try await showSending(id, of: thing, refused: MailLimit.words)
            }
            return false
        }
        try await queue(
            mail, id, about: thing, of: people, isExpected: known != nil, at: now)
        return true
    }

    /// Adds the notice to the waiting mail that collects notices. If no such mail waits, queues a
    /// new one.
    private func fold(
        _ mail: OutgoingMail, of people: [UUID]
    ) async throws {
        if !mail.link.isEmpty {
            // Also stores the collected notice as a mail that is already finished, so that it
            // counts towards the limit of its kind.
            try await query(
                """
                INSERT INTO mail (tenant_id, id, kind, about, recipient, created_at, ended_at,
                    failure)
                SELECT anchor.id, \(UUID.random()), \(mail.kind.rawValue), \(UUID.random()),
                    \(database.recipient(mail.to)), \(now), \(now), 'folded'
                FROM \(SQL.anchor(of: tenant)) WHERE anchor.id = \(tenant)
                """)
        }
        let rows = try await query(
            """
            SELECT about FROM mail WHERE tenant_id = \(tenant)
                AND recipient = \(database.recipient(mail.to))
                AND created_at > \(now.adding(seconds: -MailLimit.seconds)) AND kind = 'notices'
                AND next_at > \(now) AND attempts = 0 LIMIT 1 FOR UPDATE
            """)
        guard let about: UUID = try rows.first?.get(0) else {
            var folded = OutgoingMail(
                .notices, to: mail.to, tenantName: mail.tenantName, expiresAt: mail.expiresAt)
            folded.parts = [mail]
            return try await queue(
                folded, .random(), about: .random(), of: people, isExpected: false,
                at: now.adding(seconds: MailLimit.foldingSeconds))
        }
        try await rewriteMail(.notices, about: about) { folded in
            if folded.parts.count < MailLimit.foldedNotices {
                folded.parts.append(mail)
            } else {
                folded.message = "\((folded.message.flatMap { Int($0) } ?? 0) + 1)"
            }
            folded.expiresAt = max(folded.expiresAt, mail.expiresAt)
        }
        try await query(
            """
            UPDATE mail SET people = ARRAY(
                SELECT DISTINCT unnest(people || \(people)::uuid[]))
            WHERE tenant_id = \(tenant) AND about = \(about) AND kind = 'notices'
            """)
    }

    private func queue(
        _ mail: OutgoingMail, _ id: UUID, about thing: UUID, of people: [UUID], isExpected: Bool,
        at due: Timestamp
    ) async throws {
        let token = !isExpected ? nil : ReturnToken.make(locator: try await locator())
        let sealed = try database.seal(mail.bytes, .mail, of: tenant, row: id)
        let isUrgent = mail.kind.isUrgent
        let step = isUrgent ? Database.urgentMailStep : Database.mailStep
        try await query(
            """
            INSERT INTO mail (tenant_id, id, kind, about, letter, recipient, urgent, turn, next_at,
                created_at, return_token, people)
            SELECT anchor.id, \(id), \(mail.kind.rawValue), \(thing), \(sealed),
                \(database.recipient(mail.to)), \(isUrgent), greatest(\(now), (
                    SELECT max(turn) FROM mail WHERE tenant_id = \(tenant) AND urgent = \(isUrgent)
                        AND next_at IS NOT NULL) + \(step) * interval '1 second'), \(due), \(now), \(token),
                nullif(\(people)::uuid[], '{}')
            FROM \(SQL.anchor(of: tenant)) WHERE anchor.id = \(tenant)
            """)
    }

    /// Changes the content of waiting mails of this kind about this object. The links in these
    /// mails stay valid.
    func rewriteMail(
        _ kind: OutgoingMail.Kind, about thing: UUID,
        _ edit: (inout OutgoingMail) -> Void
    ) async throws {
        let rows = try await query(
            """
            SELECT id, letter FROM mail WHERE tenant_id = \(tenant) AND about = \(thing)
                AND kind = \(kind.rawValue) AND next_at IS NOT NULL FOR UPDATE
            """)
        for row in rows {
            let id: UUID = try row.get(0)
            let plain = try database.open(row.get(1, as: [UInt8].self), .mail, of: tenant, row: id)
            guard var mail = OutgoingMail(kind, plain) else { continue }
            edit(&mail)
            let sealed = try database.seal(mail.bytes, .mail, of: tenant, row: id)
            try await query(
                "UPDATE mail SET letter = \(sealed) WHERE tenant_id = \(tenant) AND id = \(id)")
        }
    }

    /// Returns the name of the tenant in which this change is made.
    package func tenantName() async throws -> String {
        try await query("SELECT name FROM tenants WHERE id = \(tenant)").only {
            (row) throws(PostgresError) in try row.get(0)
        }
    }

    /// Drops waiting mails of this kind about this object.
    func dropMail(_ kind: OutgoingMail.Kind, about thing: UUID) async throws(PostgresError) {
        try await query(
            """
            UPDATE mail SET letter = NULL, next_at = NULL, ended_at = \(now), failure = 'dropped'
            WHERE tenant_id = \(tenant) AND about = \(thing) AND kind = \(kind.rawValue)
                AND next_at IS NOT NULL
            """)
    }
}

extension Database {
    /// Seconds for which a replica leases a mail; after a crash another replica takes the mail once
    /// the lease is over.
    static let mailLease: Int64 = 300
    package static let mailBatch = 5
    /// How many senders, across all replicas, can find mail for a batch at the same moment.
    static let mailTakers = 8
    package static let mailAttempts = 8
    /// Seconds by which each mail of a tenant delays the tenant's next mail in the queue. It is
    /// longer than sending a mail takes, so that a tenant with many mails always queues behind a
    /// tenant with few.
    static let mailStep: Int64 = 60
    static let urgentMailStep: Int64 = 1

    /// Leases due mails in the order of the queue. No other replica takes these mails until the
    /// lease is over.
    package func takeDueMail() async throws -> [DueMail] {
        let now = clock()
        var found: [DueMail] = []
        for (id, tenant) in try await dueMail(at: now) where found.count < Self.mailBatch {
            let taken = try await app.query(
                """
                UPDATE mail SET attempts = attempts + 1,
                    next_at = \(now.adding(seconds: Self.mailLease))
                WHERE tenant_id = \(tenant) AND id = \(id) AND next_at <= \(now)
                RETURNING kind, about, letter, attempts, return_token
                """)
            // Skips a mail that another sender has taken in the meantime.
            guard let row = taken.first else { continue }
            let sealed: [UInt8]? = try row.get(2)
            let plain = try? open(sealed ?? [], .mail, of: tenant, row: id)
            let (kind, about) = (
                OutgoingMail.Kind(rawValue: try row.get(0)), try row.get(1, as: UUID.self)
            )
            guard let kind, let plain, let mail = OutgoingMail(kind, plain) else {
                try await endMail(
                    id, kind, about: about, of: tenant,
                    failure: "unreadable: sealed under another key",
                    words: "The mail could not be read any more; send it again.")
                continue
            }
            found.append(
                DueMail(
                    id: id, tenant: tenant, about: about, attempts: try row.get(3),
                    returnToken: try row.get(4), mail: mail))
        }
        return found
    }

    /// The ids of due mails with their tenants, in the order of the queue. If few mails are due,
    /// only the due mails are read: a scan in the order of the queue would also read all mails that
    /// wait for a later attempt.
    private func dueMail(at now: Timestamp) async throws(PostgresError) -> [(UUID, UUID)] {
        let few = try await platform.read(
            """
            SELECT id, tenant_id, turn FROM mail WHERE next_at <= \(now) ORDER BY next_at, id
            LIMIT \(Self.fewMails + 1)
            """)
        guard few.count > Self.fewMails else {
            var due: [(id: UUID, tenant: UUID, turn: Timestamp)] = []
            for row in few { due.append((try row.get(0), try row.get(1), try row.get(2))) }
            due.sort { ($0.turn, $0.id) < ($1.turn, $1.id) }
            return due.map { ($0.id, $0.tenant) }
        }
        let due = try await platform.read(
            """
            SELECT id, tenant_id FROM mail WHERE next_at <= \(now) ORDER BY turn, id
            LIMIT \(Self.mailBatch * Self.mailTakers)
            """)
        return try due.map { row throws(PostgresError) in (try row.get(0), try row.get(1)) }
    }

    private static let fewMails = 500

    /// How many mails are still to be sent; counts at most 100,000.
    package func waitingMail() async throws(PostgresError) -> Int {
        let rows = try await platform.read(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM mail WHERE next_at IS NOT NULL LIMIT 100000) AS waiting
            """)
        return try rows.first?.get(0) ?? 0
    }

    /// Retries a mail after a wait that doubles from 1 minute to 2 hours.
    package func retryMail(_ mail: DueMail, failure: String) async throws(PostgresError) {
        let next = clock().adding(seconds: 60 << Int64(min(mail.attempts - 1, 7)))
        _ = try await app.query(
            """
            UPDATE mail SET next_at = \(next), turn = greatest(turn, \(next)), failure = \(failure)
            WHERE tenant_id = \(mail.tenant) AND id = \(mail.id) AND attempts = \(mail.attempts) AND next_at IS NOT NULL
            """)
    }
}

/// The delivery of an invite's mail. If the invite is mailed again, the new mail has another id, so
/// that reports about the earlier mail are ignored.
extension Change {
    /// Records in the invite that the mail server accepted the mail or, if `words` is not nil, that
    /// it refused the mail. Does nothing if a delivery report came first.
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

    /// Records a delivery report in the invite whose mail the report is about, and returns what
    /// changed. `token` is the token of the return address to which the message was sent. `report`
    /// is nil if the message is no delivery report.
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
        // A mail may bounce even before its acceptance by the mail server is recorded, so `queued`
        // counts too.
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

    /// Sets the invite's delivery status and returns the change. If `mail` is not the invite's last
    /// mail, or the condition is false, changes nothing and returns nil. `updated_at` stays the
    /// same, since no caller changed the invite.
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

extension Database {
    /// The tenant to whose return address this token belongs; nil if there is no such tenant.
    package func tenant(ofReturnToken token: String) async throws(PostgresError) -> UUID? {
        let locator = ReturnToken.locator(token)
        guard locator.utf8.count == 6, locator.utf8.allSatisfy({ (0x30...0x7A).contains($0) })
        else { return nil }
        let rows = try await app.read("SELECT directory_tenant_by_locator(\(locator))")
        return try rows.first?.get(0, as: UUID?.self)
    }

    /// Records that a mail is finished: the mail server accepted it, or it is given up for the
    /// reason in `failure`, which is logged. `words` is the description of the failure that the
    /// mail's invite shows. `isRefused` means that the mail server refused the mail permanently, so
    /// that another attempt would fail too.
    package func endMail(
        _ mail: DueMail, failure: String?, words: String?, isRefused: Bool = false
    ) async throws {
        try await endMail(
            mail.id, mail.mail.kind, about: mail.about, of: mail.tenant, failure: failure,
            words: words ?? failure, isRefused: isRefused)
    }

    func endMail(
        _ id: UUID, _ kind: OutgoingMail.Kind?, about thing: UUID, of tenant: UUID,
        failure: String?, words: String?, isRefused: Bool = false
    ) async throws {
        try await scope(tenant).change(by: .system) { change in
            // Locks the invite first, in the same order as when the invite is sent again.
            if kind == .invite { try await change.showSending(id, of: thing, refused: words) }
            let ended = try await change.query(
                """
                UPDATE mail SET letter = NULL, next_at = NULL, ended_at = \(change.now),
                    failure = \(failure)
                WHERE tenant_id = \(tenant) AND id = \(id) AND next_at IS NOT NULL
                """)
            if kind == .inactivityWarning, failure != nil, !isRefused, ended.affected > 0 {
                try await change.noteUnsentWarning(of: thing)
            }
        }
    }
}

/// What a returned message about a mail changed.
package enum BounceResult: String, Sendable, CaseIterable {
    /// The invite shows that its mail bounced.
    case bounced
    /// The invite still shows that its mail was sent, now with the mail server's text about the
    /// delay.
    case delayed
    /// Nothing changed, because the invite was mailed again since, is no longer pending, or already
    /// shows a bounce.
    case outdated
    /// Nothing changed, because no stored mail has the message's return address.
    case unknown
    /// Nothing changed, because the message reports neither a failure nor a delay.
    case ignored
}
