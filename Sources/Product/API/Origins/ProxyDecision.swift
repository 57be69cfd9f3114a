import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/cors/decision`: decides on a request that a reverse proxy received, by the CORS policy.
/// This is for services behind the proxy that have no allow list of their own. The proxy
/// authenticates with its own key.
package enum ProxyDecision {
    static let path = "/v1/cors/decision"

    private static let answer = ObjectShape(
        "CorsDecision",
        [
            .readOnly(
                "allowed", .bool, "Always true. A refusal is a response 403 with a problem."),
            .readOnly(
                "rule", .string(),
                "What the origin matches: `exact` or `wildcard` for an entry of an allow list, "
                    + "`dev_origins` for the tenant's setting, or `own` for an origin of this "
                    + "server. `absent` means that the request has no origin."),
            .readOnly(
                "reason", .string(),
                "Why the request is allowed: `listed`, `own_origin` or `no_origin`."),
        ])

    static let endpoint = Endpoint(
        .get, path, id: "decideCors", tag: "CORS origins",
        summary:
            "Decides for a reverse proxy whether a browser's request is allowed: the response is "
            + "200 or 403, with the CORS header fields to copy. The proxy sends the request's "
            + "own header fields, and the method in `X-Original-Method` or "
            + "`X-Forwarded-Method`.",
        access: .right(.evaluateOrigins),
        query: [
            QueryParameter(
                "tenant", .string(min: 1, max: 63),
                "The tenant whose list of origins applies, by id or slug. If absent, it is the "
                    + "key's own tenant or, for a key of the platform, the platform."),
            QueryParameter(
                "client", .string(min: 1, max: 64),
                "The client, an app whose API this server implements, for example `immich`. Its "
                    + "header fields and cookies are allowed. If absent, only bearer tokens are "
                    + "allowed."
            ),
        ],
        answers: [.ok(answer)], problems: [.notFound]
    ) { call in
        let holder = try await holder(call)
        let decision = try await call.application.origins.decide(
            try question(call), holder, noting: "")
        var response: Response
        if decision.allowed {
            response = .ok(
                .object([
                    .init("allowed", .bool(true)), .init("rule", .string(decision.rule.rawValue)),
                    .init("reason", .string(decision.reason.rawValue)),
                ]))
        } else {
            // Proxies recognise a refusal only by the status 403. It is also used here for a
            // request with two origins.
            response = Problem(.originNotAllowed, CORSPolicyEnforcer.refusal)
                .response(requestID: call.request.id)
        }
        for header in decision.headers { response.fields.append(Field(header.name, header.value)) }
        return response
    }

    /// The owner of the allow lists to query. Throws 404 if a tenant's key asks about another
    /// tenant.
    private static func holder(_ call: Call) async throws -> Database.CORSOwner {
        let home = call.principal.tenant
        guard let name = call.query.optionalString("tenant") else {
            return home.map { .tenant($0.description) } ?? .platform
        }
        guard let found = try await call.database.tenant(name),
            home == nil || found.id == home
        else { throw Problem.notFound("tenant") }
        return .tenant(found.id.description)
    }

    private static func question(_ call: Call) throws -> CORSRequest {
        let request = call.request
        var profile = CORSProfile.management
        if let name = call.query.optionalString("client") {
            guard let client = call.application.clients.first(where: { sameBytes($0.name, name) })
            else { throw Problem.notFound("client") }
            profile = client.profile
        }
        let method =
            request.first("x-original-method") ?? request.first("x-forwarded-method")
            ?? request.method.rawValue
        let headers = request.all("access-control-request-headers")
        // `Authorization` contains the proxy's credential here, so the credential of the page is
        // unknown. If the client uses cookies at all, a request with any cookie counts as one with
        // credentials.
        let carriesCookie = profile.mayUseCookies && request.first("cookie") != nil
        return CORSRequest(
            origins: request.all("origin").map { Array($0.utf8) }, method: method,
            requestMethod: request.first("access-control-request-method"),
            requestHeaders: headers.isEmpty ? nil : headers.joined(separator: ","),
            asksPrivateNetwork: request.first("access-control-request-private-network") == "true",
            carriesCookie: carriesCookie, profile: profile)
    }

    /// Turns a request from Envoy's ext_authz into the equivalent GET request to this endpoint;
    /// returns `nil` for any other request. Envoy sends the original method, and appends the
    /// original path to this endpoint's path.
    package static func unwrapped(_ request: Request) -> Request? {
        guard request.path.utf8.starts(with: "\(path)/".utf8) else { return nil }
        var request = request
        if request.first("x-original-method") == nil {
            request.fields.append(Field("x-original-method", request.method.rawValue))
        }
        request.method = .get
        request.path = path
        request.body = []
        return request
    }

    /// Whether the request is a question from a proxy. Its `Origin` is then part of the question
    /// and not the caller's own origin. A question needs a key, which a page in a browser does not
    /// have.
    static func isQuestion(_ request: Request) -> Bool {
        sameBytes(request.path, path) && request.first("authorization") != nil
            && SessionCookie.token(in: request) == nil
    }
}

/// The server's public address: `GATEHOUSE_PUBLIC_URL`, parsed once.
package struct PublicAddress: Sendable {
    /// The names and addresses of this machine that a `Host` field may contain.
    package static let loopbackNames = ["127.0.0.1", "localhost", "[::1]"]
    /// Listening addresses that mean all interfaces. In the public URL they count as this machine.
    private static let everywhere = ["0.0.0.0", "[::]"]

    /// `http` or `https`.
    package let scheme: String
    /// The host: a name in A-label form or an address, an IPv6 address in brackets.
    let host: String
    /// The port; the scheme's default if the URL has none.
    let port: Int
    /// Whether the server is reachable only from this machine.
    package let isLoopback: Bool

    private let namesPort: Bool

    /// `nil` if the text is not an http or https origin.
    package init?(_ url: String) {
        guard let origin = try? Origin(configuring: url), origin.kind == .exact,
            let usual = ["http": 80, "https": 443][origin.scheme]
        else { return nil }
        scheme = origin.scheme
        host = origin.host
        port = origin.port ?? usual
        namesPort = origin.port != nil
        isLoopback = (Self.loopbackNames + Self.everywhere).contains { sameBytes($0, origin.host) }
    }

    /// The values of `Host` that name this server. The scheme's default port may be present or
    /// absent (RFC 9110 section 4.2.3).
    package var authorities: [String] {
        let names = isLoopback ? Self.loopbackNames : [host]
        return names.flatMap { namesPort ? ["\($0):\(port)"] : [$0, "\($0):\(port)"] }
    }

    /// The origins of the server's own pages, as browsers send them (RFC 6454).
    var origins: [String] {
        let names = isLoopback ? Self.loopbackNames : [host]
        return names.map { "\(scheme)://\($0)" + (namesPort ? ":\(port)" : "") }
    }

    /// Whether `authority`, a lower-case value of `Host`, names this machine, with any port.
    package static func isLoopback(_ authority: String) -> Bool {
        loopbackNames.contains { name in
            guard authority.utf8.starts(with: name.utf8) else { return false }
            let port = authority.utf8.dropFirst(name.utf8.count)
            return port.isEmpty || port.first == UInt8(ascii: ":")
        }
    }
}
