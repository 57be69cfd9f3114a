import API
import Cryptography
import Domain
import Storage
import Text

/// The authenticated caller of an app's request, with the current data.
package enum Caller: Sendable {
    case person(SignedIn)
    /// With the user who owns it, if there is one.
    case key(CallerPrincipal, owner: UserRow?)

    /// The key of the request; nil for a user's session.
    package var key: CallerPrincipal? {
        if case .key(let principal, owner: _) = self { principal } else { nil }
    }

    /// The session's user, or the owner of the key.
    package var user: UserRow? {
        switch self {
        case .person(let person): person.user
        case .key(_, let owner): owner
        }
    }
}

extension ClientCall {
    /// Resolves every credential. Throws `.noCredential`, `.invalidToken`, `.invalidKey`,
    /// `.userSuspended`; 404 for another tenant's.
    package func caller() async throws -> Caller {
        guard let credential = try Credential(request, cookie: contract.cookie) else {
            throw SignInRefusal.noCredential
        }
        if credential.source == .header, credential.text.utf8.starts(with: "gate_".utf8) {
            return try await caller(byKey: credential.text)
        }
        return .person(try await person(credential.text))
    }

    /// The signed-in user: a key is not a session.
    package func signedIn() async throws -> SignedIn {
        guard case .person(let person) = try await caller() else {
            throw SignInRefusal.invalidToken
        }
        return person
    }

    private func caller(byKey key: String) async throws -> Caller {
        if let secret = APIKeySecret(key) { try requireOwn(locator: secret.locator) }
        let principal: CallerPrincipal
        do {
            principal = try await core.checkKey(key, request)
        } catch let problem as Problem where problem.status == 401 {
            throw SignInRefusal.invalidKey(problem.detail)
        }
        guard principal.tenant == tenant.id else { throw Problem.notFound("path") }
        var owner: UserRow?
        if let user = principal.user { owner = try await scope.user(user) }
        return .key(principal, owner: owner)
    }

    /// 404 for another tenant's credential by its own locator: it is not looked up, so that the
    /// response does not reveal whether it is valid.
    private func requireOwn(locator: String) throws {
        guard sameBytes(locator, tenant.locator) else { throw Problem.notFound("path") }
    }

    /// Ends the session of the request's token, also a suspended user's: lifting the suspension
    /// must not sign them in again. A key has no session and is only checked.
    package func endOwnSession() async throws {
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

    /// By an opaque token or by an access token of ours; either way its session decides, whatever
    /// the user's status.
    private func holder(of token: String) async throws -> SignedIn {
        let name: TenantScope.SessionName
        if token.utf8.contains(UInt8(ascii: ".")) {
            guard let claims = try await core.tokens.verify(token) else {
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
