import Cryptography
import Domain
import Postgres
import Text

/// Mails to operators about their own accounts. Such a mail may reveal a thief, so no later mail
/// replaces it. After three notices in an hour, further notices wait a few minutes and are sent
/// together. Mails that tenants send to the same address never delay mails to the platform's own
/// operators.
extension Change {
    /// The maximum number of mails of one kind to one operator in an hour.
    private static let alarmLimit = 20
    /// The maximum number of mails about added factors to one operator in an hour. Beyond this
    /// limit no factor can be added, since the operator must get a mail about each addition.
    private static let factorLimit = 60
    /// How many wrong second factors after the right password cause a mail.
    private static let refusalsToTell = 3

    /// Notifies the operator that a factor or the password of the account changed; `what` is a
    /// clause such as `passkey added`. If the limit of mails is reached, adding a factor throws
    /// 409, since only the link in the mail can invalidate the factor. Any other change is then
    /// made without a mail.
    package func tellOfChange(
        _ what: String, added factor: AddedFactor? = nil, to person: OperatorRow,
        publicURL: String
    ) async throws {
        try await tell(.operatorChanged, what, person, publicURL, about: factor)
    }

    /// Notifies the operator of a sign-in from an unknown browser.
    func tellOfSignIn(
        _ mail: NewDeviceMail, to person: OperatorRow
    ) async throws {
        try await tell(.operatorSignIn, mail.words, person, mail.publicURL)
    }

    /// Notifies the operator, at most once an hour, that someone with the right password failed the
    /// second factor. `counter` is the key of the counted attempts.
    package func tellOfRefusedFactor(
        _ words: String, counter: [UInt8], to person: OperatorRow, publicURL: String
    ) async throws {
        let counted = try await query(
            "SELECT 1 FROM sign_in_failures WHERE key = \(counter) AND failures >= \(Self.refusalsToTell)"
        )
        guard !counted.isEmpty else { return }
        try await tell(.operatorFactorRefused, words, person, publicURL, limit: 1)
    }

    private func tell(
        _ kind: OutgoingMail.Kind, _ message: String, _ person: OperatorRow, _ publicURL: String,
        limit: Int = alarmLimit, about factor: AddedFactor? = nil
    ) async throws {
        guard database.options.sendsMail else { return }
        let sent = try await mails(kind, to: person, since: 3600)
        if factor != nil {
            guard sent < Self.factorLimit else { throw StorageFailure.tooManyFactors }
        } else if sent >= limit {
            return
        }
        let token = TokenSecret.make()
        try await addOperatorLink(
            TokenSecret.hash(token) ?? [], for: person.id, to: .notMe, seconds: Self.noticeSeconds,
            isMailed: true, about: factor)
        // Each mail gets a random id as its object, since a later mail about the same object would
        // replace the mail.
        try await post(
            OutgoingMail(
                kind, to: person.email,
                tenantName: person.tenant == nil ? nil : try await tenantName(),
                link: "\(publicURL)/not-me#token=\(token)", message: message,
                expiresAt: now.adding(seconds: Self.noticeSeconds)),
            about: UUID.random())
    }

    private func mails(
        _ kind: OutgoingMail.Kind, to person: OperatorRow, since seconds: Int64
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
