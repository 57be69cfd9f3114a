import Cryptography
import Domain
import JSON
import Text

/// This server as a client of a provider: the expected issuer, and the audiences that the
/// provider's tokens must name.
package struct RelyingParty: Sendable, Equatable {
    /// An endpoint of a provider. The names are those of OpenID Connect Discovery. The setting
    /// `endpoints` of a provider uses the same names.
    package enum Endpoint: String, Sendable, CaseIterable {
        case authorization = "authorization_endpoint"
        case token = "token_endpoint"
        case userInfo = "userinfo_endpoint"
        case keys = "jwks_uri"
        /// The endpoint that checks access tokens (RFC 7662).
        case introspection = "introspection_endpoint"
        case deviceAuthorization = "device_authorization_endpoint"
        /// The URL of the discovery document, if it is not at the standard path below the issuer.
        case discovery = "openid_configuration"
        /// GitHub's endpoint that checks a token (`POST /applications/{client_id}/token`).
        case tokenCheck = "token_check_endpoint"
        /// The `iss` of a Cognito pool's tokens, if it is not Amazon's address for the pool, for
        /// example with an emulator.
        case issuer
    }

    package var provider: UUID
    /// The tenant that owns the provider; `nil` for the platform.
    package var owner: UUID?
    package var kind: ProviderKind
    package var issuer: String
    package var clientID: String?
    /// The accepted audiences: the client id, and the other clients whose users are assigned to
    /// tenants. If the list is empty, a Cognito pool accepts any client, since all clients of a
    /// pool belong to its owner; other providers accept none.
    var audiences: [String]
    /// Other clients at the provider to which tokens for this server may be issued (`azp`).
    package var authorizedParties: [String]
    package var endpoints: [Endpoint: String]

    /// `issuer` is the issuer as registered; for a Cognito pool, the pool's id.
    package init(
        provider: UUID, kind: ProviderKind, issuer: String, clientID: String?,
        otherAudiences: [String] = [], authorizedParties: [String] = [],
        endpoints: [Endpoint: String] = [:], owner: UUID? = nil
    ) {
        self.provider = provider
        self.owner = owner
        self.kind = kind
        self.clientID = clientID
        audiences = (clientID.map { [$0] } ?? []) + otherAudiences
        self.authorizedParties = authorizedParties
        self.endpoints = endpoints
        self.issuer =
            kind == .cognito
            ? endpoints[.issuer] ?? Self.cognitoIssuer(pool: issuer) : issuer
    }

    /// Returns the same provider with another client id of this server. The result accepts tokens
    /// for that client and for the other clients whose users are assigned to tenants.
    package func asClient(_ id: String) -> RelyingParty {
        var party = self
        party.audiences = [id] + (clientID == nil ? audiences : Array(audiences.dropFirst()))
        party.authorizedParties += clientID.map { [$0] } ?? []
        party.clientID = id
        return party
    }

    /// The issuer of a pool. For `eu-central-1_abc` it is below
    /// `https://cognito-idp.eu-central-1.amazonaws.com/`.
    private static func cognitoIssuer(pool: String) -> String {
        let region = String(decoding: pool.utf8.prefix { $0 != 0x5F }, as: UTF8.self)
        return "https://cognito-idp.\(region).amazonaws.com/\(pool)"
    }

    /// Whether the text has the form of a provider's address: an https or http URL of printable
    /// ASCII characters. Whether this server may send requests to it is checked elsewhere.
    static func isAddress(_ text: String) -> Bool {
        ["https://", "http://"].contains { text.utf8.starts(with: $0.utf8) }
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Whether an operator may set this address: https without user information or a fragment (RFC
    /// 6749 section 3.1), or, for development, plain http to this machine.
    static func isSafeAddress(_ text: String) -> Bool {
        guard isAddress(text), !text.utf8.contains(UInt8(ascii: "#")), !isTemplate(text) else {
            return false
        }
        let start = text.utf8.starts(with: "https://".utf8) ? "https://" : "http://"
        let authority = text.utf8.dropFirst(start.utf8.count).prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
        }
        let base = start + String(decoding: authority, as: UTF8.self)
        guard let origin = try? Origin(configuring: base) else { return false }
        return sameBytes(start, "https://")
            || ["127.0.0.1", "localhost", "[::1]"].contains { sameBytes($0, origin.host) }
    }

    /// Whether the text is a pattern, such as the issuer with `{tenantid}` that Microsoft publishes
    /// for all its directories. No token has a pattern as its issuer.
    static func isTemplate(_ text: String) -> Bool {
        text.utf8.contains { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }
    }

    static let templateAdvice =
        "register the issuer of one directory, with its id instead of {tenantid}"

    /// Whether the provider is Sign in with Apple, whose authorization responses this server cannot
    /// read.
    var isApple: Bool {
        [issuer, endpoints[.authorization] ?? ""].contains { text in
            ["https://appleid.apple.com", "https://account.apple.com"].contains { start in
                sameBytes(text, start) || text.utf8.starts(with: (start + "/").utf8)
            }
        }
    }

    /// Whether the text is an issuer: an address without a query (OpenID Connect Core section 2).
    static func isIssuerAddress(_ text: String) -> Bool {
        isSafeAddress(text) && !text.utf8.contains(UInt8(ascii: "?"))
    }

    /// Whether the text is a user pool's id in Amazon's form, such as `eu-central-1_aBc123` (at
    /// most 55 characters).
    static func isPoolID(_ text: String) -> Bool {
        let parts = text.utf8.split(
            separator: UInt8(ascii: "_"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= 55, !parts[0].isEmpty, !parts[1].isEmpty else {
            return false
        }
        return parts[0].allSatisfy {
            ASCII.isDigit($0) || (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-")
        }
            && parts[1].allSatisfy { ASCII.isDigit($0) || (0x61...0x7A).contains($0 | 0x20) }
    }

    /// Whether a token with this `iss` can be the provider's. In older tokens of Google, `iss`
    /// lacks the scheme.
    package func isIssuer(_ text: String) -> Bool {
        sameBytes(text, issuer)
            || kind == .google && sameBytes("https://" + text, issuer)
    }

    /// Whether this server accepts at least one of a token's audiences.
    package func takesOne(of audiences: [String]) -> Bool { audiences.contains { takes($0) } }

    /// Whether a token issued to this client is accepted.
    func authorizes(_ client: String) -> Bool {
        takes(client) || authorizedParties.contains { sameBytes($0, client) }
    }

    func takes(_ audience: String) -> Bool {
        if audiences.isEmpty { return kind == .cognito }
        return audiences.contains { sameBytes($0, audience) }
    }

    /// The URL of the discovery document (OpenID Connect Discovery section 4.1).
    var discoveryURL: String {
        if let given = endpoints[.discovery] { return given }
        let base = issuer.utf8.last == UInt8(ascii: "/") ? String(issuer.dropLast()) : issuer
        return base + "/.well-known/openid-configuration"
    }
}

/// A userinfo response as a signed JWT (OpenID Connect Core section 5.3.2). Unlike an id token, it
/// may lack the time claims.
package struct SignedUserInfo: Sendable {
    let jws: JWS
    let algorithm: VerificationKey.Algorithm
    let keyID: String?
    private let all: JSONValue

    package static let mediaType = "application/jwt"

    /// Parses the JWT. The header must follow the rules for an id token.
    package init(_ text: [UInt8]) throws(IDTokenFault) {
        guard let jws = JWS(compact: text) else { throw .notCompact }
        guard let header = IDToken.object(jws.header) else { throw .headerMalformed }
        (algorithm, keyID) = try IDToken.read(header, false)
        guard let claims = IDToken.object(jws.payload) else { throw .claimsMalformed }
        self.jws = jws
        all = claims
    }

    /// Verifies the signature and returns the claims. The issuer and the audience are required in a
    /// signed response. Times are checked if they are present.
    func claims(
        for party: RelyingParty, keys: KeySet, now: Timestamp
    ) throws(IDTokenFault) -> JSONValue {
        let candidates = keys.keys(id: keyID, algorithm: algorithm)
        guard !candidates.isEmpty else { throw .keyUnknown }
        guard candidates.contains(where: { jws.isSigned(by: $0) }) else { throw .signatureInvalid }
        guard let issuer = all["iss"]?.string, party.isIssuer(issuer) else { throw .issuerMismatch }
        guard let audiences = IDToken.audiences(all["aud"]), party.takesOne(of: audiences) else {
            throw .audienceMismatch
        }
        if let end = all["exp"] {
            guard let seconds = IDTokenCheck.end(end),
                now.microseconds / 1_000_000 < seconds + IDTokenCheck.leeway
            else { throw .expired }
        }
        return all
    }
}

extension RelyingParty {
    private static let gitHubIssuer = "https://github.com"

    /// The endpoints of GitHub, which publishes no discovery document. Those of github.com are
    /// built in. Those of a GitHub Enterprise Server are derived from its issuer. The endpoint that
    /// checks tokens is derived from the address of the API. Endpoints that the operator set
    /// replace all of these. If an operator sets an endpoint on a host other than github.com, no
    /// built-in endpoint is used, so that github.com receives neither the secret nor a token.
    package var gitHubEndpoints: [Endpoint: String] {
        var found = endpoints
        let base = issuer.utf8.last == UInt8(ascii: "/") ? String(issuer.dropLast()) : issuer
        if !sameBytes(base, Self.gitHubIssuer) || !namesAnotherHost {
            for (endpoint, path) in [
                (Endpoint.authorization, "/login/oauth/authorize"),
                (.token, "/login/oauth/access_token"), (.deviceAuthorization, "/login/device/code"),
            ] where found[endpoint] == nil { found[endpoint] = base + path }
            if found[.userInfo] == nil { found[.userInfo] = Self.gitHubUser(base) }
        }
        let user = Array("/user".utf8)
        if found[.tokenCheck] == nil, let clientID, let api = found[.userInfo],
            api.utf8.suffix(user.count).elementsEqual(user)
        {
            let id = PercentEncoding.encode(clientID.utf8)
            found[.tokenCheck] = "\(api.dropLast(user.count))/applications/\(id)/token"
        }
        return found
    }

    /// The endpoints that a GitHub sign-in needs and that are neither derived nor set. Each of
    /// these endpoints receives the client's secret or a token, so github.com's endpoint must not
    /// take its place.
    var missingGitHubEndpoints: [Endpoint] {
        let found = gitHubEndpoints
        return [.token, .userInfo, .tokenCheck].filter { found[$0] == nil }
    }

    /// The URL of the user API below a GitHub issuer; `nil` for GHE.com, whose API is on a host of
    /// its own.
    private static func gitHubUser(_ base: String) -> String? {
        if sameBytes(base, gitHubIssuer) { return "https://api.github.com/user" }
        return base.utf8.suffix(8).elementsEqual(".ghe.com".utf8) ? nil : base + "/api/v3/user"
    }

    private var namesAnotherHost: Bool {
        endpoints.values.contains { url in
            !["https://github.com/", "https://api.github.com/"].contains {
                url.utf8.starts(with: $0.utf8)
            }
        }
    }
}
