import Cryptography
import Domain
import HTTP
import Storage
import Text

/// Finds the principal that a request's credential identifies. Throws if the credential is invalid.
package struct Authenticator: Sendable {
    let database: Database
    let tokens: AccessTokens
    /// Whether a key's use is counted and checked against its limit.
    private(set) var isCounting = true

    init(database: Database, tokens: AccessTokens) {
        self.database = database
        self.tokens = tokens
    }

    /// A copy of this authenticator that counts no uses. During a long-running call, it is used to
    /// check the call's credential again.
    var uncounted: Authenticator {
        var other = self
        other.isCounting = false
        return other
    }

    /// The caller of a request; `.anonymous` without a credential. Throws 401 for an invalid
    /// credential, and 400 for more than one `Authorization` header. Throws
    /// `StorageFailure.unavailable` if the database cannot be reached.
    package func principal(of request: Request) async throws -> CallerPrincipal {
        if let caller = try await LambdaCaller(database: database).principal(of: request) {
            return caller
        }
        let lines = request.all("authorization")
        if lines.count > 1 {
            throw Problem(.invalidRequest, "There is more than one Authorization header; send one.")
        }
        if let line = lines.first { return try await bearer(line, request) }
        if let token = SessionCookie.token(in: request) { return try await console(token, request) }
        return .anonymous
    }

    private func bearer(_ line: String, _ request: Request) async throws -> CallerPrincipal {
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased().utf8.elementsEqual("bearer".utf8) else {
            throw Problem.unauthorized(
                "The Authorization header must be `Bearer` and an API key or access token.")
        }
        let text = String(parts[1])
        return text.utf8.contains(UInt8(ascii: "."))
            ? try await person(text) : try await key(text, request)
    }

    /// The holder of an access token: a user with the rights of their role in their tenant.
    private func person(_ token: String) async throws -> CallerPrincipal {
        guard let claims = try await tokens.verify(token) else {
            throw Problem.unauthorized("The access token is invalid or has expired; get a new one.")
        }
        guard let found = try await database.scope(claims.tenant).signedIn(.id(claims.session)),
            found.user.id == claims.user
        else { throw Problem.unauthorized("The session has ended; sign in again.") }
        switch found.standing {
        case .active: break
        case .tenantSuspended: throw Problem(.reason(.tenantSuspended), "The tenant is suspended.")
        case .userSuspended: throw Problem(.reason(.userSuspended), "The account is suspended.")
        case .ended: throw Problem.unauthorized("The session has ended; sign in again.")
        }
        // An app's token is refused if the tenant does not have that app or has disabled it.
        let client = try await database.scope(claims.tenant).client(found.session.client)
        guard client?.enabled ?? false else {
            throw Problem.unauthorized(
                "The tenant has not enabled the app of this session; ask "
                    + "an operator.")
        }
        var principal = CallerPrincipal(
            .user(id: found.user.id, role: found.user.role, tenant: claims.tenant),
            name: found.user.name ?? found.user.email)
        principal.session = found.session.id
        return principal
    }

    /// The principal of an API key, wherever in the request it was sent.
    package func key(_ text: String, _ request: Request) async throws -> CallerPrincipal {
        guard let secret = APIKeySecret(text) else {
            throw Problem.unauthorized("The key is not well formed.")
        }
        let hash = KeyHash(of: secret.text)
        guard let key = try await database.fetchKey(locator: secret.locator, hash: hash) else {
            throw Problem.unauthorized("The key is not known.")
        }
        return try admit(key, from: request.remoteAddress, origin: request.first("origin"))
    }

    /// The principal of a key that was looked up. Counts the use if `isCounting` is true. Throws if
    /// the key may not be used at all, or not from this address or origin.
    package func admit(
        _ key: PresentedKey, from address: String, origin: String?
    ) throws(Problem) -> CallerPrincipal {
        let now = database.clock()
        let facts = key.facts(scopes: [], ip: address, origin: origin ?? "")
        if let refusal = Self.refusal(APIKeyVerdict.of(facts, now: now), key) { throw refusal }
        var left: RateLimitLeft?
        if isCounting, let limit = key.rateLimit {
            let seconds = 60 - now.microseconds / 1_000_000 % 60
            guard let remaining = database.keyUses.take(limit, of: key.limitKey, at: now) else {
                throw Problem.rateLimited(
                    "The key may be used \(limit) times a minute, together with the keys that "
                        + "share its limit.", limit: limit, retryAfter: seconds)
            }
            left = RateLimitLeft(limit: limit, remaining: remaining, resetsIn: seconds)
        }
        if isCounting { database.keyUses.note(key, at: now, ip: address, isVerified: false) }
        var principal = CallerPrincipal(
            .key(id: key.id, owner: key.owner, scopes: key.scopes, limits: key.limits),
            name: key.name)
        principal.rateLimit = left
        return principal
    }

    /// The error for a verdict; `nil` if the key is admitted. A call without an origin does not
    /// come from a browser, so a key that is limited to origins is refused.
    private static func refusal(_ verdict: APIKeyVerdict, _ key: PresentedKey) -> Problem? {
        switch verdict {
        case .valid, .scopeMissing, .rateLimited: nil
        case .revoked: .unauthorized("The key has been revoked.")
        case .expired: .unauthorized("The key has expired.")
        case .unknown where key.isPrevious: .unauthorized("The key has been rotated.")
        case .unknown: .unauthorized("The key is not known.")
        case .userSuspended: Problem(.reason(.userSuspended), "The key's user is suspended.")
        // The key of a pending user may have either verdict: the user's row is removed together
        // with the user's invite, but the user's keys remain.
        case .userPending, .userDeleted: .unauthorized("The key's user is not active.")
        case .tenantSuspended: Problem(.reason(.tenantSuspended), "The key's tenant is suspended.")
        case .ipNotAllowed: .forbidden("The key is not allowed from this address.")
        case .originNotAllowed: .forbidden("The key is not allowed from this origin.")
        }
    }

    private func console(_ token: String, _ request: Request) async throws -> CallerPrincipal {
        guard let hash = TokenSecret.hash(token),
            let session = try await database.operatorSession(tokenHash: hash),
            session.operator.status != .suspended
        else { throw Problem.unauthorized("The session has ended; sign in again.") }
        try refuseForeignPage(request)
        let person = session.operator
        // Signing out is allowed even if the tenant is suspended.
        let isLeaving = request.method == .delete && request.path == "/v1/session"
        var mayResume = false
        if let tenant = person.tenant, !isLeaving {
            switch try await database.scope(tenant).tenantRow()?.status {
            case .active: break
            case .suspended:
                guard try await isResuming(person, of: tenant, request) else {
                    throw Problem(.reason(.tenantSuspended), "The tenant is suspended.")
                }
                mayResume = true
            default: throw Problem.unauthorized("The tenant is deleted.")
            }
        }
        try requireSecondFactor(session, request)
        var principal = CallerPrincipal(
            .operator(id: person.id, role: person.role, tenant: person.tenant),
            name: person.name ?? person.email)
        principal.isConsoleSession = true
        principal.session = session.id
        principal.stepUpUntil = session.stepUpUntil
        principal.stepUpMethods = person.factors.stepUpMethods
        principal.hasUnusableFactors = person.factors.areUnusable
        principal.canReturn = person.factors.canReturn
        principal.lacksSecondFactor = session.lacksSecondFactor
        principal.mayResume = mayResume
        return principal
    }

    /// Throws 403 if the operator must first set up a second factor or prove it: either the time
    /// limit for the set-up has passed, or the operator signed in at the provider without the
    /// factor. Only requests to sign out, and to set up or prove the factor, are then allowed.
    private func requireSecondFactor(_ session: OperatorSession, _ request: Request) throws {
        let due = session.operator.secondFactorDue.map { database.clock() >= $0 } ?? false
        let isOverdue =
            database.options.secondFactorDays != nil && due && !session.hasProvidersFactor
        guard isOverdue || session.lacksSecondFactor else { return }
        let isOwn =
            session.lacksSecondFactor
            ? Self.isWayToFactor(request)
            : ["/v1/me", "/v1/session"].contains {
                request.path == $0 || request.path.hasPrefix($0 + "/")
            }
        guard isOwn else {
            if session.lacksSecondFactor {
                let factors = session.operator.factors
                throw Problem.stepUpRequired(
                    "Your account has a second factor, which the provider did not ask for. Prove "
                        + "it with one of `methods`; if there are none, see `remedies`.",
                    by: factors.stepUpMethods.map(\.rawValue)
                        + (factors.recoveryCodesLeft > 0 ? ["recovery_code"] : []),
                    else: factors.areUnusable ? [.operatorReset] : [])
            }
            throw Problem(
                .secondFactorRequired,
                "Your role needs a second factor; set one up in your account first.")
        }
    }

    /// Whether an operator who signed in through the provider may make this request before proving
    /// their own second factor. The sign-in at the provider is not proof enough of who the operator
    /// is, so only proving the factor, reading `/v1/me` and signing out are allowed.
    private static func isWayToFactor(_ request: Request) -> Bool {
        switch request.path {
        case "/v1/session", "/v1/session/step-up", "/v1/session/step-up/provider",
            "/v1/me/passkeys/options":
            true
        case "/v1/me": [.get, .head].contains(request.method)
        default: false
        }
    }

    /// Whether an owner of a suspended tenant may make this request. If the tenant's own operators
    /// suspended it, an owner may read the tenant and resume it.
    private func isResuming(
        _ person: OperatorRow, of tenant: UUID, _ request: Request
    ) async throws -> Bool {
        guard person.role == .owner,
            try await database.scope(tenant).isSuspendedByItself(),
            let row = try await database.scope(tenant).tenantRow()
        else { return false }
        let paths = [tenant.description, row.slug].map { "/v1/tenants/\($0)" }
        switch request.method {
        case .get, .head:
            return (["/v1/session", "/v1/me"] + paths).contains(request.path)
        case .post: return paths.contains { request.path == "\($0)/resume" }
        default: return false
        }
    }

    /// Throws 403 if a page of another origin sends the request with the console's cookie, whether
    /// the request reads or writes (Fetch Metadata). SameSite alone is not enough: browsers send
    /// the cookie from a sibling host too, and CORS may allow that host to read.
    ///
    /// A write must prove that it comes from our own pages: by `Sec-Fetch-Site` or, if the browser
    /// does not send it, by an `Origin`. For a request with the cookie, the CORS policy accepts no
    /// other origin than our own.
    private func refuseForeignPage(_ request: Request) throws {
        let reads = [.get, .head].contains(request.method)
        let isOurs =
            switch request.first("sec-fetch-site") {
            case "same-origin": true
            case "none": reads
            case nil: reads || !(request.first("origin") ?? "").isEmpty
            default: false
            }
        guard isOurs else {
            throw Problem.forbidden(
                "A session of the console cannot be used from other sites; a write must have "
                    + "`Sec-Fetch-Site: same-origin` or, without that header, this server's own "
                    + "`Origin`.")
        }
    }
}

/// The access that an endpoint requires.
package enum Access: Sendable, Equatable {
    /// Every caller has access, and no credential is checked. The endpoint may have its own rules
    /// (hooks, sign-in).
    case open
    /// Every authenticated caller has access.
    case principal
    /// Only an operator with a session of the console has access.
    case console
    /// The caller must have the right, in the path's tenant if the path has one.
    case right(Right)
    /// The caller must have the right, if only over its own objects. The handler checks who owns
    /// the object.
    case own(Right)
    /// The caller must have at least one of the rights. The handler checks which one the request
    /// needs.
    case anyOf([Right])
    /// The caller must have the right, and must be an operator or a key of the platform.
    case platform(Right)

    /// The error if the table of rights denies the access; `nil` if it allows it. `tenant` is the
    /// path's tenant.
    func refusal(_ who: CallerPrincipal, in tenant: UUID?) -> Problem? {
        let tenant = tenant ?? who.tenant
        switch self {
        case .open, .principal: return nil
        case .console:
            return who.isConsoleSession
                ? nil : .forbidden("This needs an operator's session of the console.")
        case .right(let right): return Self.refusal(who, right, in: tenant)
        case .own(let right):
            return Self.refusal(who, right, in: tenant, own: who.user ?? who.id)
        case .anyOf(let rights):
            let refusals = rights.map { Self.refusal(who, $0, in: tenant) }
            return refusals.contains { $0 == nil } ? nil : refusals.first ?? Self.noRight
        case .platform(let right):
            guard who.platform else {
                return .forbidden("This needs a credential of the platform.")
            }
            return Self.refusal(who, right, in: nil)
        }
    }

    private static let noRight = Problem.forbidden("No credential may do this.")

    /// The error if the principal lacks the right in this tenant; `nil` if it has the right. `own`
    /// is the user who owns the object.
    private static func refusal(
        _ who: CallerPrincipal, _ right: Right, in tenant: UUID?, own: UUID? = nil
    ) -> Problem? {
        switch Permissions.permits(
            who.subject, right, in: tenant, target: PermissionTarget(ownerID: own))
        {
        case .allowed: nil
        case .notFound: .notFound("tenant")
        case .forbidden(let missing): .missing(missing)
        }
    }
}

extension Authenticator {
    /// Throws 400 if the query string contains an API key of this server. By this time, access logs
    /// already contain the key. If the key is not revoked, the leak is recorded in the audit log of
    /// the key's owner.
    func refuseKeyInAddress(_ request: Request) async throws {
        for pair in request.query.split(separator: "&") {
            guard let mark = pair.utf8.firstIndex(of: UInt8(ascii: "=")),
                let secret = APIKeySecret(pair[pair.utf8.index(after: mark)...])
            else { continue }
            let hash = KeyHash(of: secret.text)
            if let key = try await database.fetchKey(locator: secret.locator, hash: hash),
                key.revokedAt == nil
            {
                let actor = Actor(
                    type: "system", id: "gatehouse", name: "Gatehouse", requestID: request.id,
                    ip: request.remoteAddress)
                try await database.scope(key.tenant).change(by: actor) {
                    try await $0.audit(.apiKeyLeaked, AuditTarget("api_key", key.id, key.name))
                }
            }
            throw Problem(.invalidRequest, "A credential must not be part of the URL.")
        }
    }
}
