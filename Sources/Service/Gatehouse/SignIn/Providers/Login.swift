import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

extension ClientCall {
    /// Begins a sign-in: makes the authorization request (RFC 6749 section 4.1.1) with state, nonce
    /// and an S256 challenge. Throws `.noProvider`, `.redirectNotRegistered`, `.providerAway`,
    /// `.stateUnfit`, `.challengeUnfit`, and `.stateUnknown` for a state that is already in use.
    func beginLogin(_ wish: LoginWish) async throws -> BegunLogin {
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
        var maxAge = wish.maxAge
        if maxAge == nil, try await scope.forgetStaleSignIn(place, at: provider.id) { maxAge = 0 }
        let challenge = wish.challenge ?? Self.challenge(of: verifier ?? "")
        var begun = LoginState(
            hash: hash, client: client.name, provider: provider.id,
            redirectURI: redirectURI, nonce: nonce, challenge: wish.challenge,
            secrets: try verifier.map {
                try application.signInSealer.seal(Array($0.utf8), context: tenant.id.bytes + hash)
            }, browserHash: browser.map(Self.hash), token: wish.token,
            operatorSession: wish.operatorSession)
        begun.grantHash = wish.grantHash
        begun.isAskedAnew = maxAge == 0
        guard try await scope.begin(begun) else { throw SignInRefusal.stateUnknown }
        var parameters = [
            ("response_type", "code"), ("client_id", remote.clientID),
            ("redirect_uri", redirectURI), ("scope", remote.scope), ("state", state),
            ("nonce", nonce), ("code_challenge", challenge), ("code_challenge_method", "S256"),
        ]
        if let seconds = maxAge { parameters.append(("max_age", "\(seconds)")) }
        let query = FormText.encode(parameters)
        let joint = endpoint.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return BegunLogin(url: endpoint + joint + query, state: state, browser: browser)
    }

    /// Completes a sign-in: uses up the state, redeems the code, verifies the provider's response,
    /// and lets the rules identify the user. Throws `.stateUnknown`, `.wrongVerifier`,
    /// `.verifierMissing`, `.notProved`, `.secretOutdated`, `.providerAway`, `.refused`.
    func completeLogin(_ answer: LoginReturn) async throws -> UserRow {
        let (person, begun) = try await proveLogin(answer)
        do {
            return try await admit(person)
        } catch SignInRefusal.signedOut(isStale: true) where !begun.isAskedAnew {
            // The person signed in at the provider before all sessions of the user were ended. Note
            // this, so that the app's next sign-in makes the provider ask the person again.
            try await scope.noteStaleSignIn(place, at: begun.provider)
            throw SignInRefusal.signedOut(isStale: true)
        }
    }

    /// A hash of the client and of the address from which an app signs in.
    private var place: [UInt8] { Self.hash("stale\0\(client.name)\0\(request.remoteAddress)") }

    /// Completes a sign-in without running the rules: returns the person whom the provider proved,
    /// and the state that was stored when the sign-in began.
    func proveLogin(
        _ answer: LoginReturn
    ) async throws -> (person: ProvedPerson, begun: LoginState) {
        let hash = Self.hash(answer.state)
        guard
            let begun = try await scope.consumeLogin(
                hash, client: client.name, browser: answer.browser.map(Self.hash)),
            answer.redirectURI.map({ sameBytes($0, begun.redirectURI) }) ?? true,
            let provider = try await database.provider(begun.provider, owner: nil),
            provider.tenantID == nil || provider.tenantID == tenant.id,
            let remote = try await remote(provider)
        else { throw SignInRefusal.stateUnknown }
        let verifier = try verifier(begun, answer)
        if let issuer = answer.issuer, !remote.isIssuer(issuer) {
            throw SignInRefusal.notProved("mix-up: iss is another issuer's")
        }
        var person = try await remote.redeem(
            code: answer.code, redirectURI: begun.redirectURI, verifier: verifier,
            nonce: begun.nonce, namesIssuer: answer.issuer != nil || answer.hidesIssuer)
        person.tokenTime = .begun(begun.begunAt ?? now, authenticatedAt: person.authenticatedAt)
        return (person, begun)
    }

    private func verifier(_ begun: LoginState, _ answer: LoginReturn) throws -> String {
        if let challenge = begun.challenge {
            guard let verifier = answer.verifier else { throw SignInRefusal.verifierMissing }
            guard (43...128).contains(verifier.utf8.count),
                sameBytes(Self.challenge(of: verifier), challenge)
            else { throw SignInRefusal.wrongVerifier }
            return verifier
        }
        let sealed = try application.signInSealer.open(
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

/// The parameters with which an app begins a sign-in at its provider.
struct LoginWish: Sendable {
    /// The redirect address; it must be one of the client's, byte for byte.
    var redirectURI: String
    /// The redirect address that the provider gets instead of `redirectURI`, if an operator has set
    /// one; otherwise `nil`.
    var sentRedirectURI: String?
    /// The app's own state; if `nil`, the server generates a state.
    var state: String?
    /// The app's S256 challenge (RFC 7636); if `nil`, the server makes and keeps the verifier.
    var challenge: String?
    /// Whether the sign-in must end in the browser in which it began. A cookie proves that it is
    /// the same browser.
    var isBrowsers: Bool
    /// The token of the invite or join page on which the sign-in begins; `nil` for another page.
    var token: BroughtToken?
    /// The console session that the sign-in steps up; `nil` if there is none.
    var operatorSession: UUID?
    /// The hash of the link grant on whose page the sign-in begins; `nil` for another page.
    var grantHash: [UInt8]?
    /// If the user signed in at the provider more than this many seconds ago, the provider asks the
    /// user again (OpenID Connect Core section 3.1.2.1). `nil` for no limit.
    var maxAge: Int64?

    init(
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

/// A sign-in that has begun: the URL to redirect to, and what the app needs when the person comes
/// back.
struct BegunLogin: Sendable {
    var url: String
    var state: String
    /// The secret for the browser's cookie; `nil` if the sign-in is not bound to a browser. The
    /// secret is in no URL, so a person who learns the callback's URL cannot complete the sign-in.
    var browser: String?
}

/// The parameters with which the person comes back from the provider.
struct LoginReturn: Sendable {
    var state: String
    var code: String
    /// The redirect address as the app repeats it; `nil` if the app's contract does not repeat it.
    var redirectURI: String?
    /// The app's PKCE verifier; `nil` if the server keeps it.
    var verifier: String?
    /// The member `iss` of the provider's response (RFC 9207).
    var issuer: String?
    /// The value of the browser's cookie; `nil` if the app itself received the redirect.
    var browser: String?
    /// The token of the browser's device cookie, if it was sent when the sign-in began.
    var device: String?
    /// Whether the app's contract has no field for `iss`, so that a missing `iss` means nothing.
    var hidesIssuer: Bool

    init(
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
    /// Returns the provider at which the client's users sign in; `nil` if there is none, or more
    /// than one.
    func provider(
        kinds: [String] = ClientDescription.signInKinds
    ) async throws -> ProviderRow? {
        ProviderChoice.choose(
            from: try await database.providers(near: tenant.id), kinds: kinds,
            named: setting("provider")?.string)
    }

    func hasProvider() async throws -> Bool { try await provider() != nil }

    /// Returns the client id of this app at its provider; `nil` if the app uses the provider's own
    /// client id. With client ids of their own, a public app and an app with a secret can share an
    /// issuer.
    func ownClientID(at provider: ProviderRow) -> String? {
        guard let id = setting("client_id")?.string,
            contract.providerKinds.contains(where: { sameBytes($0, provider.kind) }),
            setting("provider")?.string.map({ ProviderChoice.isNamed(provider, $0) }) ?? true
        else { return nil }
        return id
    }

    /// Returns this app as a relying party of the provider, with the app's own client id if it has
    /// one; `nil` if the provider has no browser sign-in.
    func party(of provider: ProviderRow) -> RelyingParty? {
        guard let party = provider.relyingParty else { return nil }
        return ownClientID(at: provider).map { party.asClient($0) } ?? party
    }

    /// Returns the secret of the client at the provider; `nil` for a public client. Throws
    /// `.secretOutdated` if the provider was changed after the client's own secret was set.
    func secret(at provider: ProviderRow) async throws -> String? {
        guard let id = ownClientID(at: provider) else {
            return try await database.clientSecret(of: provider)
        }
        guard let secret = try await scope.clientSecret(of: client.name) else { return nil }
        guard secret.audience == provider.secretAudience(clientID: id) else {
            throw SignInRefusal.secretOutdated
        }
        return secret.text
    }
}
