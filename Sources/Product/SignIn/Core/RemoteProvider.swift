import API
import Domain
import Federation
import HTTP
import JSON
import Outbound
import Storage
import Text

/// One provider as this server is its client: where to send people, and how its word is checked.
struct RemoteProvider: Sendable {
    let row: ProviderRow
    let party: RelyingParty
    let clientID: String
    /// What the provider gave its client; nil for a public client.
    let secret: String?
    let core: SignInCore

    private static let gitHub: [RelyingParty.Endpoint: String] = [
        .authorization: "https://github.com/login/oauth/authorize",
        .token: "https://github.com/login/oauth/access_token",
        .userInfo: "https://api.github.com/user",
        .deviceAuthorization: "https://github.com/login/device/code",
    ]

    var isGitHub: Bool { party.kind == .github }

    var scope: String { isGitHub ? "read:user user:email" : "openid profile email" }

    func isIssuer(_ text: String) -> Bool { party.isIssuer(text) }

    /// Throws `.providerAway`: without the endpoint nobody can be sent there.
    func endpoint(_ wanted: RelyingParty.Endpoint) async throws -> String {
        if let set = party.endpoints[wanted] { return set }
        if isGitHub, let known = Self.gitHub[wanted] { return known }
        guard !isGitHub, let found = try await metadata().endpoints[wanted] else {
            throw SignInRefusal.providerAway
        }
        return found
    }

    func metadata() async throws -> ProviderMetadata {
        do throws(FederationFault) {
            return try await core.documents.metadata(of: party)
        } catch {
            throw SignInRefusal.providerAway
        }
    }

    /// The authorization code for the provider's word (RFC 6749 section 4.1.3).
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
        if person.email == nil, let access = tokens["access_token"]?.string {
            try await complete(&person, access)
        }
        return person
    }

    /// An id token by the provider's keys. `nonce` nil: nobody here began the sign-in.
    func person(idToken text: String, nonce: String?) async throws -> ProvedPerson {
        try await person(signed: text, nonce: nonce, isAccessToken: false)
    }

    /// The same of an access token that is signed (RFC 9068).
    func person(
        signed text: String, nonce: String?, isAccessToken: Bool
    ) async throws -> ProvedPerson {
        let claims: IDClaims
        do {
            let token = try IDToken(Array(text.utf8), isAccessToken: isAccessToken)
            claims = try await core.documents.claims(
                of: token, from: party, nonce: nonce, isAccessToken: isAccessToken)
        } catch let fault as IDTokenFault {
            throw SignInRefusal.notProved(Self.name(isAccessToken) + fault.rawValue)
        } catch FederationFault.token(let fault) {
            throw SignInRefusal.notProved(Self.name(isAccessToken) + fault.rawValue)
        } catch is FederationFault {
            throw SignInRefusal.providerAway
        }
        return ProvedPerson(
            provider: row, subject: claims.subject, email: claims.email,
            emailVerified: claims.emailVerified, name: claims.name,
            hostedDomain: claims.hostedDomain, audience: claims.audience,
            tokenTime: TokenTime(claims: claims.all))
    }

    private static func name(_ isAccessToken: Bool) -> String {
        isAccessToken ? "access token: " : "id token: "
    }

    /// The address from the userinfo endpoint, where the id token is silent (OpenID Connect Core
    /// section 5.3.2: only for the same subject).
    func complete(_ person: inout ProvedPerson, _ accessToken: String) async throws {
        guard let url = try await metadata().endpoints[.userInfo] else { return }
        let info = try await ask(.get, url, bearer: accessToken)
        guard let subject = info["sub"]?.string, sameBytes(subject, person.subject) else { return }
        person.email = info["email"]?.string
        person.emailVerified = info["email_verified"]?.bool
        person.name = person.name ?? info["name"]?.string
    }

    /// One call of the token endpoint. An `error` is the provider's no; its name is for the log.
    func token(_ form: [(String, String)]) async throws -> JSONValue {
        let answer = try await tokenAnswer(form)
        if let error = answer["error"]?.string {
            throw SignInRefusal.notProved("token endpoint: " + String(error.prefix(64)))
        }
        return answer
    }

    /// The same with `error` left to the caller: a device asks until its person has decided.
    func tokenAnswer(_ form: [(String, String)]) async throws -> JSONValue {
        try await authenticated(form, at: try await endpoint(.token))
    }

    /// A form with the client's own id and secret.
    func authenticated(_ form: [(String, String)], at url: String) async throws -> JSONValue {
        var form = form + [("client_id", clientID)]
        var fields = [Field("content-type", "application/x-www-form-urlencoded")]
        if let secret {
            if try await takesSecretInHeader() {
                fields.append(basic(FormText.escape(clientID), FormText.escape(secret)))
            } else {
                form.append(("client_secret", secret))
            }
        }
        let body = Array(FormText.encode(form).utf8)
        return try await send(
            OutboundRequest(.post, url, fields: fields, body: body))
    }

    func ask(_ method: HTTP.Method, _ url: String, bearer: String) async throws -> JSONValue {
        guard bearer.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SignInRefusal.notProved("the token is no token")
        }
        let value = try await send(
            OutboundRequest(method, url, fields: [Field("authorization", "Bearer \(bearer)")]))
        guard value["error"] == nil else { throw SignInRefusal.notProved("refused by \(url)") }
        return value
    }

    /// JSON of a 2xx, or of a 4xx that names its error; a 5xx or no answer is `.providerAway`.
    func send(_ request: OutboundRequest) async throws -> JSONValue {
        var request = request
        request.fields.append(Field("accept", "application/json"))
        request.fields.append(Field("user-agent", "Gatehouse"))
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await core.http.send(request, for: party.owner)
        } catch {
            throw SignInRefusal.providerAway
        }
        guard answer.status < 500, answer.status != 429 else { throw SignInRefusal.providerAway }
        let value = try? JSONValue(parsing: answer.body, limits: JSONLimits(depth: 32))
        guard (200..<300).contains(answer.status) else {
            let name = value?["error"]?.string ?? "status \(answer.status)"
            return .object([.init("error", .string(name))])
        }
        guard let value else { throw SignInRefusal.notProved("no JSON") }
        return value
    }

    func basic(_ user: String, _ password: String) -> Field {
        Field("authorization", "Basic " + Base64.encode(Array("\(user):\(password)".utf8)))
    }

    private func takesSecretInHeader() async throws -> Bool {
        isGitHub ? false : try await metadata().takesSecretInHeader
    }
}

extension ClientCall {
    /// nil for a provider that nobody can be sent to.
    func remote(_ provider: ProviderRow) async throws -> RemoteProvider? {
        guard let party = provider.relyingParty, let clientID = party.clientID else { return nil }
        return RemoteProvider(
            row: provider, party: party, clientID: clientID,
            secret: try await core.database.clientSecret(of: provider), core: core)
    }
}
