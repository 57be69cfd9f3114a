import Configuration
import Networking
import Outbound
import Text

/// What the service reaches beyond its database.
package struct ExternalServices: Sendable {
    package struct Mail: Sendable {
        /// `smtp://` or `smtps://`, with a user and a password perhaps.
        package var url: String
        package var from: EmailAddress
        /// PEM to trust in place of the system's.
        package var authorities: String?

        package init(url: String, from: EmailAddress, authorities: String? = nil) {
            self.url = url
            self.from = from
            self.authorities = authorities
        }
    }

    /// Identity providers.
    package var providers: OutboundPolicy
    /// Nil: links are shown in place of mails.
    package var mail: Mail?
    /// Nil takes those of the system.
    package var nameServer: TXTResolver.Server?
    /// How the time between two questions to a provider passes.
    package var pause: @Sendable (Duration) async throws -> Void = { await EventLoop.pause($0) }

    package init(providers: OutboundPolicy = OutboundPolicy(), mail: Mail? = nil) {
        self.providers = providers
        self.mail = mail
    }

    /// `dev` reaches providers on this machine without being told so. Throws for a sender that is
    /// no address.
    init(_ settings: Settings, isDevelopment: Bool = false) throws {
        self.init(
            providers: OutboundPolicy(
                allowsLoopback: isDevelopment || settings.allowLoopbackProviders))
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

extension EventLoop {
    /// Lets `duration` pass without holding a thread. Call from work spawned on a loop.
    static func pause(_ duration: Duration) async {
        await withCheckedContinuation { continuation in
            guard let loop = current else { return continuation.resume() }
            let (seconds, attoseconds) = duration.components
            loop.after(seconds * 1_000_000_000 + attoseconds / 1_000_000_000) {
                continuation.resume()
            }
        }
    }
}
