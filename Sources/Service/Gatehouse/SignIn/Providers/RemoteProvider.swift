import API
import Cryptography
import Domain
import HTTP
import JSON
import Outbound
import Storage
import Text

/// A provider at which this server is a client. Calls the provider's endpoints and verifies the
/// provider's tokens.
struct RemoteProvider: Sendable {
    let row: ProviderRow
    let party: RelyingParty
    let clientID: String
    /// The client's secret at the provider; `nil` for a public client.
    let secret: String?
    /// The HTTP client for requests to the provider's endpoints.
    let http: OutboundHTTP
    let documents: ProviderDocuments

    var isGitHub: Bool { party.kind == .github }

    var scope: String { isGitHub ? "read:user user:email" : "openid profile email" }

    func isIssuer(_ text: String) -> Bool { party.isIssuer(text) }

    /// Returns the URL of an endpoint of the provider. Throws `.providerAway` if it is unknown.
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
            return try await documents.metadata(of: party)
        } catch {
            throw SignInRefusal(error, of: "discovery")
        }
    }

    /// Exchanges the authorization code for the provider's tokens (RFC 6749 section 4.1.3) and
    /// returns the person that they prove.
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

    /// Verifies an id token with the provider's keys and returns its person. `nonce` is `nil` if
    /// the sign-in did not begin here.
    func person(idToken text: String, nonce: String?) async throws -> ProvedPerson {
        try await person(signed: text, nonce: nonce, isAccessToken: false)
    }

    /// Verifies a signed token with the provider's keys and returns its person. `isAccessToken` is
    /// true for an access token (RFC 9068), false for an id token.
    func person(
        signed text: String, nonce: String?, isAccessToken: Bool
    ) async throws -> ProvedPerson {
        let claims: IDClaims
        do {
            let token = try IDToken(Array(text.utf8), isAccessToken: isAccessToken)
            claims = try await documents.claims(
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

    /// Calls the token endpoint once and returns its response. Throws if the response has an
    /// `error`, which means that the provider refuses; the error's name is logged.
    func token(_ form: [(String, String)]) async throws -> JSONValue {
        let answer = try await tokenAnswer(form)
        if let error = answer["error"]?.string {
            throw SignInRefusal.notProved("token endpoint: " + String(error.prefix(64)))
        }
        return answer
    }

    /// Calls the token endpoint once and returns its response. Does not throw if the response has
    /// an `error`, since a device polls until its user has decided.
    func tokenAnswer(_ form: [(String, String)]) async throws -> JSONValue {
        try await authenticated(form, at: try await endpoint(.token))
    }

    /// Sends a form with the client's own id and secret, and returns the JSON of the response.
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
    /// Returns the provider in the form in which this server can call it as a client; `nil` if the
    /// provider has no browser sign-in.
    func remote(_ provider: ProviderRow) async throws -> RemoteProvider? {
        guard let party = party(of: provider), let clientID = party.clientID else { return nil }
        return RemoteProvider(
            row: provider, party: party, clientID: clientID,
            secret: try await secret(at: provider), http: application.http,
            documents: application.documents)
    }
}

/// Handles the responses of the provider's endpoints.
extension RemoteProvider {
    /// Asks the userinfo endpoint for what the id token lacks about the address (OpenID Connect
    /// Core section 5.3.2), and adds it. The response must be for the same subject; it is plain
    /// JSON or signed by the provider's keys. If the endpoint fails, the address stays missing and
    /// the rules decide, since the person is already proved; the cause is kept for the decision.
    func complete(_ person: inout ProvedPerson, _ accessToken: String) async throws {
        guard person.email == nil || person.emailVerified == nil else { return }
        do {
            guard let url = try await metadata().endpoints[.userInfo] else { return }
            let info = try await userInfo(url, bearer: accessToken)
            guard Self.isSubject(info["sub"], person.subject) else {
                throw SignInRefusal.notProved("userinfo: subject_mismatch")
            }
            person.take(info)
        } catch let refusal as SignInRefusal {
            person.addressFault = refusal.reason
        }
    }

    /// Whether the value `sub` from userinfo is this subject. Some providers send a number although
    /// the id token has a text. Such a number counts only if it is an integer so small that every
    /// JSON reader reads it exactly.
    private static func isSubject(_ value: JSONValue?, _ subject: String) -> Bool {
        switch value {
        case .string(let text): return sameBytes(text, subject)
        case .number(let text):
            let isWhole = text.utf8.allSatisfy { ASCII.isDigit($0) }
            guard isWhole, let number = UInt64(text), number <= 1 << 53 else { return false }
            return sameBytes(text, subject)
        default: return false
        }
    }

    private func userInfo(_ url: String, bearer: String) async throws -> JSONValue {
        let answer = try await answered(asking(.get, url, bearer: bearer))
        let type = asciiLowercased(answer.first("content-type") ?? "")
        guard (200..<300).contains(answer.status),
            type.utf8.prefix(while: { $0 != UInt8(ascii: ";") && $0 != 0x20 })
                .elementsEqual(SignedUserInfo.mediaType.utf8)
        else { return try unrefused(json(of: answer), by: url) }
        do {
            // Some providers send a line break after the token.
            let text = answer.body.reversed().drop { $0 == 0x0A || $0 == 0x0D }.reversed()
            return try await documents.claims(of: SignedUserInfo(Array(text)), from: party)
        } catch let fault as IDTokenFault {
            throw SignInRefusal.notProved("userinfo: " + fault.reason)
        } catch let fault as FederationFault {
            throw SignInRefusal(fault, of: "userinfo")
        }
    }

    func ask(_ method: HTTP.Method, _ url: String, bearer: String) async throws -> JSONValue {
        try unrefused(try await send(asking(method, url, bearer: bearer)), by: url)
    }

    /// Sends the request and returns the JSON of a 2xx response. For any other status, returns an
    /// object whose `error` names the refusal. Throws `.providerAway` for 429, a 5xx or no
    /// response.
    func send(_ request: OutboundRequest) async throws -> JSONValue {
        try json(of: try await answered(request))
    }

    private func asking(
        _ method: HTTP.Method, _ url: String, bearer: String
    ) throws -> OutboundRequest {
        guard bearer.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SignInRefusal.notProved("the token is malformed")
        }
        return OutboundRequest(method, url, fields: [Field("authorization", "Bearer \(bearer)")])
    }

    private func unrefused(_ value: JSONValue, by url: String) throws -> JSONValue {
        if let error = value["error"] {
            let name = error.string.map { ": \($0.prefix(64))" } ?? ""
            throw SignInRefusal.notProved("refused by \(url)\(name)")
        }
        return value
    }

    private func answered(_ request: OutboundRequest) async throws -> OutboundResponse {
        var request = request
        request.fields.append(Field("accept", "application/json, application/jwt;q=0.9"))
        request.fields.append(Field("user-agent", "Gatehouse"))
        let answer: OutboundResponse
        do throws(OutboundFailure) {
            answer = try await http.send(request, for: party.owner)
        } catch {
            throw SignInRefusal.providerAway("\(request.url): \(error.rawValue)")
        }
        guard answer.status < 500, answer.status != 429 else {
            throw SignInRefusal.providerAway("\(request.url): status \(answer.status)")
        }
        return answer
    }

    private func json(of answer: OutboundResponse) throws -> JSONValue {
        let value = try? JSONValue(parsing: answer.body, limits: JSONLimits(depth: 32))
        guard (200..<300).contains(answer.status) else {
            let name = value?["error"]?.string ?? "status \(answer.status)"
            return .object([.init("error", .string(name))])
        }
        if answer.body.isEmpty { return .null }
        guard let value else { throw SignInRefusal.notProved("no JSON") }
        return value.withoutNulls
    }
}

extension ProvedPerson {
    /// Adds the address of a userinfo response. If the id token has an address already, adds only
    /// whether the response says that this address is verified.
    fileprivate mutating func take(_ info: JSONValue) {
        let claims = IDClaims(userInfo: info, subject: subject)
        name = name ?? claims.name
        guard let own = email else {
            email = claims.email
            emailVerified = claims.emailVerified
            return
        }
        let keys = [own, claims.email ?? ""].map { try? EmailAddress($0).key }
        guard let key = keys[0], let other = keys[1], sameBytes(key, other) else { return }
        emailVerified = claims.emailVerified
    }
}

extension SignInRefusal {
    /// Creates the refusal of a provider's token. `what` names the kind of token, for the log.
    init(_ fault: FederationFault, of what: String) {
        switch fault {
        case .token(let fault): self = .notProved("\(what): \(fault.reason)")
        case .unavailable(let reason): self = .providerAway(reason)
        }
    }
}

extension RemoteProvider {
    /// The maximum number of an account's addresses that are read in addition to the primary
    /// address. They are read because any of them may have been invited.
    private static let addressLimit = 20

    /// Returns the person of a GitHub token. We must have redeemed the token, or have proof that it
    /// was issued to our client.
    func gitHubPerson(_ token: String) async throws -> ProvedPerson {
        let url = try await endpoint(.userInfo)
        let user = try await ask(.get, url, bearer: token)
        guard let id = user["id"]?.int, id > 0 else {
            throw SignInRefusal.notProved("no GitHub user")
        }
        var person = ProvedPerson(provider: row, subject: "\(id)", audience: clientID)
        person.name = user["name"]?.string ?? user["login"]?.string
        do {
            let emails = try await ask(.get, url + "/emails", bearer: token)
            let primary = emails.array?.first { $0["primary"]?.bool == true }
            person.email = primary?["email"]?.string
            person.emailVerified = primary?["verified"]?.bool
            person.otherEmails = (emails.array ?? []).filter {
                $0["verified"]?.bool == true && $0["primary"]?.bool != true
            }.prefix(Self.addressLimit).compactMap { $0["email"]?.string }
        } catch let refusal as SignInRefusal {
            // Does not throw: the person is proved already, and the rules decide about a person
            // without an address.
            person.addressFault = refusal.reason
        }
        return person
    }

    /// Asks GitHub whether a token from an app was issued to our client, and throws if not. Without
    /// this check, the owner of another app could sign in as that app's users. Returns when the
    /// token was issued, which the token itself does not say.
    func requireOurs(_ token: String) async throws -> TokenTime {
        guard let secret else { throw SignInRefusal.secretMissing }
        let url = try await endpoint(.tokenCheck)
        let body = JSONValue.object([.init("access_token", .string(token))])
        let answer = try await send(
            OutboundRequest(
                .post, url,
                fields: [Field("content-type", "application/json"), basic(clientID, secret)],
                body: body.encoded()))
        guard answer["error"] == nil, answer["user"]?["id"]?.int != nil else {
            throw SignInRefusal.notProved(
                "the GitHub token was not issued to this server's client")
        }
        guard let made = answer["created_at"]?.string.flatMap({ Timestamp($0) }) else {
            return .unknown
        }
        return .at(made.microseconds / 1_000_000)
    }
}
