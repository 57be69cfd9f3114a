import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// Checks every cross-origin request of a browser against the allow lists. The lists are read from
/// the database for each request, so a removed origin is refused from the very next request on.
package struct CORSPolicyEnforcer: Sendable {
    private let database: Database
    private let own: [String]
    private let profiles: [String: CORSProfile]

    /// `publicURL` is the server's public URL; its origin counts as the server's own. If its host
    /// is a name of this machine, such as `localhost`, the same origin with another such name
    /// counts too. `profiles` contains the profiles of the client contracts, by name.
    init(database: Database, publicURL: String, profiles: [String: CORSProfile] = [:]) {
        self.database = database
        self.profiles = profiles
        own = Self.ownOrigins(publicURL)
    }

    /// Decides on a request. Reads the database only if the request has an `Origin` that is not the
    /// server's own.
    func enforce(
        _ request: Request, _ match: RouteMatch<Endpoint>?
    ) async throws -> CORSVerdict {
        guard request.first("origin") != nil, !ProxyDecision.isQuestion(request) else {
            return .proceed
        }
        let asked = question(request, match)
        let owner = CORSScope(path: request.path)
        if owner == .publicDocument || match?.value(for: .get)?.isPublicDocument == true {
            return Self.verdict(CORSPolicy.publicDocument(asked), on: request)
        }
        var holder = owner.holder(isPreflight: asked.isPreflight, locator: Self.locator(request))
        if owner == .credential, !asked.isPreflight, let tenant = Self.tokenTenant(request) {
            holder = .tenant(tenant)
        }
        let path = match?.pattern.description ?? ""
        return Self.verdict(
            try await decide(asked, holder, own: own(of: request), noting: path), on: request)
    }

    /// The origins that count as the server's own for this request. If the request came through a
    /// host that is bound to a client, the host's origin is included, since the host is verified to
    /// be the client's. That origin may be https even if TLS ends before this server.
    private func own(of request: Request) -> [String] {
        guard request.isMountedByHost, let host = request.first("host") else { return own }
        let schemes = request.isTLS ? ["https"] : ["https", "http"]
        return own
            + schemes.compactMap { try? Origin(configuring: "\($0)://\(host)").canonical }
    }

    /// The time until which the verdict on this request stays valid if no list changes, in
    /// microseconds since 1970. It is `.max` if the verdict depends on nothing that expires. It is
    /// `nil` if the entries that decide are not cached.
    package func stands(until request: Request) -> Int64? {
        let asked = question(request, nil)
        let owner = CORSScope(path: request.path)
        if owner == .publicDocument { return .max }
        let now = database.clock()
        let bare = CORSPolicy(own: own(of: request), rows: []).decide(asked, at: now)
        guard bare.reason == .notListed, let origin = asked.origins.first else { return .max }
        let holder = owner.holder(isPreflight: asked.isPreflight, locator: Self.locator(request))
        let listed = Self.listed(String(decoding: origin, as: UTF8.self))
        guard let found = database.cachedOrigins(listed, of: holder) else { return nil }
        return found.rows.map { $0.expiresAt?.microseconds ?? .max }.min() ?? .max
    }

    /// Decides on a request, either a real one or one that is only described. `own` contains the
    /// canonical origins that count as the server's own; the default is those of the service.
    /// `noting` is the path's pattern, or empty if no pattern matches. It is given only for a real
    /// request: an origin that is not listed is then recorded for the tenant.
    func decide(
        _ asked: CORSRequest, _ holder: Database.CORSOwner, own: [String]? = nil,
        noting path: String? = nil
    ) async throws -> CORSDecision {
        let own = own ?? self.own
        let now = database.clock()
        // The decision without any list. If it does not depend on a list, no list is read.
        let bare = CORSPolicy(own: own, rows: []).decide(asked, at: now)
        guard bare.reason == .notListed, let origin = asked.origins.first else { return bare }
        let text = String(decoding: origin, as: UTF8.self)
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), text.utf8.count <= 512 else {
            return bare
        }
        let found = try await database.fetchOrigins(Self.listed(text), of: holder)
        let policy = CORSPolicy(
            own: own, rows: found.rows, devOrigins: found.devOrigins,
            privateNetwork: found.privateNetwork, isSuspended: found.tenantStatus == .suspended)
        let decision = policy.decide(asked, at: now)
        if decision.reason == .notListed, let path, let tenant = found.tenant {
            database.refusedOrigins.note(text, of: tenant, path: path, at: now)
        }
        return decision
    }

    /// The entries that would allow the origin: the origin itself and, for https, the wildcard for
    /// its siblings.
    private static func listed(_ origin: String) -> [String] {
        let start = "https://"
        guard origin.utf8.starts(with: start.utf8),
            let dot = origin.utf8.firstIndex(of: UInt8(ascii: "."))
        else { return [origin] }
        return [origin, start + "*" + String(origin[dot...])]
    }

    private func question(_ request: Request, _ match: RouteMatch<Endpoint>?) -> CORSRequest {
        let headers = request.all("access-control-request-headers")
        let profile = CORSScope.client(of: request.path).flatMap { profiles[$0] } ?? .management
        return CORSRequest(
            origins: request.all("origin").map { Array($0.utf8) },
            method: request.method.rawValue,
            requestMethod: request.first("access-control-request-method"),
            requestHeaders: headers.isEmpty ? nil : headers.joined(separator: ","),
            asksPrivateNetwork: request.first("access-control-request-private-network") == "true",
            routeMethods: match.map { $0.allowed.map(\.rawValue) },
            hasConsoleCookie: SessionCookie.token(in: request) != nil,
            carriesCookie: Self.carriesCookie(request, of: profile), profile: profile)
    }

    /// Whether the request has credentials in a cookie. As in the client contracts, a cookie counts
    /// only if no header field has a credential.
    private static func carriesCookie(_ request: Request, of profile: CORSProfile) -> Bool {
        guard !profile.cookies.isEmpty,
            CORSProfile.credentialFields.allSatisfy({ request.all($0).allSatisfy(\.isEmpty) })
        else { return false }
        return profile.cookies.contains { RequestCookie.value($0, in: request) != nil }
    }

    /// The locator in the request's API key, or in the token of an invite or join link in the body;
    /// `nil` if there is none.
    private static func locator(_ request: Request) -> String? {
        if let line = request.first("authorization") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, sameBytes(parts[0].lowercased(), "bearer") else { return nil }
            return APIKeySecret(parts[1])?.locator
        }
        let ofTokens = ["/v1/invites/", "/v1/join-links/"]
        guard ofTokens.contains(where: { request.path.utf8.starts(with: $0.utf8) }),
            let token = (try? JSONValue(parsing: request.body))?["token"]?.string,
            token.utf8.count == 49
        else { return nil }
        return String(decoding: token.utf8.prefix(6), as: UTF8.self)
    }

    /// The tenant that the request's access token names. The token is not verified yet.
    private static func tokenTenant(_ request: Request) -> String? {
        guard let line = request.first("authorization"),
            let token = line.split(separator: " ").last,
            let jws = JWS(compact: Array(token.utf8)),
            let payload = try? JSONValue(parsing: jws.payload)
        else { return nil }
        return payload["tid"]?.string.flatMap { UUID($0) }?.description
    }

    /// The detail of a refusal. On an app's path the refusal has the app's own text.
    static let refusal =
        "The request is not allowed from this origin; `POST /v1/cors/evaluate` names the reason."

    private static func verdict(_ decision: CORSDecision, on request: Request) -> CORSVerdict {
        let fields = decision.headers.map { Field($0.name, $0.value) }
        guard let status = decision.status else { return CORSVerdict(.proceed, fields: fields) }
        if decision.allowed { return CORSVerdict(.answer(Response(status)), fields: fields) }
        if status == 400 {
            return CORSVerdict(
                .refuse(
                    Problem(
                        .invalidRequest,
                        "The Origin field must contain exactly one origin.")), fields: fields)
        }
        let isApp = CORSScope.client(of: request.path) != nil
        return CORSVerdict(
            .refuse(Problem(.originNotAllowed, isApp ? "Origin not allowed" : refusal)),
            fields: fields)
    }

    static func ownOrigins(_ publicURL: String) -> [String] {
        guard let own = PublicAddress(publicURL) else { return [] }
        return own.origins
    }
}

/// The verdict of the CORS policy on a request. Its fields are added to the response, even to an
/// error. The dispatcher adds `Vary: Origin`.
package struct CORSVerdict: Sendable {
    package enum Outcome: Sendable {
        case proceed
        /// The response to a preflight.
        case answer(Response)
        case refuse(Problem)
    }

    /// What happens with the request. A refusal also has `fields`.
    var outcome: Outcome
    /// The header fields that are added to the response in every case.
    var fields: [Field]

    init(_ outcome: Outcome, fields: [Field] = []) {
        self.outcome = outcome
        self.fields = fields
    }

    /// The verdict on a request that CORS does not concern: it proceeds, and no field is added.
    static let proceed = CORSVerdict(.proceed)
}
