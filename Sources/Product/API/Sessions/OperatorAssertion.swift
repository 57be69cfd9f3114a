import Domain
import HTTP
import Storage
import Text

/// What a provider of the platform asserts about who signs in to the console.
package struct OperatorAssertion: Sendable {
    package var provider: ProviderRow
    package var subject: String
    package var email: String?
    /// Absent is not the same as an explicit false.
    package var emailVerified: Bool?
    /// Google's `hd`.
    package var hostedDomain: String?
    /// When the person proved it there, in seconds since 1970; nil: the provider does not say.
    package var authenticatedAt: Int64?
    /// Whether the provider asked for two factors.
    package var isMultiFactor: Bool
    /// The console's session that is to be stepped up; nil: a sign-in.
    package var session: UUID?
    package var begunAt: Timestamp
    /// The browser, by the cookie that came along when it began: the return comes from another site,
    /// without it.
    package var device: String?
    /// Ends the cookie that bound the return.
    package var spentCookie: Field

    package init(
        provider: ProviderRow, subject: String, email: String?, emailVerified: Bool?,
        hostedDomain: String?, authenticatedAt: Int64?, isMultiFactor: Bool, session: UUID?,
        begunAt: Timestamp, device: String?, spentCookie: Field
    ) {
        self.provider = provider
        self.subject = subject
        self.email = email
        self.emailVerified = emailVerified
        self.hostedDomain = hostedDomain
        self.authenticatedAt = authenticatedAt
        self.isMultiFactor = isMultiFactor
        self.session = session
        self.begunAt = begunAt
        self.device = device
        self.spentCookie = spentCookie
    }

    var method: SignInMethod { isMultiFactor ? .providerMFA : .provider }

    /// Whether a provider of this kind says when its user signed in, as `max_age` asks it to.
    var saysWhen: Bool { provider.kind == "oidc" }

    /// Seconds by which the provider's clock may be behind or ahead.
    private static let clockSkew: Int64 = 60

    /// Whether its user signed in there no earlier than that, and not in the future; nil: the provider
    /// does not say.
    func isAuthenticated(since time: Timestamp, at now: Timestamp) -> Bool? {
        authenticatedAt.map {
            $0 >= time.microseconds / 1_000_000 - Self.clockSkew
                && $0 <= now.microseconds / 1_000_000 + Self.clockSkew
        }
    }

    /// The asserted address, if the provider is authoritative for it.
    func ownedAddress(in setting: OperatorSignIn) -> EmailAddress? {
        guard let address = email.flatMap({ try? EmailAddress($0) }),
            setting.covers(address.domain.ascii),
            provider.isAuthoritative(
                for: address.domain.ascii, emailVerified: emailVerified, hostedDomain: hostedDomain)
        else { return nil }
        return address
    }
}
