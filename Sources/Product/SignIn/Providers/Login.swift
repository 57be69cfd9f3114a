import API
import Cryptography
import Domain
import Federation
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
    /// The hash of an invite's token.
    var invite: [UInt8]?

    package init(
        redirectURI: String, state: String? = nil, challenge: String? = nil,
        isBrowsers: Bool = false, invite: [UInt8]? = nil
    ) {
        self.redirectURI = redirectURI
        self.state = state
        self.challenge = challenge
        self.isBrowsers = isBrowsers
        self.invite = invite
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

extension ClientCall {
    /// The authorization request (RFC 6749 section 4.1.1) with state, nonce and S256. Throws
    /// `.noProvider`, `.redirectNotRegistered`, `.providerAway`, `.stateUnfit`, `.challengeUnfit`,
    /// and `.stateUnknown` for a state that is in use already.
    package func beginLogin(_ wish: LoginWish) async throws -> BegunLogin {
        guard let provider = try await provider(), let remote = try await remote(provider) else {
            throw SignInRefusal.noProvider
        }
        guard client.redirectURIs.contains(where: { sameBytes($0, wish.redirectURI) }) else {
            throw SignInRefusal.redirectNotRegistered
        }
        if let challenge = wish.challenge, Base64URL.decode(challenge)?.count != 32 {
            throw SignInRefusal.challengeUnfit
        }
        try await count(.login)
        let state = wish.state ?? TokenSecret.make()
        guard (8...512).contains(state.utf8.count) else { throw SignInRefusal.stateUnfit }
        let redirectURI = wish.sentRedirectURI ?? wish.redirectURI
        let endpoint = try await remote.endpoint(.authorization)
        let nonce = TokenSecret.make()
        let verifier = wish.challenge == nil ? TokenSecret.make() : nil
        let browser = wish.isBrowsers ? TokenSecret.make() : nil
        let hash = Self.hash(state)
        let challenge = wish.challenge ?? Self.challenge(of: verifier ?? "")
        let isKept = try await scope.begin(
            LoginState(
                hash: hash, client: client.name, provider: provider.id,
                redirectURI: redirectURI, nonce: nonce, challenge: wish.challenge,
                secrets: try verifier.map {
                    try core.sealer.seal(Array($0.utf8), context: tenant.id.bytes + hash)
                }, browserHash: browser.map(Self.hash), inviteHash: wish.invite))
        guard isKept else { throw SignInRefusal.stateUnknown }
        let query = FormText.encode([
            ("response_type", "code"), ("client_id", remote.clientID),
            ("redirect_uri", redirectURI), ("scope", remote.scope), ("state", state),
            ("nonce", nonce), ("code_challenge", challenge), ("code_challenge_method", "S256"),
        ])
        let joint = endpoint.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return BegunLogin(url: endpoint + joint + query, state: state, browser: browser)
    }

    /// Uses the state up, redeems the code, verifies the provider's response, and lets the rules
    /// identify the user. Throws `.stateUnknown`, `.wrongVerifier`, `.verifierMissing`,
    /// `.notProved`, `.providerAway`, `.refused`.
    package func completeLogin(_ answer: LoginReturn) async throws -> UserRow {
        try await admit(proveLogin(answer).person)
    }

    /// The same up to the person as the provider proved it, and the hash of the invite's token of
    /// the begun sign-in.
    func proveLogin(
        _ answer: LoginReturn
    ) async throws -> (person: ProvedPerson, invite: [UInt8]?) {
        let hash = Self.hash(answer.state)
        guard
            let begun = try await scope.consumeLogin(
                hash, client: client.name, browser: answer.browser.map(Self.hash)),
            answer.redirectURI.map({ sameBytes($0, begun.redirectURI) }) ?? true,
            let provider = try await core.database.provider(begun.provider, owner: nil),
            provider.tenantID == nil || provider.tenantID == tenant.id,
            let remote = try await remote(provider)
        else { throw SignInRefusal.stateUnknown }
        let verifier = try verifier(begun, answer)
        if let issuer = answer.issuer, !remote.isIssuer(issuer) {
            throw SignInRefusal.notProved("mix-up: iss is another issuer's")
        }
        let person = try await remote.redeem(
            code: answer.code, redirectURI: begun.redirectURI, verifier: verifier,
            nonce: begun.nonce, namesIssuer: answer.issuer != nil || answer.hidesIssuer)
        return (person, begun.inviteHash)
    }

    private func verifier(_ begun: LoginState, _ answer: LoginReturn) throws -> String {
        if let challenge = begun.challenge {
            guard let verifier = answer.verifier else { throw SignInRefusal.verifierMissing }
            guard (43...128).contains(verifier.utf8.count),
                sameBytes(Self.challenge(of: verifier), challenge)
            else { throw SignInRefusal.wrongVerifier }
            return verifier
        }
        let sealed = try core.sealer.open(
            begun.secrets ?? [], context: tenant.id.bytes + begun.hash)
        return String(decoding: sealed, as: UTF8.self)
    }

    private static func hash(_ text: String) -> [UInt8] { SHA256.hash(Array(text.utf8)) }

    private static func challenge(of verifier: String) -> String {
        Base64URL.encode(SHA256.hash(Array(verifier.utf8)))
    }
}

extension UUID {
    var bytes: [UInt8] { Array(description.utf8) }
}
