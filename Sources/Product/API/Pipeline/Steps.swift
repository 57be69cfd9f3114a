import HTTP
import JSON
import Routing
import Storage
import Text

/// The steps of `Dispatcher.steps`, in their order.
extension Dispatcher {
    /// These checks precede the origin's, but an allowed page has to be able to read their errors.
    func head(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint else { return nil }
        let request = exchange.call.request
        do {
            if endpoint.idempotent { _ = try IdempotencyClaim.key(of: request) }
            if request.body.count > endpoint.maxBody {
                throw Problem(.payloadTooLarge, "The body is over \(endpoint.maxBody) bytes.")
            }
        } catch {
            exchange.originFields = try await hooks.enforceCORS(request, exchange.match).fields
            throw error
        }
        return nil
    }

    func origin(_ exchange: inout Exchange) async throws -> Response? {
        let verdict = try await hooks.enforceCORS(exchange.call.request, exchange.match)
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

    /// Completes "There is no such path" with the path that was meant, if a known slip explains it.
    private func hint(_ path: String) -> String {
        let bare = path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
        let meant = [bare, "/v1" + bare].first { !sameBytes($0, path) && table.match($0) != nil }
        return meant.map { "; `\($0.prefix(200))` is one" } ?? ""
    }

    func authenticate(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint, endpoint.access != .open else { return nil }
        exchange.call.principal = try await hooks.authenticate(exchange.call.request)
        if exchange.call.principal.kind == .anonymous { throw Problem.unauthorized() }
        return nil
    }

    /// Repeats `authenticate`, `tenant` and `permit` for a request that continues.
    func recheck(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint, endpoint.access != .open, !endpoint.hook else {
            return nil
        }
        exchange.call.principal = try await hooks.recheck(exchange.call.request)
        if exchange.call.principal.kind == .anonymous { throw Problem.unauthorized() }
        if let answer = try await tenant(&exchange) { return answer }
        return try permit(&exchange)
    }

    /// A foreign or unknown tenant and an id that is not a UUID are the same 404. A platform
    /// credential without the right, and any other at what is the platform's alone, is refused before
    /// any look-up: otherwise 403 and 404 would reveal what exists.
    func tenant(_ exchange: inout Exchange) async throws -> Response? {
        guard let endpoint = exchange.endpoint else { return nil }
        if exchange.call.principal.platform || endpoint.isOutsideTenants {
            var call = exchange.call
            // Its rights are the same in every tenant.
            if call.parameters["tenant"] != nil {
                call.resolvedTenant = ResolvedTenant(id: UUID(high: 0, low: 0), slug: "")
            }
            if let refusal = hooks.authorize(call.principal, endpoint.access, call) {
                throw refusal
            }
        }
        if endpoint.access != .open, let text = exchange.call.parameters["tenant"] {
            let principal = exchange.call.principal
            guard let tenant = try await hooks.resolveTenant(text, principal),
                principal.platform || principal.tenant == tenant.id
            else { throw Problem.notFound("tenant") }
            exchange.call.resolvedTenant = tenant
        }
        for (name, value) in exchange.call.parameters.all
        where sameBytes(name, "id") || name.hasSuffix("_id") {
            if UUID(value) == nil { throw Problem.notFound() }
        }
        exchange.isPastTenant = true
        return nil
    }

    func permit(_ exchange: inout Exchange) throws -> Response? {
        guard let endpoint = exchange.endpoint, endpoint.access != .open else { return nil }
        let call = exchange.call
        let isRead = call.request.method == .get || call.request.method == .head
        if call.principal.isConsoleSession, !isRead,
            call.request.first("x-gatehouse-console") != "1"
        {
            throw Problem.forbidden("A write by the console's session needs its header.")
        }
        if let refusal = hooks.authorize(call.principal, endpoint.access, call) { throw refusal }
        return nil
    }

    /// Decodes the body by media type and shape, the query by declaration: all faults in one 422.
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
            // An empty body gets every missing member as a fault, as `{}` would.
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
            throw Problem(.preconditionRequired, "This change needs If-Match.")
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

    /// A failure among the pieces of a response cuts it, and is a second log line: the first one says
    /// that the response had begun.
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
                self.hooks.record(
                    exchange.record(status, took: self.hooks.now(), since: exchange.call.now))
                throw error
            }
        }
        return noted
    }

    private func answer(
        _ endpoint: Endpoint, _ exchange: inout Exchange
    ) async throws -> Response {
        guard endpoint.idempotent, let store = hooks.idempotency,
            let claim = try IdempotencyClaim(exchange.call)
        else {
            return try await endpoint.handle(exchange.call).unlessKnown(to: exchange.call.request)
        }
        return try await once(claim, store, endpoint, &exchange)
    }

    private static func parse(_ body: [UInt8]) throws -> JSONValue {
        do {
            return try JSONValue(parsing: body)
        } catch {
            throw Problem(.invalidRequest, "The body is not JSON: \(error).")
        }
    }

    /// 400 if a JSON body was announced and is missing, or if it is the whole value of a PUT: an
    /// empty text is not JSON (RFC 8259 section 2), and a body lost on the way must not act as `{}`
    /// would. For an action on one object (`…/{id}/revoke`) the path says everything; clients send
    /// the type with each call.
    private static func checkPresence(_ exchange: Exchange, _ endpoint: Endpoint) throws {
        let request = exchange.call.request
        guard case .json(let shape) = endpoint.body, request.body.isEmpty,
            !exchange.isVerb || shape.fields.contains(where: \.isRequired),
            request.path.utf8.starts(with: "/v1/".utf8),
            [.post, .put, .patch].contains(request.method),
            request.method == .put || sameBytes(mediaType(of: request), "application/json")
        else { return }
        throw Problem(
            .invalidRequest, "The body is empty; it must be a JSON object, `{}` at least.")
    }

    static func mediaType(of request: Request) -> String {
        (request.first("content-type") ?? "").prefix { $0 != ";" }.trimmingSpaces.lowercased()
    }

    /// Only if there is a body; parameters of the type (`; charset=utf-8`) do not matter.
    private static func checkMediaType(of request: Request, _ endpoint: Endpoint) throws {
        guard !request.body.isEmpty || request.stream != nil, request.method != .get,
            request.method != .head
        else { return }
        guard request.all("content-type").count <= 1 else {
            throw Problem(.invalidRequest, "Two Content-Type headers: send one.")
        }
        let codings = request.all("content-encoding").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingSpaces.lowercased() }
        let isStreamed = if case .stream = endpoint.body { true } else { false }
        let isPlain = codings.allSatisfy { sameBytes($0, "identity") }
        guard isPlain || isStreamed && codings.count == 1 && sameBytes(codings[0], "gzip") else {
            throw Problem(
                .unsupportedMediaType,
                isStreamed
                    ? "The only Content-Encoding here is gzip."
                    : "The body must come without a Content-Encoding.",
                fields: [Field("accept-encoding", isStreamed ? "gzip, identity" : "identity")])
        }
        let allowed: [String] =
            switch endpoint.body {
            case .raw(let types), .stream(let types): types
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
