import Cryptography
import Domain
import Postgres
import Text

/// What an operator is mailed about their own account. These mails warn of a thief, so that no mail of
/// others ends them: beyond three notices in an hour the next wait a few minutes for one another, and those
/// of the platform's own operators not even for what tenants send to the same address.
extension Change {
    /// Of one kind, to one operator, in an hour.
    private static let alarmLimit = 20
    /// The same where the mail is about a factor: no factor is added without one.
    private static let factorLimit = 60
    /// Wrong second factors behind the right password before a mail says so.
    private static let refusalsToTell = 3

    /// A factor or the password of the account changed: `what` is a clause such as `passkey added`.
    /// No mail is no reason to refuse the change, unless it adds a factor, which only the link in its
    /// mail disowns: then 409 beyond the limit.
    package func tellOfChange(
        _ what: String, added factor: AddedFactor? = nil, to person: OperatorRow,
        publicURL: String, in database: Database
    ) async throws {
        try await tell(.operatorChanged, what, person, publicURL, database, about: factor)
    }

    /// Of a sign-in in a browser that was not known.
    func tellOfSignIn(
        _ mail: NewDeviceMail, to person: OperatorRow, in database: Database
    ) async throws {
        try await tell(.operatorSignIn, mail.words, person, mail.publicURL, database)
    }

    /// Of wrong second factors behind the right password, once in an hour. `counter`: of the
    /// attempts.
    package func tellOfRefusedFactor(
        _ words: String, counter: [UInt8], to person: OperatorRow, publicURL: String,
        in database: Database
    ) async throws {
        let counted = try await query(
            "SELECT 1 FROM sign_in_failures WHERE key = \(counter) AND failures >= \(Self.refusalsToTell)"
        )
        guard !counted.isEmpty else { return }
        try await tell(.operatorFactorRefused, words, person, publicURL, database, limit: 1)
    }

    private func tell(
        _ kind: OutgoingMail.Kind, _ message: String, _ person: OperatorRow, _ publicURL: String,
        _ database: Database, limit: Int = alarmLimit, about factor: AddedFactor? = nil
    ) async throws {
        guard database.sendsMail else { return }
        let sent = try await mails(kind, to: person, since: 3600, database)
        if factor != nil {
            guard sent < Self.factorLimit else { throw StorageFailure.tooManyFactors }
        } else if sent >= limit {
            return
        }
        let token = TokenSecret.make()
        try await addOperatorLink(
            TokenSecret.hash(token) ?? [], for: person.id, to: .notMe, seconds: Self.noticeSeconds,
            isMailed: true, about: factor)
        // With a random object each: a later mail about one object replaces the earlier.
        try await post(
            OutgoingMail(
                kind, to: person.email,
                tenantName: person.tenant == nil ? nil : try await tenantName(),
                link: "\(publicURL)/not-me#token=\(token)", message: message,
                expiresAt: now.adding(seconds: Self.noticeSeconds)),
            about: UUID.random(), in: database)
    }

    private func mails(
        _ kind: OutgoingMail.Kind, to person: OperatorRow, since seconds: Int64,
        _ database: Database
    ) async throws -> Int {
        try await query(
            """
            SELECT count(*) FROM mail WHERE recipient = \(database.recipient(person.email))
                AND tenant_id = \(tenant) AND kind = \(kind.rawValue)
                AND created_at > \(now.adding(seconds: -seconds))
            """
        ).only { try $0.get(0) }
    }
}
