import Domain
import Text

/// What an operator is mailed about their own account.
extension Change {
    /// A factor or the password of the account changed: `what` is a clause such as `passkey added`.
    /// No mail is no reason to refuse the change.
    package func tellOfChange(
        _ what: String, to person: OperatorRow, publicURL: String, in database: Database
    ) async throws {
        try await tell(.operatorChanged, what, person, publicURL, database)
    }

    /// Of a sign-in at a network that was not known.
    package func tellOfSignIn(
        _ where: String, to person: OperatorRow, publicURL: String, in database: Database
    ) async throws {
        try await tell(.operatorSignIn, `where`, person, publicURL, database)
    }

    private func tell(
        _ kind: OutgoingMail.Kind, _ message: String, _ person: OperatorRow, _ publicURL: String,
        _ database: Database
    ) async throws {
        guard database.sendsMail else { return }
        do {
            try await checkMail(
                kind, to: person.email, about: nil, left: mailsLeft(kind), in: database)
        } catch is MailLimitReached {
            return
        }
        // With a random object each: a later mail about one object replaces the earlier.
        try await post(
            OutgoingMail(
                kind, to: person.email,
                tenantName: person.tenant == nil ? nil : try await tenantName(),
                link: "\(publicURL)/reset", message: message,
                expiresAt: now.adding(seconds: Self.noticeSeconds)),
            about: UUID.random(), in: database)
    }
}
