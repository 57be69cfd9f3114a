import HTTP
import Storage
import Text

/// From where on a caller wants to see what is stored: the answer to a write says it, and a list that
/// brings it misses none of the caller's own writes, whichever standby of PostgreSQL answers.
enum PositionField {
    static let name = "x-gatehouse-position"

    /// As the request has it. 400 for text that is no position.
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

/// The position of the console, beside its session: no script has to carry it.
enum PositionCookie {
    private static func name(_ isTLS: Bool) -> String {
        (isTLS ? "__Host-" : "") + "gatehouse-position"
    }

    /// Nil if it is missing or no position: the primary answers then.
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
    /// Lets a call that may lag read standbys from the position that it brings. One that brings none
    /// may come from a client that knows of no positions: the primary answers.
    func position(_ exchange: inout Exchange, _ endpoint: Endpoint) throws {
        guard endpoint.mayLag else { return }
        let call = exchange.call
        var positions = [try PositionField.value(in: call.request)]
        if call.principal.isConsoleSession {
            positions.append(PositionCookie.value(in: call.request))
        }
        guard services.hasStandbys, let position = positions.compactMap({ $0 }).max() else {
            return
        }
        exchange.call.readPosition = position
    }

    /// Whether an endpoint may commit for a caller who can bring a position. What a list writes by the way,
    /// such as counted uses, is nothing of its caller.
    func notesCommits(of endpoint: Endpoint) -> Bool {
        services.hasStandbys && !endpoint.mayLag && !endpoint.hook && !endpoint.isForeign
            && endpoint.path.utf8.starts(with: "/v1/".utf8)
    }

    /// Adds the position after what the request committed.
    func addPosition(to response: inout Response, _ exchange: Exchange) async {
        let session = SessionCookie.change(by: response)
        guard let commits = exchange.commits,
            session != nil || exchange.call.principal.kind != .anonymous
        else { return }
        var position = commits.newest
        if commits.isUnknown || position == nil && response.answersEarlierWrite(exchange) {
            let now = try? await services.database.currentPosition()
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
    /// Whether it may be about a write that the caller made before, and whose answer was lost: what a
    /// repeated write is refused with, and what was stored under its Idempotency-Key.
    fileprivate func answersEarlierWrite(_ exchange: Exchange) -> Bool {
        guard !exchange.isSafe, exchange.isHandled else { return false }
        return first("idempotent-replayed") != nil || [404, 409, 412].contains(status)
    }
}
