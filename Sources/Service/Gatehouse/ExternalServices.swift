import Outbound
import Runtime
import Text

/// The external services that the process uses besides the database.
package struct ExternalServices: Sendable {
    package struct Mail: Sendable {
        /// The URL of the mail server, `smtp://` or `smtps://`, with optional user and password.
        var url: String
        var from: EmailAddress
        /// The PEM of the certificate authorities to trust instead of the system's.
        var authorities: String?

        package init(url: String, from: EmailAddress, authorities: String? = nil) {
            self.url = url
            self.from = from
            self.authorities = authorities
        }
    }

    /// Limits for requests to identity providers.
    package var providers: OutboundPolicy
    /// The mail server; if `nil`, links are shown instead of mailed.
    package var mail: Mail?
    package var nameServer: TXTResolver.Server?
    /// A function that waits for the time between two polls of a provider.
    package var pause: @Sendable (Duration) async throws -> Void = { await EventLoop.pause($0) }

    package init(providers: OutboundPolicy = OutboundPolicy(), mail: Mail? = nil) {
        self.providers = providers
        self.mail = mail
    }

    /// Creates the value from the settings. In development, identity providers on this machine are
    /// allowed without a setting. Throws if the sender of mails is not an email address.
    init(_ settings: Settings, isDevelopment: Bool = false) throws {
        self.init(
            providers: OutboundPolicy(
                allowsLoopback: isDevelopment || settings.allowLoopbackProviders))
        for part in (settings.outboundAllow ?? "").split(separator: ",") {
            let text = part.drop { $0 == " " }.prefix { $0 != " " }
            guard let allowance = OutboundAllowance(text) else {
                throw Command.Invalid(
                    name: "GATEHOUSE_OUTBOUND_ALLOW",
                    reason: """
                        \(text) is neither an address nor a block; write 10.0.0.5:443, 10.1.0.0/24 or [fd00::5]:443, with a \
                        tenant's slug and = in front for the hosts of that tenant
                        """)
            }
            providers.allowances.append(allowance)
        }
        guard let url = settings.smtpURL else { return }
        do throws(EmailFault) {
            mail = Mail(
                url: url.text,
                from: try EmailAddress(
                    settings.mailFrom ?? "gatehouse@localhost", allowSingleLabel: true))
        } catch {
            throw Command.Invalid(name: "GATEHOUSE_MAIL_FROM", reason: "it \(error.mend)")
        }
    }
}

extension ExternalServices.Mail {
    /// Sends a mail about the server at `base`, past the queue. Returns why the mail server did not
    /// take it; `nil` if it did.
    func test(of base: String, to address: EmailAddress) async -> String? {
        let text = "The mail server of \(base) works. `gatehouse mail test` sent this mail."
        let message = MailMessage(
            from: from, fromName: "Gatehouse", to: address,
            subject: "Gatehouse: test of the mail server", text: text + "\n",
            html: "<p>\(htmlEscaped(text))</p>", id: UUID.random(), date: Timestamp.systemClock())
        do throws(MailFailure) {
            try await MailServer(url: url, authorities: authorities).send(message)
            return nil
        } catch {
            return error.words
        }
    }
}
