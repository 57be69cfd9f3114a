import API
import Domain
import HTTP
import Postgres
import Runtime
import Storage
import Text

/// Answers the requests to this server's own host: health checks, documents, the console and `/v1`.
struct HTTPSite: Sendable {
    private let console: ConsoleFiles
    private let dispatcher: Dispatcher
    private let database: Database
    private let mounts: Mounts
    private let proxies: TrustedProxies
    private let responseCache: ResponseCache
    private let metrics: ServiceMetrics
    private let requests: RequestLog
    private let drainState: DrainState
    /// Answers `/metrics`; `nil` if `/metrics` has a listener of its own.
    private let metricsEndpoint: MetricsEndpoint?
    private static let documents = [
        "/livez", "/readyz", "/healthz", "/docs", "/docs/errors", "/openapi.json",
    ]
    /// How long a readiness check may take: load balancers ask often and do not wait long.
    private static let readinessTime: Duration = .seconds(1)
    /// The OpenAPI document, built on first use so that it does not delay the start.
    private static let document = OpenAPIDocument(endpoints: Routes.all, version: Version.current)
    private static let documentation = StaticPage(
        html: document.page, styleDigest: DocumentPage.styleDigest,
        scriptDigest: DocumentPage.scriptDigest)
    private static let errors = StaticPage(
        html: DocumentPage.errors, styleDigest: DocumentPage.styleDigest)

    init(
        console: ConsoleFiles, composition: Composition, responseCache: ResponseCache,
        proxies: TrustedProxies, drainState: DrainState, showsMetrics: Bool
    ) {
        self.proxies = proxies
        self.drainState = drainState
        self.responseCache = responseCache
        self.console = console
        dispatcher = composition.dispatcher
        mounts = composition.mounts
        let application = composition.application
        database = application.database
        metrics = application.metrics
        requests = application.requests
        metricsEndpoint =
            showsMetrics
            ? MetricsEndpoint(metrics: metrics, authenticator: application.authenticator) : nil
    }

    /// Returns the response. A host that is bound to a client gets only that client's responses.
    func respond(to request: Request) async -> Response {
        // Take the token before anything is read. Then any later change also invalidates what is
        // cached below.
        let token = responseCache.token
        return switch await mounts.target(proxies.unwrapped(request)) {
        case .client(let request): await dispatcher.respond(to: request)
        case .refused(let answer, let fault): refused(request, answer, fault)
        case .own(let request):
            await responseCache.respond(to: request, since: token) { await ownResponse(to: $0) }
        }
    }

    /// Returns the response to a request that the server refused before routing.
    func refuse(_ request: Request, as error: HTTPError) async -> Response {
        switch await mounts.target(proxies.unwrapped(request)) {
        case .client(let request), .own(let request):
            await dispatcher.refuse(request, as: error)
        case .refused(let answer, let fault): refused(request, answer, fault)
        }
    }

    /// Returns the refusal of a request for a host that is not served. It is counted and logged
    /// like every other request.
    private func refused(_ request: Request, _ answer: Response, _ fault: String) -> Response {
        requests.record(
            RequestRecord(
                requestID: request.id, method: request.method, route: nil, operation: nil,
                status: answer.status, microseconds: 0, principal: .anonymous, tenant: nil,
                remoteAddress: proxies.unwrapped(request).remoteAddress, fault: fault))
        return answer
    }

    /// Returns the response of this server's own host. `isForAll` is true if no endpoint made the
    /// response, so that it is the same for every caller.
    private func ownResponse(to request: Request) async -> (answer: Response, isForAll: Bool) {
        guard request.method == .get || request.method == .head else {
            if let answer = answerToOtherMethods(request) { return (answer, isForAll: false) }
            return (await dispatcher.respond(to: request), isForAll: false)
        }
        guard let (resource, page) = await ownResource(request) else {
            let answer = await dispatcher.respond(to: request)
            return (answer.compressed(for: request), isForAll: false)
        }
        var answer = page
        if request.isTLS { answer.keepToTLS() }
        metrics.record(operation: resource, status: answer.status)
        return (answer, isForAll: true)
    }

    /// Returns the response to `OPTIONS *`, or to a method other than GET and HEAD for one of this
    /// server's own pages. The pages allow only GET and HEAD (RFC 9110 sections 9.3.7 and 15.5.6).
    /// Returns `nil` for other paths.
    private func answerToOtherMethods(_ request: Request) -> Response? {
        let isServer = sameBytes(request.path, "*")
        let isDocument =
            Self.documents.contains { sameBytes($0, request.path) }
            || (metricsEndpoint != nil && sameBytes(request.path, "/metrics"))
        guard isServer || isDocument || console.serves(request.path) else { return nil }
        let allow = Field(
            "allow",
            isServer
                ? Method.allCases.map(\.rawValue).joined(separator: ", ") : "GET, HEAD, OPTIONS")
        var answer =
            request.method == .options
            ? Response(204, fields: [allow])
            : Problem(
                .methodNotAllowed, "\(request.method.rawValue) is not served here.", fields: [allow]
            ).response(requestID: request.id)
        answer.complete(id: request.id, isTLS: request.isTLS, isPrivate: false)
        return answer
    }

    /// Returns a refusal that can be given before the body of the request is received; `nil` if the
    /// client may send the body.
    func precheck(_ request: Request) async -> Response? {
        switch await mounts.target(proxies.unwrapped(request)) {
        case .client(let request): return await dispatcher.precheck(request)
        case .refused(let answer, let fault): return refused(request, answer, fault)
        case .own(let request):
            if let answer = answerToOtherMethods(request) { return answer }
            return await dispatcher.precheck(request)
        }
    }

    /// Returns the response for a path that belongs to no endpoint, and the path's name for the
    /// metrics; `nil` if no page has the path.
    private func ownResource(_ request: Request) async -> (String, Response)? {
        switch request.path {
        case "/livez": return ("/livez", Self.plain(200, "ok\n"))
        case "/readyz", "/healthz": return ("/readyz", await ready(request))
        case "/metrics":
            guard let metricsEndpoint else { return nil }
            return ("/metrics", await metricsEndpoint.respond(to: request))
        case "/docs": return ("/docs", Self.documentation.response(for: request))
        case "/docs/errors": return ("/docs", Self.errors.response(for: request))
        case "/docs/":
            return ("/docs", Response(308, fields: [Field("location", "/docs")]))
        case "/openapi.json":
            var answer = Response(200, type: "application/json", Self.document.bytes)
            answer.set("access-control-allow-origin", "*")
            answer.set("cache-control", "no-cache")
            return ("/openapi.json", answer)
        default: return console.response(for: request).map { ("/console", $0) }
        }
    }

    /// Returns 503 while the database is unreachable or refuses writes, so that load balancers send
    /// no requests to this process.
    private func ready(_ request: Request) async -> Response {
        if drainState.hasBegun { return Self.notReady("the server is stopping") }
        Deadline.current?.last(Self.readinessTime)
        request.lateForm?.set { _ in Self.notReady("the database does not answer") }
        do {
            return try await database.app.takesWrites()
                ? Self.plain(200, "ok\n") : Self.notReady("the database is read-only")
        } catch {
            return Self.notReady("the database cannot be asked")
        }
    }

    private static func notReady(_ cause: String) -> Response {
        var answer = plain(503, "\(cause)\n")
        answer.set("retry-after", "1")
        return answer
    }

    private static func plain(_ status: Int, _ text: String) -> Response {
        var answer = Response(status, type: "text/plain; charset=utf-8", Array(text.utf8))
        answer.set("cache-control", "no-store")
        return answer
    }
}

/// Answers `/metrics` on the service's own port. The request must come from this machine or carry a
/// credential of the platform. A request that a proxy forwarded never counts as from this machine.
private struct MetricsEndpoint: Sendable {
    let metrics: ServiceMetrics
    let authenticator: Authenticator

    func respond(to request: Request) async -> Response {
        if isLocal(request) { return metrics.page() }
        do {
            let principal = try await authenticator.principal(of: request)
            if principal.kind == .anonymous { throw Problem.unauthorized() }
            guard principal.platform else { throw Problem.forbidden() }
            return metrics.page()
        } catch {
            let problem = Problem(error) ?? .internalError
            var answer = problem.response(requestID: request.id)
            answer.set("x-request-id", request.id)
            answer.set("cache-control", "no-store")
            return answer
        }
    }

    private func isLocal(_ request: Request) -> Bool {
        IPAddress(request.remoteAddress)?.isLoopback ?? false
            && request.first("origin") == nil && request.first("authorization") == nil
            && !request.isPassedOn
    }
}
