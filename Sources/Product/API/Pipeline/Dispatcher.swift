import Deadlines
import HTTP
import Observability
import Routing
import Text

/// Answers every API request: one table of endpoints, one visible list of steps.
package struct Dispatcher: Sendable {
    /// All endpoints, as declared.
    package let endpoints: [Endpoint]
    let table: RouteTable<Endpoint>
    let hooks: Hooks
    let services: Services
    let exports: ExportSlots
    let streams = ExportSlots(.streams)
    /// The last parts of the paths whose bodies are received in pieces, each with its slash.
    private let streamedEnds: [[UInt8]]

    /// Throws `RouteError` for a malformed or conflicting declaration.
    package init(
        endpoints: [Endpoint], services: Services, hooks: Hooks,
        exports: ExportLimits = ExportLimits()
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
        self.hooks = hooks
        self.services = services
        self.exports = ExportSlots(exports)
    }

    /// The order of refusals, top to bottom; a step responds early or stores its result.
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

    /// Never throws: every error on the way becomes a problem document.
    package func respond(to request: Request) async -> Response {
        guard let trace = hooks.trace?(request) else {
            return await respond(to: request, by: Self.steps)
        }
        return await Trace.$current.withValue(trace) {
            await respond(to: request, by: Self.steps)
        }
    }

    /// The response to a request that is not served, its body too large or truncated: with CORS
    /// fields, so that an allowed page can read it.
    package func refuse(_ request: Request, as error: HTTPError) async -> Response {
        let problem = Self.problem(error)
        return await respond(
            to: request,
            by: [
                { dispatcher, exchange in
                    let verdict = try await dispatcher.hooks.enforceCORS(
                        exchange.call.request, exchange.match)
                    exchange.originFields = verdict.fields
                    throw problem
                }
            ])
    }

    private static func problem(_ error: HTTPError) -> Problem {
        let code: Code = error.status == 413 ? .payloadTooLarge : .invalidRequest
        return Problem(code, error.detail, status: error.status)
    }

    /// Whether a request may proceed, by everything known before its body: its path, its origin,
    /// its credential and its rights. Nil if it may; else the refusal. A hook's credential may be a
    /// signature over the body, so it is checked later.
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
        let started = hooks.now()
        var request = request
        if request.id.isEmpty { request.id = UUID.random().description }
        var exchange = Exchange(
            call: Call(request: request, services: services, now: started),
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
        hooks.record(exchange.record(answer.status, took: hooks.now(), since: started))
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
        // Already deleted, possibly by a concurrent request: wait for its invalidation first.
        if problem.status == 404, exchange.isHandled, exchange.endpoint?.access != .open,
            exchange.call.request.method == .delete
        {
            do {
                try await hooks.awaitEarlierInvalidations(exchange.call.resolvedTenant?.id)
            } catch {
                problem = self.problem(for: error, &exchange)
            }
        }
        return problem.page ?? hooks.encode(problem, exchange.call.request)
            ?? problem.response(requestID: exchange.problemID)
    }

    /// Of all endpoints; 0 if none receives its body in pieces.
    package var longestStreamedBody: Int {
        endpoints.map { if case .stream = $0.body { $0.maxBody } else { 0 } }.max() ?? 0
    }

    /// The most bytes of the body of a POST if its handler receives it in pieces, else nil. By the
    /// path as sent.
    package func streamedBody(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        guard streamedEnds.contains(where: { path.suffix($0.count).elementsEqual($0) }),
            let endpoint = table.match(String(decoding: path, as: UTF8.self))?.value(for: .post),
            case .stream = endpoint.body
        else { return nil }
        return endpoint.maxBody
    }

    /// An unknown error is our fault: logged in full, answered without details.
    func problem(for error: any Error, _ exchange: inout Exchange) -> Problem {
        if let problem = error as? Problem {
            exchange.fault = problem.cause
            exchange.isForeseen = problem.isForeseen
            return problem
        }
        if let refused = error as? HTTPError { return Self.problem(refused) }
        // The answer is never read.
        if error is BodyLost { return Problem(.invalidRequest, "The body ended too early.") }
        if var problem = hooks.problem(error) {
            if problem.status >= 500 { exchange.fault = "\(error)" }
            if problem.status == 503 {
                exchange.outage = problem.code == .commitUnknown ? .commitUnknown : .database
            }
            // A request that only reads changed nothing, whatever became of it.
            if problem.code == .commitUnknown, exchange.isSafe { problem = .unavailable }
            return problem
        }
        exchange.fault = "\(error)"
        return .internalError
    }

    /// Sets the server's response for when the request's time is over.
    func nameLateForm(of exchange: Exchange) {
        let form = exchange.call.request.lateForm
        var exchange = exchange
        // The form must not hold itself: a reference cycle.
        exchange.call.request.lateForm = nil
        form?.set { [exchange] mayHaveWritten in
            let problem: Problem =
                mayHaveWritten && !exchange.isSafe ? .commitUnknown : .unavailable
            var answer =
                hooks.encode(problem, exchange.call.request)
                ?? problem.response(requestID: exchange.problemID)
            finish(&answer, exchange)
            return answer
        }
    }

    /// Adds the common fields of every response, including refusals.
    private func finish(_ response: inout Response, _ exchange: Exchange) {
        // A page that may not send cookies must not receive one either, or it could sign its
        // visitors in as another user.
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
