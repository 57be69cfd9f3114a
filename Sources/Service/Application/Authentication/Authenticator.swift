import API
import Cryptography
import Domain
import HTTP
import SignIn
import Storage
import Text

/// Turns the credential of a request into a principal, or refuses it.
struct Authenticator: Sendable {
    let database: Database
    let tokens: AccessTokens
    /// Whether a key's use is counted, and held against its limit.
    private(set) var isCounting = true

    /// For a second look at the credential of a call that goes on.
    var uncounted: Authenticator {
        var other = self
        other.isCounting = false
        return other
    }

    func principal(of request: Request) async throws -> API.Principal {
        if let caller = try await LambdaCaller(database: database).principal(of: request) {
            return caller
        }
        let lines = request.all("authorization")
        if lines.count > 1 {
            throw Problem(.invalidRequest, "Two Authorization headers: send one.")
        }
        if let line = lines.first { return try await bearer(line, request) }
        if let token = SessionCookie.token(in: request) {
            return try await console(token, request)
        }
        return .anonymous
    }

    private func bearer(_ line: String, _ request: Request) async throws -> API.Principal {
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased().utf8.elementsEqual("bearer".utf8) else {
            throw Problem.unauthorized("The Authorization header must be `Bearer` and a key.")
        }
        let text = String(parts[1])
        return text.utf8.contains(UInt8(ascii: "."))
            ? try await person(text) : try await key(text, request)
    }

    /// The holder of an access token: a user with the rights of their role in their tenant.
    private func person(_ token: String) async throws -> API.Principal {
        guard let claims = try await tokens.verify(token),
            let found = try await database.scope(claims.tenant).signedIn(.id(claims.session)),
            found.user.id == claims.user
        else { throw Problem.unauthorized("The session is over; sign in again.") }
        switch found.tenantStatus {
        case "active": break
        case "suspended": throw Problem(.tenantSuspended, "The tenant is suspended.")
        default: throw Problem.unauthorized("The session is over; sign in again.")
        }
        switch found.user.status {
        case "active": break
        case "suspended": throw Problem(.userSuspended, "The account is suspended.")
        default: throw Problem.unauthorized("The session is over; sign in again.")
        }
        // What an app was given is no credential while the tenant does not have that app.
        let client = try await database.scope(claims.tenant).client(found.session.client)
        guard client?.enabled ?? false else {
            throw Problem.unauthorized("The app of this session is switched off.")
        }
        var principal = API.Principal(
            kind: .user, id: found.user.id, name: found.user.name ?? found.user.email,
            tenant: claims.tenant, role: found.user.role)
        principal.user = found.user.id
        principal.session = found.session.id
        return principal
    }

    /// The principal of an API key, wherever it stood in the request.
    func key(_ text: String, _ request: Request) async throws -> API.Principal {
        guard let secret = APIKeySecret(text) else {
            throw Problem.unauthorized("The key is not well formed.")
        }
        let hash = KeyHash(of: secret.text)
        guard let key = try await database.fetchKey(locator: secret.locator, hash: hash) else {
            throw Problem.unauthorized("The key is not known.")
        }
        return try admit(key, from: request.remoteAddress, origin: request.first("origin"))
    }

    /// The principal of a key that was found, counted as used.
    func admit(
        _ key: PresentedKey, from address: String, origin: String?
    ) throws(Problem) -> API.Principal {
        if key.revokedAt != nil { throw Problem.unauthorized("The key has been revoked.") }
        let now = database.clock()
        if let end = key.expiresAt, end <= now {
            throw Problem.unauthorized("The key has expired.")
        }
        if key.isPrevious, key.previousUntil.map({ $0 <= now }) ?? true {
            throw Problem.unauthorized("The key has been rotated.")
        }
        if key.userStatus == .suspended {
            throw Problem(.userSuspended, "The key's user is suspended.")
        }
        // The row of a pending user ends with the invite that made it; the keys it owned do not.
        if key.ownerUser != nil, key.userStatus != .active {
            throw Problem.unauthorized("The key's user is not active.")
        }
        switch key.tenantStatus {
        case .suspended: throw Problem(.tenantSuspended, "The key's tenant is suspended.")
        case .deleted: throw Problem.unauthorized("The key's tenant is deleted.")
        default: break
        }
        guard key.allows(ip: address) else {
            throw Problem.forbidden("The key is not allowed from this address.")
        }
        // A call without an origin is a machine's; a key for browsers is no use to it.
        guard key.allows(origin: origin ?? "") else {
            throw Problem.forbidden("The key is not allowed from this origin.")
        }
        var left: RateLimitLeft?
        if isCounting, let limit = key.rateLimit {
            let seconds = 60 - now.microseconds / 1_000_000 % 60
            guard let remaining = database.keyUses.take(limit, of: key.limitKey, at: now) else {
                throw Problem.rateLimited(
                    "The key may be used \(limit) times a minute.", limit: limit,
                    retryAfter: seconds)
            }
            left = RateLimitLeft(limit: limit, remaining: remaining, resetsIn: seconds)
        }
        if isCounting { database.keyUses.note(key, at: now, ip: address, isVerified: false) }
        let isPlatform = key.tenant == .platform
        var principal = API.Principal(
            kind: .key, id: key.id, name: key.name, tenant: isPlatform ? nil : key.tenant,
            platform: isPlatform, role: key.userRole ?? "", scopes: key.scopes)
        principal.user = key.ownerUser
        principal.rateLimit = left
        return principal
    }

    private func console(_ token: String, _ request: Request) async throws -> API.Principal {
        guard let hash = TokenSecret.hash(token),
            let session = try await database.operatorSession(tokenHash: hash),
            session.operator.status != "suspended"
        else { throw Problem.unauthorized("The session is over; sign in again.") }
        try refuseForeignPage(request)
        let person = session.operator
        // Whoever wants to leave may, also from a tenant that is suspended.
        let isLeaving = request.method == .delete && request.path == "/v1/session"
        var mayResume = false
        if let tenant = person.tenant, !isLeaving {
            switch try await database.scope(tenant).tenantRow()?.status {
            case "active": break
            case "suspended":
                guard try await isResuming(person, of: tenant, request) else {
                    throw Problem(.tenantSuspended, "The tenant is suspended.")
                }
                mayResume = true
            default: throw Problem.unauthorized("The session is over; sign in again.")
            }
        }
        var principal = API.Principal(
            kind: .operator, id: person.id, name: person.name ?? person.email,
            tenant: person.tenant, platform: person.tenant == nil, role: person.role,
            isConsoleSession: true)
        principal.session = session.id
        principal.mayResume = mayResume
        return principal
    }

    /// An owner whose tenant its own side suspended: may look at it and resume it, no more.
    private func isResuming(
        _ person: OperatorRow, of tenant: UUID, _ request: Request
    ) async throws -> Bool {
        guard sameBytes(person.role, "owner"),
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

    /// A page of another origin must neither act nor read with the console's cookie (Fetch
    /// Metadata): SameSite still sends it from a sibling host, which CORS may let read answers.
    ///
    /// A write has to say that it comes from us: by that field or, from a browser without it, by an
    /// `Origin`, which beside the cookie the origin policy has let through for our own alone.
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
            throw Problem.forbidden("The console's session is not for other sites.")
        }
    }
}
