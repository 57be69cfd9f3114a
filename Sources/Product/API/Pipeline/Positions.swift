import HTTP
import Storage
import Text

/// The header field with a position in PostgreSQL's write-ahead log. The response to a write
/// contains it. A list request that sends it back sees all of the caller's own writes, whichever
/// standby database answers.
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

/// The cookie with the console's position. It is set together with the session's cookie, so that no
/// script has to send the position.
enum PositionCookie {
    private static func name(_ isTLS: Bool) -> String {
        (isTLS ? "__Host-" : "") + "gatehouse-position"
    }

    /// The position in the cookie; `nil` if the cookie is missing or malformed. Then the primary
    /// database answers.
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
    /// Selects the database for a call with `mayLag`: a standby, if the request contains a position
    /// and the standby has reached it. Without a position the primary answers, since the client may
    /// not know about positions.
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

    /// Whether the commits of an endpoint are recorded for the position in its response. They are
    /// not recorded if the caller cannot send a position. They are not recorded for a list either,
    /// since it writes only minor data, such as counts of uses.
    func notesCommits(of endpoint: Endpoint) -> Bool {
        application.database.hasStandbys && !endpoint.mayLag && !endpoint.hook
            && !endpoint.isForeign
            && endpoint.path.utf8.starts(with: "/v1/".utf8)
    }

    /// Adds a position to the response: the one that PostgreSQL's log had after the request's
    /// commits.
    func addPosition(to response: inout Response, _ exchange: Exchange) async {
        let session = SessionCookie.change(by: response)
        guard let commits = exchange.commits,
            session != nil || exchange.call.principal.kind != .anonymous
        else { return }
        var position = commits.newest
        if commits.isUnknown || position == nil && response.answersEarlierWrite(exchange) {
            let now = try? await application.database.currentPosition()
            // If it is unknown whether a commit succeeded, and the current position cannot be read,
            // use `.never`. No standby reaches this position, so the primary answers, and the
            // caller cannot miss its own write.
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
    /// Whether the request may repeat an earlier write of the caller, because the response to that
    /// write never arrived. True for a replayed stored response, and for a status with which a
    /// repeated write may be refused.
    fileprivate func answersEarlierWrite(_ exchange: Exchange) -> Bool {
        guard !exchange.isSafe, exchange.isHandled else { return false }
        return first("idempotent-replayed") != nil || [404, 409, 412].contains(status)
    }
}
