import Outbound
import Storage
import Synchronization
import Text

/// Sends mail from the outbox to the mail server. Any number of replicas may run it; each mail is
/// taken by one of them.
package final class MailSender: Sendable {
    /// The result of one mail, for the log: without address and link.
    package struct Report: Sendable {
        package var mail: UUID
        package var kind: OutgoingMail.Kind
        package var attempts: Int
        package var failure: String?
        /// Whether the mail server did not answer. The mail is retried.
        package var isOfServer = false
    }

    private let server: MailServer
    private let from: EmailAddress
    private let database: Database
    private let isStopped = Atomic<Bool>(false)
    private let report: @Sendable (Report) -> Void

    package init(
        server: MailServer, from: EmailAddress, database: Database,
        report: @escaping @Sendable (Report) -> Void = { _ in }
    ) {
        self.server = server
        self.from = from
        self.database = database
        self.report = report
    }

    /// Sends the mails that are due until a batch is not full, over as many connections as the mail
    /// server allows. Returns the number of mails.
    @discardableResult
    package func round() async throws -> Int {
        defer { server.closeIdle() }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<MailServer.connections { group.addTask { try await self.drain() } }
            return try await group.reduce(0, +)
        }
    }

    /// Sends no further mail. Mails in progress are finished.
    package func stop() { isStopped.store(true, ordering: .relaxed) }

    private func drain() async throws -> Int {
        var sent = 0
        while !isStopped.load(ordering: .relaxed) {
            let due = try await database.takeDueMail()
            for mail in due { try await deliver(mail) }
            sent += due.count
            if due.count < Database.mailBatch { break }
        }
        return sent
    }

    private func deliver(_ mail: DueMail) async throws {
        let message = MailTemplate(mail: mail.mail)
            .message(from: from, id: mail.id, date: database.clock())
        guard var message else {
            return try await end(mail, "no address", "The address is not valid.", isRefused: true)
        }
        guard database.clock() < mail.mail.expiresAt else {
            return try await end(
                mail, "the link is over", "The invite ended before the mail server took the mail.")
        }
        message.returnPath = mail.returnToken.map { ReturnToken.address($0, at: from.domain) }
        do throws(MailFailure) {
            try await server.send(message)
        } catch {
            if error.isFinal || mail.attempts >= Database.mailAttempts {
                return try await end(
                    mail, error.words, error.reply ?? Self.unreached, isRefused: error.isFinal)
            }
            try await database.retryMail(mail, failure: error.words)
            return tell(mail, error.words, isOfServer: error.reply == nil)
        }
        try await end(mail, nil)
    }

    /// Why the mail server was unreachable is for the log, not for a tenant.
    private static let unreached = "The mail server could not be reached in several hours."

    /// `words` is what an invite shows about the failure.
    private func end(
        _ mail: DueMail, _ failure: String?, _ words: String? = nil, isRefused: Bool = false
    ) async throws {
        try await database.endMail(mail, failure: failure, words: words, isRefused: isRefused)
        tell(mail, failure)
    }

    private func tell(_ mail: DueMail, _ failure: String?, isOfServer: Bool = false) {
        report(
            Report(
                mail: mail.id, kind: mail.mail.kind, attempts: mail.attempts, failure: failure,
                isOfServer: isOfServer))
    }
}
