import Outbound
import Runtime
import Storage
import Synchronization
import Text

/// Sends mail from the outbox to the mail server. Any number of replicas may run it; each mail is
/// taken by one of them.
package final class MailSender: Sendable {
    private let server: MailServer
    private let from: EmailAddress
    private let database: Database
    private let isStopped = Atomic<Bool>(false)
    private let logger: Logger?
    private let outage = RepeatedFailure(calm: 0)

    package init(
        server: MailServer, from: EmailAddress, database: Database, logger: Logger? = nil
    ) {
        self.server = server
        self.from = from
        self.database = database
        self.logger = logger
    }

    /// Sends the due mails over as many connections as the mail server allows, until a batch is no
    /// longer full. Returns the number of mails that were taken.
    @discardableResult
    package func round() async throws -> Int {
        defer { server.closeIdle() }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<MailServer.connections { group.addTask { try await self.drain() } }
            return try await group.reduce(0, +)
        }
    }

    /// Stops after the mails that are being sent.
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

    /// The text that a tenant sees about a mail server that could not be reached. The cause is only
    /// in the log.
    private static let unreached = "The mail server could not be reached in several hours."

    /// Stores the outcome of a mail and logs it. `failure` is `nil` if the mail was sent. `words`
    /// is what an invite shows about the failure.
    private func end(
        _ mail: DueMail, _ failure: String?, _ words: String? = nil, isRefused: Bool = false
    ) async throws {
        try await database.endMail(mail, failure: failure, words: words, isRefused: isRefused)
        tell(mail, failure)
    }

    /// Logs the outcome of a mail, without its address and link. If `isOfServer` is true, the mail
    /// server did not answer. This affects all mails alike, so the failures are logged as one
    /// outage.
    private func tell(_ mail: DueMail, _ failure: String?, isOfServer: Bool = false) {
        if let failure, isOfServer {
            guard let news = outage.failed(at: BootClock.now) else { return }
            logger?.log(
                .warning, "mail_server.lost", [("failure", .text(failure + news.suffix))])
            return
        }
        if failure == nil, let news = outage.worked(at: BootClock.now) {
            logger?.log(
                .notice, "mail_server.recovered",
                [("seconds", .int(news.seconds)), ("failures", .int(news.failures))])
        }
        logger?.log(
            failure == nil ? .info : .warning, failure == nil ? "mail.sent" : "mail.failed",
            [
                ("mail", .text(mail.id.description)), ("kind", .text(mail.mail.kind.rawValue)),
                ("attempts", .int(mail.attempts)), ("failure", .text(failure ?? "")),
            ])
    }
}
