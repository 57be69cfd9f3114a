import Domain
import HTTP
import JSON
import Routing
import Storage
import Text

/// `/v1/cors/decision`: what the policy says of a request that a reverse proxy has before it, for
/// services behind the proxy that keep no list of their own. The proxy shows a key of its own.
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
            "For reverse proxies: 200 or 403 for the request that is described by its own header "
            + "fields and X-Original-Method (or X-Forwarded-Method), with the CORS fields to copy.",
        access: .right("evaluateOrigins"),
        query: [
            QueryParameter(
                "tenant", .string(min: 1, max: 63),
                "Id or slug, whose list counts; the key's own when absent, else the platform's."),
            QueryParameter(
                "client", .string(min: 1, max: 64),
                "The client contract whose header fields and cookies are meant; none: bearer alone."
            ),
        ],
        answers: [.ok(answer)], problems: [.notFound]
    ) { call in
        let services = call.services
        let enforcer = CORSPolicyEnforcer(
            database: try services.database, publicURL: services.publicURL)
        let holder = try await holder(call)
        let decision = try await enforcer.decide(try question(call), holder)
        var response: Response
        if decision.allowed {
            response = .ok(
                .object([
                    .init("allowed", .bool(true)), .init("rule", .string(decision.rule.rawValue)),
                    .init("reason", .string(decision.reason.rawValue)),
                ]))
        } else {
            // A proxy knows refusals by 403 alone, also that of two origins at once.
            response = Problem(.originNotAllowed, "Origin not allowed")
                .response(requestID: call.request.id)
        }
        for header in decision.headers {
            response.fields.append(Field(header.name, header.value))
        }
        return response
    }

    /// A tenant's key asks about its own tenant; another's is not there.
    private static func holder(_ call: Call) async throws -> Database.CORSOwner {
        let home = call.principal.tenant
        guard let name = call.query.optionalString("tenant") else {
            return home.map { .tenant($0.description) } ?? .platform
        }
        guard let found = try await call.services.database.tenant(name),
            home == nil || found.id == home
        else { throw Problem.notFound("tenant") }
        return .tenant(found.id.description)
    }

    private static func question(_ call: Call) throws -> CORSRequest {
        let request = call.request
        var profile = CORSProfile.management
        if let name = call.query.optionalString("client") {
            guard let client = call.services.clients.first(where: { $0.name.isSame(as: name) })
            else { throw Problem.notFound("client") }
            profile = client.profile
        }
        let method =
            request.first("x-original-method") ?? request.first("x-forwarded-method")
            ?? request.method.rawValue
        let headers = request.all("access-control-request-headers")
        // The proxy's own credential stands in Authorization, so what the page sent is not seen: any
        // cookie makes it a request with credentials where cookies are the client's way at all.
        let carriesCookie = profile.mayUseCookies && request.first("cookie") != nil
        return CORSRequest(
            origins: request.all("origin").map { Array($0.utf8) }, method: method,
            requestMethod: request.first("access-control-request-method"),
            requestHeaders: headers.isEmpty ? nil : headers.joined(separator: ","),
            asksPrivateNetwork: request.first("access-control-request-private-network") == "true",
            carriesCookie: carriesCookie, profile: profile)
    }

    /// A proxy that asks with the request's own method and with its path behind ours (Envoy's
    /// ext_authz), as the same question by GET; nil for every other request.
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

    /// Whether the request is a proxy's question: its `Origin` is then what is asked about, not
    /// where the question comes from. A browser's page that asks for itself shows no key.
    static func isQuestion(_ request: Request) -> Bool {
        request.path.isSame(as: path) && request.first("authorization") != nil
            && SessionCookie.token(in: request) == nil
    }
}
