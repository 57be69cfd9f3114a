import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/cors/decision`: the decision of the CORS policy on a request that a reverse proxy received,
/// for services behind it that have no list of their own. The proxy authenticates with its own key.
package enum ProxyDecision {
    static let path = "/v1/cors/decision"

    private static let answer = ObjectShape(
        "CorsDecision",
        [
            .readOnly("allowed", .bool), .readOnly("rule", .string()),
            .readOnly("reason", .string()),
        ])

    static let endpoint = Endpoint(
        .get, path, id: "decideCors", tag: "CORS origins",
        summary:
            "For reverse proxies: answers 200 or 403 for the request that is described by its own "
            + "header fields and X-Original-Method (or X-Forwarded-Method), with the CORS fields "
            + "to copy.",
        access: .right(.evaluateOrigins),
        query: [
            QueryParameter(
                "tenant", .string(min: 1, max: 63),
                "The tenant, by id or slug, whose allow list applies; the key's own tenant if "
                    + "absent, else the platform."),
            QueryParameter(
                "client", .string(min: 1, max: 64),
                "The client contract whose header fields and cookies apply; bearer tokens only if "
                    + "absent."
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
            // A proxy recognises a refusal only by 403, so 403 is also the status for two origins
            // at once.
            response = Problem(.originNotAllowed, "Origin not allowed")
                .response(requestID: call.request.id)
        }
        for header in decision.headers { response.fields.append(Field(header.name, header.value)) }
        return response
    }

    /// A tenant's key may ask only about its own tenant; others are 404.
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
        // The `Authorization` field carries the proxy's own credential, so the page's is not
        // visible: if the client uses cookies at all, any cookie makes it a request with
        // credentials.
        let carriesCookie = profile.mayUseCookies && request.first("cookie") != nil
        return CORSRequest(
            origins: request.all("origin").map { Array($0.utf8) }, method: method,
            requestMethod: request.first("access-control-request-method"),
            requestHeaders: headers.isEmpty ? nil : headers.joined(separator: ","),
            asksPrivateNetwork: request.first("access-control-request-private-network") == "true",
            carriesCookie: carriesCookie, profile: profile)
    }

    /// A request that has the original method, and its path after this endpoint's (Envoy's
    /// ext_authz), rewritten as the equivalent GET question; `nil` for every other request.
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

    /// Whether the request is a proxy's question. Its `Origin` is then the subject of the question,
    /// not the origin of the caller. A page in a browser has no key.
    static func isQuestion(_ request: Request) -> Bool {
        sameBytes(request.path, path) && request.first("authorization") != nil
            && SessionCookie.token(in: request) == nil
    }
}

/// The server's public address: `GATEHOUSE_PUBLIC_URL`, parsed once.
package struct PublicAddress: Sendable {
    /// The names of this machine that may occur in a `Host` field.
    package static let loopbackNames = ["127.0.0.1", "localhost", "[::1]"]
    /// Listening addresses that stand for all interfaces; as a public address they mean this
    /// machine.
    private static let everywhere = ["0.0.0.0", "[::]"]

    /// `http` or `https`.
    package let scheme: String
    /// An A-label name or an address, IPv6 in brackets.
    package let host: String
    /// The port; the scheme's default if the URL has none.
    package let port: Int
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

    /// The values of `Host` that name this server. The default port of a scheme may be omitted or
    /// given (RFC 9110 section 4.2.3).
    package var authorities: [String] {
        let names = isLoopback ? Self.loopbackNames : [host]
        return names.flatMap { namesPort ? ["\($0):\(port)"] : [$0, "\($0):\(port)"] }
    }

    /// The origins of the server's own pages, as browsers send them (RFC 6454).
    package var origins: [String] {
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
