import Text

/// Decides whether pages of a request's origin may call the service. The policy uses only the
/// stored entries that it was created with and the service's own origins; it reads no database and
/// no clock. It decides both live requests and those of `cors/evaluate`.
package struct CORSPolicy: Sendable {
    private let own: Set<String>
    private let exact: [String: [CORSRow]]
    private let wildcards: [CORSRow]
    private let devOrigins: Bool
    let privateNetwork: Bool
    private let isSuspended: Bool

    /// Creates the policy. `own` are the service's origins in canonical form; `devOrigins` and
    /// `privateNetwork` are settings of the tenant. If the tenant is suspended, `rows` do not
    /// count.
    package init(
        own: [String], rows: [CORSRow], devOrigins: Bool = false, privateNetwork: Bool = false,
        isSuspended: Bool = false
    ) {
        self.own = Set(own)
        exact = Dictionary(
            grouping: rows.filter { $0.origin.kind == .exact }, by: { $0.origin.canonical })
        wildcards = rows.filter { $0.origin.kind == .wildcard }
        self.devOrigins = devOrigins
        self.privateNetwork = privateNetwork
        self.isSuspended = isSuspended
    }

    package func decide(_ request: CORSRequest, at now: Timestamp) -> CORSDecision {
        guard let first = request.origins.first else {
            return Self.answer(request, .absent, .noOrigin, allowed: true)
        }
        if request.origins.count > 1 || first.contains(where: { $0 <= 0x20 || $0 == 0x2C }) {
            return Self.answer(request, .none, .ambiguous, allowed: false, status: 400)
        }
        if first.isEmpty {
            return request.isSafe
                ? Self.answer(request, .absent, .noOrigin, allowed: true)
                : refuse(request, .empty)
        }
        if first.elementsEqual("null".utf8) { return refuse(request, .null) }
        // Stored origins are ASCII, so only ASCII is compared: Swift's string equality treats some
        // other characters as equal to ASCII ones.
        guard first.allSatisfy({ $0 < 0x80 }) else { return refuse(request, .notListed) }
        let text = String(decoding: first, as: UTF8.self)
        if own.contains(text) {
            return Self.answer(
                request, .own, .ownOrigin, allowed: true, status: request.isPreflight ? 204 : nil)
        }
        if request.hasConsoleCookie { return refuse(request, .cookieFromElsewhere) }
        if isSuspended { return refuse(request, .tenantSuspended) }
        guard let match = match(first, text, at: now) else { return refuse(request, .notListed) }
        if request.isPreflight { return preflight(request, match) }
        // A page whose origin is listed without credentials must not use the cookie that the
        // browser adds: the page could not read the response, but its request could still write.
        if request.carriesCookie, !Self.mayCarryCredentials(request, match) {
            return refuse(request, .credentialsNotAllowed, rule: match.rule)
        }
        return allow(request, match)
    }

    /// Returns the decision for a public document: any origin may read it, without credentials.
    package static func publicDocument(_ request: CORSRequest) -> CORSDecision {
        var decision = answer(
            request, request.origins.isEmpty ? .absent : .publicDocument,
            request.origins.isEmpty ? .noOrigin : .publicDocument, allowed: true,
            status: request.isPreflight ? 204 : nil)
        decision.headers.append(.init("access-control-allow-origin", "*"))
        if request.isPreflight {
            decision.headers.append(.init("access-control-allow-methods", "GET, HEAD, OPTIONS"))
            decision.headers.append(.init("access-control-max-age", "\(CORSProfile.maxAge)"))
        }
        return decision
    }

    /// The rule that matched, and the origin to write into `Access-Control-Allow-Origin`.
    struct Match {
        var rule: CORSDecision.Rule
        var echo: String
        var mayCarryCredentials = false
        var mayReachPrivateNetwork = false
    }

    private func match(_ bytes: [UInt8], _ text: String, at now: Timestamp) -> Match? {
        let rows = (exact[text] ?? []).filter { $0.isLive(at: now) }
        if let row = rows.first {
            return Match(
                rule: .exact, echo: row.origin.canonical,
                mayCarryCredentials: row.origin.mayCarryCredentials
                    && rows.contains { $0.credentials },
                mayReachPrivateNetwork: row.origin.scheme.utf8.elementsEqual("https".utf8))
        }
        if wildcards.contains(where: { $0.isLive(at: now) && $0.origin.matches(bytes) }) {
            // The pattern has matched each label of the origin, so these bytes are canonical
            // already.
            return Match(rule: .wildcard, echo: text)
        }
        if devOrigins, Origin.isLoopbackDevelopment(bytes) {
            return Match(rule: .devOrigins, echo: text)
        }
        return nil
    }

    private func allow(_ request: CORSRequest, _ match: Match) -> CORSDecision {
        var decision = Self.answer(request, match.rule, .listed, allowed: true)
        decision.headers += Self.origin(request, match)
        decision.headers.append(.init("access-control-expose-headers", CORSProfile.exposedHeaders))
        return decision
    }

    func refuse(
        _ request: CORSRequest, _ reason: CORSDecision.Reason,
        rule: CORSDecision.Rule = .none
    ) -> CORSDecision {
        Self.answer(request, rule, reason, allowed: false, status: 403)
    }

    static func answer(
        _ request: CORSRequest, _ rule: CORSDecision.Rule, _ reason: CORSDecision.Reason,
        allowed: Bool, status: Int? = nil
    ) -> CORSDecision {
        var vary = "Origin"
        if request.isPreflight {
            vary += ", Access-Control-Request-Method, Access-Control-Request-Headers"
            if request.asksPrivateNetwork { vary += ", Access-Control-Request-Private-Network" }
        }
        return CORSDecision(
            allowed: allowed, rule: rule, reason: reason, status: status,
            headers: [.init("vary", vary)])
    }

    static func origin(_ request: CORSRequest, _ match: Match) -> [CORSDecision.Header] {
        let origin = CORSDecision.Header("access-control-allow-origin", match.echo)
        guard mayCarryCredentials(request, match) else { return [origin] }
        return [origin, .init("access-control-allow-credentials", "true")]
    }

    private static func mayCarryCredentials(_ request: CORSRequest, _ match: Match) -> Bool {
        match.mayCarryCredentials && request.profile.mayUseCookies
    }
}

/// What the clients of one path send: the header fields that a preflight may request, and whether
/// requests may carry cookies.
package struct CORSProfile: Sendable, Equatable {
    /// The profile of `/v1` and the console: bearer credentials, and no cookies across origins.
    package static let management = CORSProfile()

    /// The names, in lower case, of allowed request fields beyond those that every client may send.
    private let additions: [String]
    package let mayUseCookies: Bool
    /// The names of the cookies that the client's API sets. A request with such a cookie counts as
    /// a request with credentials.
    package let cookies: [String]

    private init() {
        additions = []
        mayUseCookies = false
        cookies = []
    }

    /// Creates the profile of a client's API. `additions` are further allowed request fields, and
    /// `cookies` are all names of cookies that the API sets.
    package init(client additions: [String], cookies: [String] = []) {
        self.additions = additions
        mayUseCookies = true
        self.cookies = cookies
    }

    /// The names, in lower case, of the request fields that hold a credential. If a request has one
    /// of them, its cookies do not count.
    package static let credentialFields = ["authorization"] + credentialHeaders
    /// The credential fields other than `Authorization`; their value is the credential itself,
    /// without a scheme.
    package static let credentialHeaders = [
        "x-api-key", "x-immich-user-token", "x-immich-session-token",
    ]

    package static let exposedHeaders =
        "x-request-id, x-immich-cid, retry-after, etag, location, link, www-authenticate, "
        + "ratelimit-limit, ratelimit-remaining, ratelimit-reset, x-gatehouse-position, "
        + "idempotent-replayed"

    /// The methods that are allowed for an unknown route: all, so that the preflight passes and the
    /// page sees the 404 that follows.
    static let allMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// How long a browser may cache a preflight, in seconds. It is short because the removal of an
    /// origin has no effect on a preflight that is already cached.
    static let maxAge = 600

    /// The names, in lower case, of all allowed request fields. Each is listed, because `*` does
    /// not include `Authorization`.
    var allowedHeaders: [String] { Self.base + additions }

    private static let base = [
        "authorization", "content-type", "accept", "x-requested-with", "idempotency-key",
        "if-match", "if-none-match", "x-request-id", "traceparent", "tracestate", "last-event-id",
        "x-gatehouse-position",
    ]
}

/// An allowed origin of a tenant or of the platform.
package struct CORSRow: Sendable, Equatable {
    var origin: Origin
    /// Whether the entry permits cookies. A cookie is allowed only if the entry, the origin and the
    /// profile of the path all permit it.
    var credentials: Bool
    /// The expiry, exclusive; `nil` if the entry stays until it is removed.
    package var expiresAt: Timestamp?
    /// Whether the entry counts. A wildcard counts only while the tenant's domain is verified.
    var isEnabled: Bool

    package init(
        _ origin: Origin, credentials: Bool = false, expiresAt: Timestamp? = nil,
        isEnabled: Bool = true
    ) {
        self.origin = origin
        self.credentials = credentials
        self.expiresAt = expiresAt
        self.isEnabled = isEnabled
    }

    func isLive(at now: Timestamp) -> Bool { isEnabled && (expiresAt.map { now < $0 } ?? true) }
}
