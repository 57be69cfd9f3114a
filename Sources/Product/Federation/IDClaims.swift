import Domain
import JSON

/// A provider's verified claims about a person.
package struct IDClaims: Sendable {
    package let subject: String
    /// Our client id that the token was issued to.
    package let audience: String
    package let all: JSONValue

    package var email: String? { all["email"]?.string }
    package var name: String? { all["name"]?.string }
    /// Google's `hd`.
    package var hostedDomain: String? { all["hd"]?.string }

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
