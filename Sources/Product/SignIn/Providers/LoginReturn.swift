import API
import Cryptography
import Domain
import Storage
import Text

/// An app's parameters for a sign-in at its provider.
package struct LoginWish: Sendable {
    /// Must be one of the client's, byte for byte.
    package var redirectURI: String
    /// The replacement that the provider gets, if an operator has set one; nil: the same.
    package var sentRedirectURI: String?
    /// The app's own; one is generated if nil.
    package var state: String?
    /// The app's S256 challenge (RFC 7636); nil: the server holds the verifier.
    package var challenge: String?
    /// It must end in the browser that began, as shown by a cookie.
    package var isBrowsers: Bool
    /// The token of the page on which it begins.
    var token: BroughtToken?
    /// The console's session that it is to step up.
    var operatorSession: UUID?
    /// The hash of the link grant on whose page it begins.
    var grantHash: [UInt8]?
    /// Seconds; a user who signed in at the provider longer ago is asked anew (OpenID Connect Core
    /// section 3.1.2.1).
    var maxAge: Int64?

    package init(
        redirectURI: String, state: String? = nil, challenge: String? = nil,
        isBrowsers: Bool = false, token: BroughtToken? = nil, operatorSession: UUID? = nil,
        maxAge: Int64? = nil
    ) {
        self.redirectURI = redirectURI
        self.state = state
        self.challenge = challenge
        self.isBrowsers = isBrowsers
        self.token = token
        self.operatorSession = operatorSession
        self.maxAge = maxAge
    }
}

/// The redirect of a sign-in, and what the app needs for its return.
package struct BegunLogin: Sendable {
    package var url: String
    package var state: String
    /// For the browser's cookie, if a browser began: it is in no URL, so that knowing the
    /// callback's URL is not enough to use it.
    package var browser: String?
}

/// The parameters of the return from a provider.
package struct LoginReturn: Sendable {
    package var state: String
    package var code: String
    /// As the app repeats it; nil if its contract does not.
    package var redirectURI: String?
    /// The app's verifier, if it holds one.
    package var verifier: String?
    /// `iss` of the response (RFC 9207).
    package var issuer: String?
    /// The value of the browser's cookie; nil if the app itself caught the redirect.
    package var browser: String?
    /// The token of the browser's own cookie, where one came along when it began.
    var device: String?
    /// The app's contract has no field for `iss`, so that its absence means nothing.
    package var hidesIssuer: Bool

    package init(
        state: String, code: String, redirectURI: String? = nil, verifier: String? = nil,
        issuer: String? = nil, browser: String? = nil, hidesIssuer: Bool = false
    ) {
        self.state = state
        self.code = code
        self.redirectURI = redirectURI
        self.verifier = verifier
        self.issuer = issuer
        self.browser = browser
        self.hidesIssuer = hidesIssuer
    }
}
