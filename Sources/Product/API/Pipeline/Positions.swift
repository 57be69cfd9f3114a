import HTTP
import Storage
import Text

/// The WAL position that a list must include. The response to a write contains it, and a list
/// request that sends it misses none of the caller's own writes, whichever standby database
/// answers.
enum PositionField {
    static let name = "x-gatehouse-position"

    /// The position in the request. Throws 400 for text that is not a position.
    static func value(in request: Request) throws -> ReadPosition? {
        let lines = request.all(name)
        guard let line = lines.first else { return nil }
        guard lines.count == 1, let position = ReadPosition(line) else {
            throw Problem(
                .invalidRequest,
                "X-Gatehouse-Position must be one position from an earlier response, or 0/0.")
        }
        return position
    }
}

/// The position for the console, as a cookie beside its session, so that no script has to handle
/// it.
enum PositionCookie {
    private static func name(_ isTLS: Bool) -> String {
        (isTLS ? "__Host-" : "") + "gatehouse-position"
    }

    /// `nil` if the cookie is missing or is not a position; then the primary database answers.
    static func value(in request: Request) -> ReadPosition? {
        RequestCookie.value(name(request.isTLS), in: request).flatMap { ReadPosition($0) }
    }

    static func set(_ position: ReadPosition, isTLS: Bool) -> Field {
        field("\(position)", isTLS)
    }

    static func clear(isTLS: Bool) -> Field { field("; Max-Age=0", isTLS) }

    private static func field(_ value: String, _ isTLS: Bool) -> Field {
        Field("set-cookie", "\(name(isTLS))=\(value); \(SessionCookie.attributes(isTLS))")
    }
}

extension Dispatcher {
    /// Lets a call that may lag read from standby databases that have reached the position in the
    /// request. A request without a position may come from a client that does not know about
    /// positions, so the primary answers it.
    func position(_ exchange: inout Exchange, _ endpoint: Endpoint) throws {
        guard endpoint.mayLag else { return }
        let call = exchange.call
        var positions = [try PositionField.value(in: call.request)]
        if call.principal.isConsoleSession {
            positions.append(PositionCookie.value(in: call.request))
        }
        guard application.database.hasStandbys, let position = positions.compactMap({ $0 }).max()
        else {
            return
        }
        exchange.call.readPosition = position
    }

    /// Whether an endpoint may commit for a caller who can send a position. Incidental writes of a
    /// list, such as counted uses, are not the caller's own.
    func notesCommits(of endpoint: Endpoint) -> Bool {
        application.database.hasStandbys && !endpoint.mayLag && !endpoint.hook
            && !endpoint.isForeign
            && endpoint.path.utf8.starts(with: "/v1/".utf8)
    }

    /// Adds the position after the commits of the request.
    func addPosition(to response: inout Response, _ exchange: Exchange) async {
        let session = SessionCookie.change(by: response)
        guard let commits = exchange.commits,
            session != nil || exchange.call.principal.kind != .anonymous
        else { return }
        var position = commits.newest
        if commits.isUnknown || position == nil && response.answersEarlierWrite(exchange) {
            let now = try? await application.database.currentPosition()
            // Without a position the caller could miss its own write.
            position = now ?? (commits.isUnknown ? .never : position)
        }
        guard let position else { return }
        let call = exchange.call
        let isTLS = call.request.isTLS
        switch session {
        case .ends: response.fields.append(PositionCookie.clear(isTLS: isTLS))
        case .begins: response.fields.append(PositionCookie.set(position, isTLS: isTLS))
        case nil where call.principal.isConsoleSession:
            response.fields.append(PositionCookie.set(position, isTLS: isTLS))
        case nil: response.set(PositionField.name, "\(position)")
        }
    }
}

extension Response {
    /// Whether the response may be about an earlier write of the caller whose answer was lost: the
    /// refusal of a repeated write, or a response stored under its Idempotency-Key.
    fileprivate func answersEarlierWrite(_ exchange: Exchange) -> Bool {
        guard !exchange.isSafe, exchange.isHandled else { return false }
        return first("idempotent-replayed") != nil || [404, 409, 412].contains(status)
    }
}
