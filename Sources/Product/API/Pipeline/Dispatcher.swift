import Cryptography
import Domain
import HTTP
import JSON
import Runtime
import Storage
import Text

/// Answers every API request. It has one table of endpoints and one list of steps.
package struct Dispatcher: Sendable {
    /// All endpoints, as they were declared.
    package let endpoints: [Endpoint]
    let table: RouteTable<Endpoint>
    let application: Application
    /// The caller that every request gets, whatever its credential is; `nil` if the credential
    /// determines the caller.
    private let principal: CallerPrincipal?
    /// Begins the traces of requests; `nil` if requests are not traced.
    private let tracer: Tracer?
    let exports: LongResponses
    let streams = LongResponses(.streams)
    /// The last segments, each with its leading slash, of the paths whose bodies are received in
    /// pieces.
    private let streamedEnds: [[UInt8]]

    /// If `principal` is set, it is the caller of every request; the command line uses this. Throws
    /// `RouteError` for a malformed or conflicting declaration.
    package init(
        endpoints: [Endpoint], application: Application, principal: CallerPrincipal? = nil,
        tracer: Tracer? = nil, exports: ExportLimits = ExportLimits()
    ) throws(RouteError) {
        var routes: [(method: Method, pattern: RoutePattern, value: Endpoint)] = []
        for endpoint in endpoints {
            routes.append((endpoint.method, try RoutePattern(endpoint.path), endpoint))
        }
        table = try RouteTable(routes)
        self.endpoints = endpoints
        streamedEnds = endpoints.compactMap { endpoint in
            guard case .stream = endpoint.body else { return nil }
            return endpoint.path.split(separator: "/").last.map { Array("/\($0)".utf8) }
        }
        self.application = application
        self.principal = principal
        self.tracer = tracer
        self.exports = LongResponses(exports)
    }

    /// The steps, in the order in which they may refuse a request. A step returns a response, or
    /// stores its result in the exchange.
    private static let steps: [Step] = [
        { try await $0.head(&$1) },  // 400, 413
        { try await $0.origin(&$1) },  // 403; a preflight is answered here
        { try $0.method(&$1) },  // 404 without a route, 405; OPTIONS is answered here
        { try await $0.authenticate(&$1) },  // 401
        { try await $0.tenant(&$1) },  // 404
        { try $0.permit(&$1) },  // 403
        { try $0.decode(&$1) },  // 415, 400, 422
        { try $0.precondition(&$1) },  // 428
        { try $0.stepUp(&$1) },  // 403
        { try await $0.handle(&$1) },  // 409, 412 and the response, stored if idempotent
    ]

    /// The response to a request. An error becomes a problem document, so this never throws.
    package func respond(to request: Request) async -> Response {
        guard let trace = tracer?.begin(request) else {
            return await respond(to: request, by: Self.steps)
        }
        return await Trace.$current.withValue(trace) {
            await respond(to: request, by: Self.steps)
        }
    }

    /// The response to a request whose body is too large or incomplete, and which is therefore not
    /// processed. It has the CORS fields, so that an allowed page can read it.
    package func refuse(_ request: Request, as error: HTTPError) async -> Response {
        let problem = Self.problem(error)
        return await respond(
            to: request,
            by: [
                { dispatcher, exchange in
                    let verdict = try await dispatcher.application.origins.enforce(
                        exchange.call.request, exchange.match)
                    exchange.originFields = verdict.fields
                    throw problem
                }
            ])
    }

    private static func problem(_ error: HTTPError) -> Problem {
        switch error.status {
        case 413: return Problem(.payloadTooLarge, error.detail)
        case 503:
            return Problem(.unavailable, error.detail, fields: [Field("retry-after", "1")])
        default: return Problem(.invalidRequest, error.detail, status: error.status)
        }
    }

    /// Checks a request before its body is read: its path, origin, credential and rights. Returns
    /// the refusal, or `nil` if the request may proceed. A hook's credential may be a signature
    /// over the body, so it is checked later.
    package func precheck(_ request: Request) async -> Response? {
        let answer = await respond(
            to: request,
            by: [
                { try await $0.head(&$1) },
                { try await $0.origin(&$1) },
                { try $0.method(&$1) },
                { try await $0.recheck(&$1) },
                { _, _ in Response(Self.goOn) },
            ])
        return answer.status == Self.goOn ? nil : answer
    }

    private static let goOn = 100

    private func respond(to request: Request, by steps: [Step]) async -> Response {
        let started = application.now
        var request = request
        if request.id.isEmpty { request.id = UUID.random().description }
        var exchange = Exchange(
            call: Call(request: request, application: application, now: started),
            match: table.match(request.path))
        Deadline.current?.last(exchange.time)
        nameLateForm(of: exchange)
        var response: Response?
        do {
            for step in steps where response == nil { response = try await step(self, &exchange) }
        } catch {
            response = await recover(from: error, &exchange)
        }
        if let response, response.status == Self.goOn { return response }
        var answer = response ?? Problem.internalError.response(requestID: request.id)
        await addPosition(to: &answer, exchange)
        finish(&answer, exchange)
        if Deadline.current?.wasAnswered == true {
            exchange.fault = "answered 503 in time, then: \(exchange.fault ?? "\(answer.status)")"
            answer.status = 503
            exchange.outage = .deadline
        }
        application.requests.record(
            exchange.record(answer.status, took: application.now, since: started))
        return answer
    }

    private func recover(from error: any Error, _ exchange: inout Exchange) async -> Response {
        var problem = self.problem(for: error, &exchange)
        if [403, 415, 422, 428].contains(problem.status), exchange.isPastTenant,
            !exchange.isHandled, let exists = exchange.endpoint?.exists
        {
            do {
                if try await !exists(exchange.call) { problem = .notFound() }
            } catch {
                problem = self.problem(for: error, &exchange)
            }
        }
        // A concurrent request may have deleted the object. Wait until all replicas have
        // acknowledged that deletion.
        if problem.status == 404, exchange.isHandled, exchange.endpoint?.access != .open,
            exchange.call.request.method == .delete
        {
            do {
                try await application.database.awaitEarlierInvalidations(
                    of: exchange.call.resolvedTenant?.id ?? .platform)
            } catch {
                problem = self.problem(for: error, &exchange)
            }
        }
        return problem.page ?? application.encode(problem, exchange.call.request)
            ?? problem.response(requestID: exchange.problemID)
    }

    /// The largest body limit, in bytes, of all endpoints that receive their body in pieces; 0 if
    /// there are none.
    package var longestStreamedBody: Int {
        endpoints.map { if case .stream = $0.body { $0.maxBody } else { 0 } }.max() ?? 0
    }

    /// The limit in bytes of a POST body that the handler receives in pieces; `nil` if the handler
    /// of this path receives the whole body at once. `path` is percent-encoded, as in the request.
    package func streamedBody(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        guard streamedEnds.contains(where: { path.suffix($0.count).elementsEqual($0) }),
            let endpoint = table.match(String(decoding: path, as: UTF8.self))?.value(for: .post),
            case .stream = endpoint.body
        else { return nil }
        return endpoint.maxBody
    }

    /// The problem document for an error. An unknown error is a fault of the server, which is
    /// logged in full and answered without details.
    func problem(for error: any Error, _ exchange: inout Exchange) -> Problem {
        if let problem = error as? Problem {
            exchange.fault = problem.cause
            exchange.isForeseen = problem.isForeseen
            return problem
        }
        if let refused = error as? HTTPError { return Self.problem(refused) }
        // The client has disconnected, so this answer is never read.
        if error is BodyLost { return Problem(.invalidRequest, "The body ended too early.") }
        if var problem = Problem(error) {
            if problem.status >= 500 { exchange.fault = "\(error)" }
            if problem.status == 503 {
                exchange.outage = problem.code == .commitUnknown ? .commitUnknown : .database
            }
            // If it is unknown whether a commit succeeded, but the request only reads, answer that
            // the server is unavailable: the request can be repeated without harm.
            if problem.code == .commitUnknown, exchange.isSafe { problem = .unavailable }
            return problem
        }
        exchange.fault = "\(error)"
        return .internalError
    }

    /// Prepares the response that is sent if the request exceeds its time limit.
    func nameLateForm(of exchange: Exchange) {
        let form = exchange.call.request.lateForm
        var exchange = exchange
        // The form keeps this copy of the exchange, so the copy must not refer to the form: that
        // would be a reference cycle.
        exchange.call.request.lateForm = nil
        form?.set { [exchange] mayHaveWritten in
            let problem: Problem =
                mayHaveWritten && !exchange.isSafe ? .commitUnknown : .unavailable
            var answer =
                application.encode(problem, exchange.call.request)
                ?? problem.response(requestID: exchange.problemID)
            finish(&answer, exchange)
            return answer
        }
    }

    /// Adds the header fields that every response has, including refusals.
    private func finish(_ response: inout Response, _ exchange: Exchange) {
        // A page that may not send cookies must not be able to set them: it could sign its visitors
        // in as another user.
        let names = exchange.originFields.map(\.name)
        if names.contains("access-control-allow-origin"),
            !names.contains("access-control-allow-credentials")
        {
            response.fields.removeAll { $0.name == "set-cookie" }
        }
        for field in exchange.originFields { response.fields.append(field) }
        if let left = exchange.call.principal.rateLimit {
            response.addIfAbsent("ratelimit-limit", "\(left.limit)")
            response.addIfAbsent("ratelimit-remaining", "\(left.remaining)")
            response.addIfAbsent("ratelimit-reset", "\(left.resetsIn)")
        }
        response.complete(
            id: exchange.call.request.id, isTLS: exchange.call.request.isTLS,
            isPrivate: exchange.endpoint.map { $0.access != .open } ?? false)
    }
}

typealias Step = @Sendable (Dispatcher, inout Exchange) async throws -> Response?

/// The steps of `Dispatcher.steps`, in their order.
extension Dispatcher {
    /// Refuses a malformed `Idempotency-Key` and a body that is too large. This comes before the
    /// check of the origin, but the error gets the CORS fields, so that an allowed page can read
    /// it.
    func head(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint else { return nil }
        let request = exchange.call.request
        do {
            if endpoint.idempotent { _ = try IdempotencyClaim.key(of: request) }
            if request.body.count > endpoint.maxBody {
                throw Problem(
                    .payloadTooLarge,
                    "The body is larger than \(endpoint.maxBody) bytes.")
            }
        } catch {
            exchange.originFields = try await application.origins.enforce(request, exchange.match)
                .fields
            throw error
        }
        return nil
    }

    func origin(_ exchange: inout Exchange) async throws -> Response? {
        let verdict = try await application.origins.enforce(exchange.call.request, exchange.match)
        exchange.originFields = verdict.fields
        nameLateForm(of: exchange)
        switch verdict.outcome {
        case .proceed: return nil
        case .answer(let response): return response
        case .refuse(let problem): throw problem
        }
    }

    func method(_ exchange: inout Exchange) throws -> Response? {
        guard let match = exchange.match else {
            throw Problem.notFound("path" + hint(exchange.call.request.path))
        }
        guard match.value(for: exchange.call.request.method) == nil else { return nil }
        let allow = Field("allow", match.allowed.map(\.rawValue).joined(separator: ", "))
        if exchange.call.request.method == .options { return Response(204, fields: [allow]) }
        throw Problem(
            .methodNotAllowed, "\(exchange.call.request.method.rawValue) is not served here.",
            fields: [allow])
    }

    /// Text that follows "There is no such path" and names the path that was probably meant; empty
    /// if no similar path exists.
    private func hint(_ path: String) -> String {
        let bare = path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
        let meant = [bare, "/v1" + bare].first { !sameBytes($0, path) && table.match($0) != nil }
        return meant.map { "; `\($0.prefix(200))` is one" } ?? ""
    }

    func authenticate(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint, endpoint.access != .open else { return nil }
        exchange.call.principal = try await caller(of: exchange.call.request)
        if exchange.call.principal.kind == .anonymous { throw Problem.unauthorized() }
        return nil
    }

    private func caller(of request: Request) async throws -> CallerPrincipal {
        if let principal { return principal }
        try await application.authenticator.refuseKeyInAddress(request)
        return try await application.authenticator.principal(of: request)
    }

    /// Checks the caller of a long request again, and returns it. This counts neither as a use of
    /// the credential nor against its rate limit.
    func continuingCaller(of request: Request) async throws -> CallerPrincipal {
        if let principal { return principal }
        return try await application.authenticator.uncounted.principal(of: request)
    }

    /// Repeats `authenticate`, `tenant` and `permit` for a request that takes long.
    func recheck(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint, endpoint.access != .open, !endpoint.hook else {
            return nil
        }
        exchange.call.principal = try await continuingCaller(of: exchange.call.request)
        if exchange.call.principal.kind == .anonymous { throw Problem.unauthorized() }
        if let answer = try await tenant(&exchange) { return answer }
        return try permit(&exchange)
    }

    /// Finds the path's tenant. A tenant that is not the caller's, an unknown tenant and an id that
    /// is not a UUID all get the same 404.
    ///
    /// A platform credential without the right is refused before the tenant is looked up: otherwise
    /// 403 and 404 would reveal which tenants exist. At the platform's own endpoints, every
    /// credential without the right is refused here.
    func tenant(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint else { return nil }
        if exchange.call.principal.platform || endpoint.isOutsideTenants {
            // A caller of the platform has the same rights in every tenant, so the check can use
            // any id.
            let anyTenant = exchange.call.parameters["tenant"].map { _ in UUID(high: 0, low: 0) }
            if let refusal = endpoint.access.refusal(exchange.call.principal, in: anyTenant) {
                throw refusal
            }
        }
        if endpoint.access != .open, let text = exchange.call.parameters["tenant"] {
            let principal = exchange.call.principal
            guard let tenant = try await resolve(text, for: principal) else {
                throw Problem.notFound("tenant")
            }
            exchange.call.resolvedTenant = tenant
        }
        for (name, value) in exchange.call.parameters.all
        where sameBytes(name, "id") || name.hasSuffix("_id") {
            if UUID(value) == nil { throw Problem.notFound() }
        }
        exchange.isPastTenant = true
        return nil
    }

    /// The tenant with this id or slug; `nil` if the caller may not know of it. Throws for a
    /// credential of a suspended tenant; a credential of the platform can still read and manage the
    /// tenant.
    private func resolve(
        _ idOrSlug: String, for principal: CallerPrincipal
    ) async throws -> ResolvedTenant? {
        guard let row = try await application.database.fetchTenant(idOrSlug) else { return nil }
        if !principal.platform {
            guard principal.tenant == row.id, row.status != .deleted else { return nil }
            if row.status == .suspended, !principal.mayResume {
                throw Problem(.reason(.tenantSuspended), "The tenant is suspended.")
            }
        }
        return ResolvedTenant(id: row.id, slug: row.slug)
    }

    func permit(_ exchange: inout Exchange) throws -> Response? {
        guard let endpoint = exchange.endpoint, endpoint.access != .open else { return nil }
        let call = exchange.call
        let isRead = call.request.method == .get || call.request.method == .head
        if call.principal.isConsoleSession, !isRead,
            call.request.first("x-gatehouse-console") != "1"
        {
            throw Problem.forbidden(
                "A write with the console's session needs the header "
                    + "`X-Gatehouse-Console: 1`.")
        }
        if let refusal = endpoint.access.refusal(call.principal, in: call.resolvedTenant?.id) {
            throw refusal
        }
        return nil
    }

    /// Decodes the body by media type and shape, and the query by its declaration. All errors are
    /// in one 422.
    func decode(_ exchange: inout Exchange) throws -> Response? {
        guard let endpoint = exchange.endpoint else { return nil }
        if endpoint.isForeign { return nil }
        let request = exchange.call.request
        try position(&exchange, endpoint)
        try Self.checkPresence(exchange, endpoint)
        try Self.checkMediaType(of: request, endpoint)
        let (query, queryErrors) = decodeQuery(request.query, endpoint.query)
        var errors = queryErrors
        exchange.call.query = query
        exchange.call.listIdentity = Cursor.identity(of: request.path, query)
        exchange.call.export = ListExport(endpoint, for: request)
        if exchange.call.export != nil { errors += ListExport.faults(query) }
        let shape: ObjectShape? =
            switch endpoint.body {
            case .json(let shape): shape
            case .none: request.body.isEmpty ? nil : .empty
            case .raw, .stream: nil
            }
        if let shape, request.method != .get, request.method != .head {
            var decoder = Decoder(
                allowsReadOnly: request.method == .put || request.method == .patch)
            // An empty body is decoded like `{}`, so each required member is reported as missing.
            let value = request.body.isEmpty ? .object([]) : try Self.parse(request.body)
            exchange.call.input = decoder.object(value, shape, at: "")
            errors += decoder.errors
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
        return nil
    }

    func precondition(_ exchange: inout Exchange) throws -> Response? {
        if let endpoint = exchange.endpoint, case .required = endpoint.ifMatch,
            exchange.call.request.first("if-match") == nil
        {
            throw Problem(
                .preconditionRequired, "This change needs If-Match with the object's ETag.")
        }
        return nil
    }

    func handle(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint else { return nil }
        exchange.isHandled = true
        guard notesCommits(of: endpoint) else { return try await handled(endpoint, &exchange) }
        let commits = OwnCommits()
        exchange.commits = commits
        return try await commits.noting { try await handled(endpoint, &exchange) }
    }

    private func handled(
        _ endpoint: Endpoint, _ exchange: inout Exchange
    ) async throws -> Response {
        if let export = exchange.call.export {
            return try await ExportRun.begin(export, endpoint, exchange, by: self).response
        }
        if endpoint.isStream {
            return noting(try await EventRun.begin(endpoint, exchange, by: self), exchange)
        }
        guard let receive = endpoint.receive, exchange.call.received == nil else {
            return noting(try await answer(endpoint, &exchange), exchange)
        }
        return try await receiving(receive, &exchange) { try await answer(endpoint, &$0) }
    }

    /// Wraps the body of a streamed response, so that errors while its pieces are sent are logged.
    /// Such an error closes the connection. It is logged in a second line, since the first line was
    /// written when the response began.
    private func noting(_ response: Response, _ exchange: Exchange) -> Response {
        guard case .stream(let next) = response.body else { return response }
        var noted = response
        noted.body = .stream {
            do {
                return try await next()
            } catch {
                var exchange = exchange
                let status = self.problem(for: error, &exchange).status
                exchange.fault = "the response was cut: \(error)"
                self.application.requests.record(
                    exchange.record(
                        status, took: self.application.now, since: exchange.call.now))
                throw error
            }
        }
        return noted
    }

    private func answer(
        _ endpoint: Endpoint, _ exchange: inout Exchange
    ) async throws -> Response {
        guard endpoint.idempotent, let claim = try IdempotencyClaim(exchange.call) else {
            return try await endpoint.answer(exchange.call).unlessKnown(to: exchange.call.request)
        }
        return try await once(claim, endpoint, &exchange)
    }

    private static func parse(_ body: [UInt8]) throws -> JSONValue {
        do {
            return try JSONValue(parsing: body)
        } catch {
            throw Problem(.invalidRequest, "The body cannot be read as JSON: \(error).")
        }
    }

    /// Throws 400 if the body is empty and the request either declares a JSON body or is a PUT. An
    /// empty text is not JSON (RFC 8259 section 2), and a body that was lost on the way must not
    /// act as `{}`. An exception is an action on one object (`…/{id}/revoke`) that has no required
    /// members: it needs no body, but many clients still send `Content-Type`.
    private static func checkPresence(_ exchange: Exchange, _ endpoint: Endpoint) throws {
        let request = exchange.call.request
        guard case .json(let shape) = endpoint.body, request.body.isEmpty,
            !exchange.isVerb || shape.fields.contains(where: \.isRequired),
            request.path.utf8.starts(with: "/v1/".utf8),
            [.post, .put, .patch].contains(request.method),
            request.method == .put || sameBytes(mediaType(of: request), "application/json")
        else { return }
        throw Problem(
            .invalidRequest, "The body is empty; it must be a JSON object, at least `{}`.")
    }

    static func mediaType(of request: Request) -> String {
        (request.first("content-type") ?? "").prefix { $0 != ";" }.trimmingSpaces.lowercased()
    }

    /// Throws 415 for a body of another media type than the endpoint's. Parameters of the type,
    /// such as `charset=utf-8`, do not matter.
    private static func checkMediaType(of request: Request, _ endpoint: Endpoint) throws {
        guard !request.body.isEmpty || request.stream != nil, request.method != .get,
            request.method != .head
        else { return }
        guard request.all("content-type").count <= 1 else {
            throw Problem(.invalidRequest, "There is more than one Content-Type header; send one.")
        }
        let codings = request.all("content-encoding").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingSpaces.lowercased() }
        let isStreamed = if case .stream = endpoint.body { true } else { false }
        let isPlain = codings.allSatisfy { sameBytes($0, "identity") }
        guard isPlain || isStreamed && codings.count == 1 && sameBytes(codings[0], "gzip") else {
            throw Problem(
                .unsupportedMediaType,
                isStreamed
                    ? "The only supported Content-Encoding is gzip."
                    : "The body must have no Content-Encoding.",
                fields: [Field("accept-encoding", isStreamed ? "gzip, identity" : "identity")])
        }
        let allowed: [String] =
            switch endpoint.body {
            case .raw, .stream: endpoint.media.map(\.type)
            case .none, .json: ["application/json"]
            }
        let type = mediaType(of: request)
        guard allowed.contains(where: { sameBytes($0, type) || sameBytes($0, "*/*") }) else {
            throw Problem(
                .unsupportedMediaType,
                "The body must be \(allowed.joined(separator: " or ")).")
        }
    }
}

/// What was stored of a body that arrived in pieces.
package struct ReceivedBody: Sendable {
    /// The id under which the body's rows are stored.
    var id: UUID
    var rows: Int
    /// Notes on the body as a whole.
    var notes: [String]
    /// Deletes what was stored, if no handler has used it.
    var discard: @Sendable () async throws -> Void

    init(
        id: UUID, rows: Int, notes: [String] = [],
        discard: @escaping @Sendable () async throws -> Void
    ) {
        self.id = id
        self.rows = rows
        self.notes = notes
        self.discard = discard
    }
}

extension Dispatcher {
    /// Receives the body in pieces, and then answers as if it had arrived whole. Afterwards it
    /// deletes what was stored of the body and not used by a handler: for a repeated request, no
    /// handler runs, since the response is the stored one. In the check of the idempotency key, the
    /// digest of the body stands for the body. Receiving may take long, so the caller is checked
    /// again afterwards.
    func receiving(
        _ receive: Endpoint.Receive, _ exchange: inout Exchange,
        _ answer: (inout Exchange) async throws -> Response
    ) async throws -> Response {
        let digest = DigestOfPieces()
        let pieces = exchange.call.pieces
        exchange.call.request.stream = BodyStream {
            guard let piece = try await pieces.next() else { return nil }
            digest.add(piece)
            return piece
        }
        let received = try await receive(exchange.call)
        exchange.call.received = received
        exchange.call.request.stream = nil
        exchange.call.request.body = digest.finish()
        do {
            try await readmit(&exchange)
            let response = try await answer(&exchange)
            try? await received.discard()
            return response
        } catch {
            try? await received.discard()
            throw error
        }
    }
}
