import Domain
import JSON

/// A provider's verified claims about a person.
package struct IDClaims: Sendable {
    package let subject: String
    /// Our client id that the token was issued to.
    package let audience: String
    package let all: JSONValue

    init(subject: String, audience: String, all: JSONValue) {
        self.subject = subject
        self.audience = audience
        self.all = all
    }

    /// A userinfo response about that subject: its claims are read as an id token's.
    package init(userInfo: JSONValue, subject: String) {
        self.init(subject: subject, audience: "", all: userInfo)
    }

    package var email: String? { all["email"]?.string }
    package var name: String? { all["name"]?.string }
    /// Google's `hd`.
    package var hostedDomain: String? { all["hd"]?.string }

    /// When the person last proved to the provider who they are, in seconds since 1970 (OpenID Connect
    /// Core section 2); nil: it does not say.
    package var authenticatedAt: Int64? { IDTokenCheck.seconds(all["auth_time"]) }

    /// Whether the provider asked for two factors: by `amr` (RFC 8176), or by an `acr` that means
    /// so (OpenID Connect Extended Authentication Profile, PAPE).
    package var isMultiFactor: Bool {
        let methods = Set((all["amr"]?.array ?? []).compactMap(\.string))
        let isKnown = !methods.isDisjoint(with: ["pwd", "pin"])
        return methods.contains("mfa")
            || isKnown && !methods.isDisjoint(with: ["otp", "hwk", "swk", "sc"])
            || all["acr"]?.string.map(Self.multiFactorClasses.contains) ?? false
    }

    private static let multiFactorClasses: Set<String> = [
        "phr", "phrh", "http://schemas.openid.net/pape/policies/2007/06/multi-factor",
    ]

    /// Absent is not the same as an explicit false.
    package var emailVerified: Bool? {
        switch all["email_verified"] {
        case nil: CognitoMapping.emailVerified(.absent)
        case .string(let text): CognitoMapping.emailVerified(.text(text))
        case .bool(let value): CognitoMapping.emailVerified(.bool(value))
        default: CognitoMapping.emailVerified(.other)
        }
    }
}
