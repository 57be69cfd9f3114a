import Cryptography
import Domain
import Postgres
import Text

/// A mail that this replica has leased.
package struct DueMail: Sendable {
    package var id: UUID
    package var tenant: UUID
    package var about: UUID
    /// This one included.
    package var attempts: Int
    /// Of the address to which the mail comes back; nil: the sender's own.
    package var returnToken: String?
    package var mail: OutgoingMail
}

extension Change {
    /// Queues a mail; it is sent if this transaction is committed. Waiting mails about the same
    /// object are dropped: their links are dead. `people`: users whose purge ends the mail, besides
    /// the object. `id`: the object knows its mail by it, so reports about the mail are expected.
    package func post(
        _ mail: OutgoingMail, about thing: UUID, of people: [UUID] = [], as known: UUID? = nil,
        in database: Database
    ) async throws {
        try await dropMail(mail.kind, about: thing)
        let id = known ?? .random()
        let token = known == nil ? nil : ReturnToken.make(locator: try await locator())
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
                        AND next_at IS NOT NULL) + \(step) * interval '1 second'), \(now), \(now), \(token),
                nullif(\(people)::uuid[], '{}')
            FROM \(SQL.anchor(of: tenant)) WHERE anchor.id = \(tenant)
            """)
    }

    /// Edits waiting mails of this kind about this object; their links stay valid.
    func rewriteMail(
        _ kind: OutgoingMail.Kind, about thing: UUID, in database: Database,
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

    /// The name of this change's tenant.
    package func tenantName() async throws -> String {
        try await query("SELECT name FROM tenants WHERE id = \(tenant)").only {
            (row) throws(PostgresError) in try row.get(0)
        }
    }

    /// Drops waiting mails of this kind about this object.
    package func dropMail(_ kind: OutgoingMail.Kind, about thing: UUID) async throws(PostgresError)
    {
        try await query(
            """
            UPDATE mail SET letter = NULL, next_at = NULL, ended_at = \(now), failure = 'dropped'
            WHERE tenant_id = \(tenant) AND about = \(thing) AND kind = \(kind.rawValue)
                AND next_at IS NOT NULL
            """)
    }
}

extension Database {
    /// Seconds for which a replica leases a mail; after a crash another takes it then.
    static let mailLease: Int64 = 300
    package static let mailBatch = 5
    /// So many senders, in all replicas, find mail for a batch at the same moment.
    static let mailTakers = 8
    package static let mailAttempts = 8
    /// Seconds between the turns of a tenant's mails: longer than a mail takes, so that a tenant
    /// with many mails always queues behind one with few.
    static let mailStep: Int64 = 60
    static let urgentMailStep: Int64 = 1

    /// Takes due mails, in the order of their turns. Each goes to only one replica until its lease
    /// is over.
    package func takeDueMail() async throws -> [DueMail] {
        let now = clock()
        let due = try await platform.read(
            """
            SELECT id, tenant_id FROM mail WHERE next_at <= \(now) ORDER BY turn, id
            LIMIT \(Self.mailBatch * Self.mailTakers)
            """)
        var found: [DueMail] = []
        for next in due where found.count < Self.mailBatch {
            let (id, tenant): (UUID, UUID) = (try next.get(0), try next.get(1))
            let taken = try await app.query(
                """
                UPDATE mail SET attempts = attempts + 1,
                    next_at = \(now.adding(seconds: Self.mailLease))
                WHERE tenant_id = \(tenant) AND id = \(id) AND next_at <= \(now)
                RETURNING kind, about, letter, attempts, return_token
                """)
            // Another sender took it meanwhile.
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

    /// How many are still to be sent; at most 100,000 are counted.
    package func waitingMail() async throws(PostgresError) -> Int {
        let rows = try await platform.read(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM mail WHERE next_at IS NOT NULL LIMIT 100000) AS waiting
            """)
        return try rows.first?.get(0) ?? 0
    }

    /// Retries a mail after a wait that doubles: 1 minute to 2 hours.
    package func retryMail(_ mail: DueMail, failure: String) async throws(PostgresError) {
        let next = clock().adding(seconds: 60 << Int64(min(mail.attempts - 1, 7)))
        _ = try await app.query(
            """
            UPDATE mail SET next_at = \(next), turn = greatest(turn, \(next)), failure = \(failure)
            WHERE tenant_id = \(mail.tenant) AND id = \(mail.id) AND attempts = \(mail.attempts) AND next_at IS NOT NULL
            """)
    }
}
