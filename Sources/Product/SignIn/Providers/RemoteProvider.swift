import API
import Domain
import Federation
import HTTP
import JSON
import Outbound
import Storage
import Text

/// One provider with this server as its client: its endpoints, and the verification of its tokens.
struct RemoteProvider: Sendable {
    let row: ProviderRow
    let party: RelyingParty
    let clientID: String
    /// The client's secret at the provider; nil for a public client.
    let secret: String?
    let core: SignInCore

    var isGitHub: Bool { party.kind == .github }

    var scope: String { isGitHub ? "read:user user:email" : "openid profile email" }

    func isIssuer(_ text: String) -> Bool { party.isIssuer(text) }

    /// Throws `.providerAway`: without the endpoint no redirect is possible.
    func endpoint(_ wanted: RelyingParty.Endpoint) async throws -> String {
        if let set = party.endpoints[wanted] { return set }
        let known = isGitHub ? party.gitHubEndpoints : try await metadata().endpoints
        guard let found = known[wanted] else {
            throw SignInRefusal.providerAway("no \(wanted.rawValue)")
        }
        return found
    }

    func metadata() async throws -> ProviderMetadata {
        do throws(FederationFault) {
            return try await core.documents.metadata(of: party)
        } catch {
            throw SignInRefusal(error, of: "discovery")
        }
    }

    /// Exchanges the authorization code for the provider's tokens (RFC 6749 section 4.1.3).
    func redeem(
        code: String, redirectURI: String, verifier: String, nonce: String, namesIssuer: Bool
    ) async throws -> ProvedPerson {
        if !isGitHub, !namesIssuer, try await metadata().namesIssuer {
            throw SignInRefusal.notProved("iss is missing from the answer")
        }
        let tokens = try await token([
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
            ("code_verifier", verifier),
        ])
        guard !isGitHub else {
            guard let access = tokens["access_token"]?.string else {
                throw SignInRefusal.notProved("no access_token")
            }
            return try await gitHubPerson(access)
        }
        guard let text = tokens["id_token"]?.string else {
            throw SignInRefusal.notProved("no id_token")
        }
        var person = try await person(idToken: text, nonce: nonce)
        if let access = tokens["access_token"]?.string {
            try await complete(&person, access)
        }
        return person
    }

    /// Verifies an id token by the provider's keys. `nonce` nil: the sign-in did not begin here.
    func person(idToken text: String, nonce: String?) async throws -> ProvedPerson {
        try await person(signed: text, nonce: nonce, isAccessToken: false)
    }

    /// The same for a signed access token (RFC 9068).
    func person(
        signed text: String, nonce: String?, isAccessToken: Bool
    ) async throws -> ProvedPerson {
        let claims: IDClaims
        do {
            let token = try IDToken(Array(text.utf8), isAccessToken: isAccessToken)
            claims = try await core.documents.claims(
                of: token, from: party, nonce: nonce, isAccessToken: isAccessToken)
        } catch let fault as IDTokenFault {
            throw SignInRefusal.notProved(Self.name(isAccessToken) + fault.reason)
        } catch let fault as FederationFault {
            throw SignInRefusal(fault, of: isAccessToken ? "access token" : "id token")
        }
        return ProvedPerson(
            provider: row, subject: claims.subject, email: claims.email,
            emailVerified: claims.emailVerified, name: claims.name,
            hostedDomain: claims.hostedDomain, audience: claims.audience,
            tokenTime: TokenTime(claims: claims.all), authenticatedAt: claims.authenticatedAt,
            isMultiFactor: claims.isMultiFactor)
    }

    private static func name(_ isAccessToken: Bool) -> String {
        isAccessToken ? "access token: " : "id token: "
    }

    /// One call of the token endpoint. An `error` is the provider's refusal; its name is logged.
    func token(_ form: [(String, String)]) async throws -> JSONValue {
        let answer = try await tokenAnswer(form)
        if let error = answer["error"]?.string {
            throw SignInRefusal.notProved("token endpoint: " + String(error.prefix(64)))
        }
        return answer
    }

    /// The same with `error` left to the caller: a device polls until its user has decided.
    func tokenAnswer(_ form: [(String, String)]) async throws -> JSONValue {
        try await authenticated(form, at: try await endpoint(.token))
    }

    /// A form with the client's own id and secret.
    func authenticated(_ form: [(String, String)], at url: String) async throws -> JSONValue {
        var form = form + [("client_id", clientID)]
        var fields = [Field("content-type", "application/x-www-form-urlencoded")]
        if let secret {
            if try await takesSecretInHeader() {
                fields.append(
                    basic(
                        PercentEncoding.encode(clientID.utf8), PercentEncoding.encode(secret.utf8)))
            } else {
                form.append(("client_secret", secret))
            }
        }
        let body = Array(FormText.encode(form).utf8)
        return try await send(OutboundRequest(.post, url, fields: fields, body: body))
    }

    func basic(_ user: String, _ password: String) -> Field {
        Field("authorization", "Basic " + Base64.encode(Array("\(user):\(password)".utf8)))
    }

    private func takesSecretInHeader() async throws -> Bool {
        isGitHub ? false : try await metadata().takesSecretInHeader
    }
}

extension ClientCall {
    /// nil for a provider without a browser sign-in.
    func remote(_ provider: ProviderRow) async throws -> RemoteProvider? {
        guard let party = party(of: provider), let clientID = party.clientID else { return nil }
        return RemoteProvider(
            row: provider, party: party, clientID: clientID,
            secret: try await secret(at: provider), core: core)
    }
}
