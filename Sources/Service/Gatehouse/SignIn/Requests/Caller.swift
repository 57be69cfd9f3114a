import API
import Cryptography
import Domain
import HTTP
import Storage
import Text

/// The authenticated caller of an app's request, with the current data of the user or key.
enum Caller: Sendable {
    case person(SignedIn)
    /// An API key, with the user who owns it; `nil` if no user owns it.
    case key(CallerPrincipal, owner: UserRow?)

    /// The key of the request; `nil` for a user's session.
    var key: CallerPrincipal? {
        if case .key(let principal, owner: _) = self { principal } else { nil }
    }

    /// The user of the session, or the owner of the key.
    var user: UserRow? {
        switch self {
        case .person(let person): person.user
        case .key(_, let owner): owner
        }
    }
}

extension ClientCall {
    /// Returns the caller whom the request's credential identifies, whether it is a session token
    /// or an API key. Throws `.noCredential`, `.invalidToken`, `.invalidKey`, `.userSuspended`; 404
    /// for another tenant's credential.
    func caller() async throws -> Caller {
        guard let credential = try Credential(request, cookie: contract.cookie) else {
            throw SignInRefusal.noCredential
        }
        if credential.source == .header, credential.text.utf8.starts(with: "gate_".utf8) {
            return try await caller(byKey: credential.text)
        }
        return .person(try await person(credential.text))
    }

    /// Returns the signed-in user; throws `.invalidToken` for a key, which is no session.
    func signedIn() async throws -> SignedIn {
        guard case .person(let person) = try await caller() else {
            throw SignInRefusal.invalidToken
        }
        return person
    }

    private func caller(byKey key: String) async throws -> Caller {
        if let secret = APIKeySecret(key) { try requireOwn(locator: secret.locator) }
        let principal: CallerPrincipal
        do {
            principal = try await application.authenticator.key(key, request)
        } catch let problem as Problem where problem.status == 401 {
            throw SignInRefusal.invalidKey(problem.detail)
        }
        guard principal.tenant == tenant.id else { throw Problem.notFound("path") }
        var owner: UserRow?
        if let user = principal.user { owner = try await scope.user(user) }
        return .key(principal, owner: owner)
    }

    /// Throws 404 for a credential that names another tenant by its locator. The credential is not
    /// looked up, so that the response does not reveal whether it is valid.
    private func requireOwn(locator: String) throws {
        guard sameBytes(locator, tenant.locator) else { throw Problem.notFound("path") }
    }

    /// Ends the session of the request's token. This works for a suspended user too; otherwise the
    /// end of the suspension would sign them in again. A key has no session and is only checked.
    func endOwnSession() async throws {
        guard let credential = try Credential(request, cookie: contract.cookie) else {
            throw SignInRefusal.noCredential
        }
        if credential.source == .header, credential.text.utf8.starts(with: "gate_".utf8) {
            _ = try await caller(byKey: credential.text)
        } else {
            try await endSession(holder(of: credential.text))
        }
    }

    private func person(_ token: String) async throws -> SignedIn {
        let found = try await holder(of: token)
        switch found.standing {
        case .active: return found
        case .tenantSuspended: throw SignInRefusal.tenantSuspended
        case .userSuspended: throw SignInRefusal.userSuspended
        case .ended: throw SignInRefusal.invalidToken
        }
    }

    /// Returns the user and the session of a token that this server issued: an opaque token or an
    /// access token. The session must be valid; the user's status does not matter.
    private func holder(of token: String) async throws -> SignedIn {
        let name: TenantScope.SessionName
        if token.utf8.contains(UInt8(ascii: ".")) {
            guard let claims = try await application.tokens.verify(token) else {
                throw SignInRefusal.invalidToken
            }
            guard claims.tenant == tenant.id else { throw Problem.notFound("path") }
            name = .id(claims.session)
        } else {
            guard let locator = TenantToken.locator(token) else { throw SignInRefusal.invalidToken }
            try requireOwn(locator: locator)
            name = .tokenHash(TenantToken.hash(token))
        }
        guard let found = try await scope.signedIn(name),
            sameBytes(found.session.client, client.name)
        else { throw SignInRefusal.invalidToken }
        return found
    }
}

/// A person who is proved by an id token in each request. No sign-in began here, and nothing is
/// stored.
struct BearerPerson: Sendable {
    var provider: ProviderRow
    /// The attempt at this tenant, which the rules evaluate.
    var attempt: ProvisioningCall
}

extension ClientCall {
    /// Verifies the request's id token with the keys of a provider of the tenant or of the
    /// platform, and returns the person whom the token proves. Throws `.noCredential`,
    /// `.notProved`, `.providerAway`.
    func bearerPerson() async throws -> BearerPerson {
        guard let credential = try Credential(request, cookie: nil) else {
            throw SignInRefusal.noCredential
        }
        let token: IDToken
        do throws(IDTokenFault) {
            token = try IDToken(Array(credential.text.utf8))
        } catch {
            throw SignInRefusal.notProved("id token: " + error.reason)
        }
        let (provider, party) = try await issuer(of: token)
        do throws(FederationFault) {
            let claims = try await application.documents.claims(of: token, from: party)
            var attempt = ProvisioningCall(claims, from: provider)
            attempt.tenant = tenant.id.description
            return BearerPerson(provider: provider, attempt: attempt)
        } catch {
            throw SignInRefusal(error, of: "id token")
        }
    }

    /// Runs the rules for the person at this tenant without applying the result. It writes only the
    /// last sign-in of an existing user. Throws `.locked` for a person who asks too often.
    func evaluate(_ person: BearerPerson) async throws -> ProvisioningResult {
        let taken = try await database.count(
            "dry runs of \(person.provider.id) \(person.attempt.subjectKey)")
        guard taken <= database.options.limits.dryRuns else {
            throw SignInRefusal.locked(Int(database.secondsOfMinuteLeft))
        }
        let result = try await decide(person.attempt, event: nil, isDryRun: true)
        // Record this as a sign-in: these users do not sign in in any other way, since each of
        // their requests has an id token.
        if result.verdict.outcome == .existing { database.noteSignIn(result, by: person.attempt) }
        return result.publicView
    }

    /// Runs the rules for the person at this tenant and applies the result.
    func provision(_ person: BearerPerson) async throws -> ProvisioningResult {
        try await decide(person.attempt, event: nil).publicView
    }

    /// Returns the provider that issued the token, and this app as its relying party. The tenant's
    /// own provider comes before the platform's; a provider of another tenant is not used.
    private func issuer(of token: IDToken) async throws -> (ProviderRow, RelyingParty) {
        var found: [(ProviderRow, RelyingParty)] = []
        for row in try await database.providers(issuing: token.claimedIssuer) {
            guard row.tenantID == nil || row.tenantID == tenant.id, let party = party(of: row),
                party.isIssuer(token.claimedIssuer), party.takesOne(of: token.claimedAudiences)
            else { continue }
            found.append((row, party))
        }
        guard let best = found.first(where: { $0.0.tenantID != nil }) ?? found.first else {
            throw SignInRefusal.notProved("id token: no provider of this tenant")
        }
        return best
    }
}

/// The credential of an app's request, from a header field or a cookie.
struct Credential: Sendable {
    enum Source: Sendable, Equatable { case header, cookie }

    var text: String
    var source: Source

    private static let schemes = ["bearer", "apikey"]

    /// Reads the credential; `nil` if there is none. Throws 400 if header fields have two different
    /// credentials. A cookie counts only if no header field has a credential.
    init?(_ request: Request, cookie: String?) throws {
        var found: [String] = []
        for line in request.all("authorization") {
            guard let text = Self.bare(line) else {
                throw Problem(
                    .invalidRequest,
                    "The Authorization header must be `Bearer` or `ApiKey` and a credential, or "
                        + "the credential alone.")
            }
            found.append(text)
        }
        for name in CORSProfile.credentialHeaders {
            found += request.all(name).filter { !$0.isEmpty }
        }
        if let first = found.first {
            guard found.allSatisfy({ sameBytes($0, first) }) else {
                throw Problem(.invalidRequest, "There are different credentials; send one.")
            }
            text = first
            source = .header
            return
        }
        guard let cookie, let value = RequestCookie.value(cookie, in: request), !value.isEmpty
        else {
            return nil
        }
        // A page of another site must not use the cookie (Fetch Metadata).
        let site = request.first("sec-fetch-site")
        if let site, site != "same-origin", site != "none", request.first("origin") == nil {
            throw Problem.forbidden("The session cannot be used from other sites.")
        }
        text = value
        source = .cookie
    }

    /// Returns the credential in a value of `Authorization`: `ApiKey k`, `Bearer k`, `Bearer jwt`,
    /// or a token without a scheme.
    private static func bare(_ line: String) -> String? {
        let parts = line.utf8.split(separator: 0x20, omittingEmptySubsequences: true)
        switch parts.count {
        case 1:
            let text = String(decoding: parts[0], as: UTF8.self)
            return schemes.contains { sameBytesIgnoringASCIICase($0, text) } ? nil : text
        case 2:
            let scheme = String(decoding: parts[0], as: UTF8.self)
            guard schemes.contains(where: { sameBytesIgnoringASCIICase($0, scheme) }) else {
                return nil
            }
            return String(decoding: parts[1], as: UTF8.self)
        default: return nil
        }
    }
}
