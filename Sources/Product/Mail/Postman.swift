import Outbound
import Storage
import Text

/// Carries the letters that wait in the database to the mail server. Any number of replicas may
/// do so: each letter is taken by one.
package final class Postman: Sendable {
    /// What became of a letter, for the log: no address, no link.
    package struct Report: Sendable {
        package var mail: UUID
        package var kind: Letter.Kind
        package var attempts: Int
        /// Nil: the server took it.
        package var failure: String?
    }

    private let server: MailServer
    private let from: EmailAddress
    private let database: Database
    private let publicURL: String
    private let report: @Sendable (Report) -> Void

    package init(
        server: MailServer, from: EmailAddress, database: Database, publicURL: String,
        report: @escaping @Sendable (Report) -> Void = { _ in }
    ) {
        self.server = server
        self.from = from
        self.database = database
        self.publicURL = publicURL
        self.report = report
    }

    /// Carries what is due now, at most a batch; how many letters that were.
    @discardableResult
    package func round() async throws -> Int {
        let due = try await database.takeDueMail()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for mail in due { group.addTask { try await self.deliver(mail) } }
            try await group.waitForAll()
        }
        return due.count
    }

    private func deliver(_ mail: DueMail) async throws {
        if mail.letter.kind == .resetRequest {
            return try await database.answerResetRequest(mail, publicURL: publicURL)
        }
        let message = Wording(letter: mail.letter)
            .message(from: from, id: mail.id, date: database.clock())
        guard let message else { return try await end(mail, "no address") }
        guard database.clock() < mail.letter.expiresAt else {
            return try await end(mail, "the link is over")
        }
        do throws(MailFailure) {
            try await server.send(message)
        } catch {
            if error.isFinal || mail.attempts >= Database.mailAttempts {
                return try await end(mail, error.words)
            }
            try await database.retryMail(mail, failure: error.words)
            return tell(mail, error.words)
        }
        try await end(mail, nil)
    }

    private func end(_ mail: DueMail, _ failure: String?) async throws {
        try await database.endMail(mail.id, failure: failure)
        tell(mail, failure)
    }

    private func tell(_ mail: DueMail, _ failure: String?) {
        report(
            Report(
                mail: mail.id, kind: mail.letter.kind, attempts: mail.attempts, failure: failure))
    }
}
