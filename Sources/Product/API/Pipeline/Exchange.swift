import HTTP
import Storage
import Text

/// A request during dispatch, with the results of the steps so far.
struct Exchange {
    var call: Call
    let match: RouteMatch<Endpoint>?
    var originFields: [Field] = []
    var isPastTenant = false
    var isHandled = false
    var fault: String?
    /// Whether the response is a 5xx, but the server has no fault: an app's contract requires this
    /// status.
    var isForeseen = false
    var outage: Outage?
    /// The commits of the handler, from which the response's position in PostgreSQL's log is
    /// computed; `nil` if the response needs no position.
    var commits: OwnCommits?

    init(call: Call, match: RouteMatch<Endpoint>?) {
        self.match = match
        self.call = Call(
            request: call.request, parameters: match?.parameters ?? RouteParameters(),
            application: call.application, now: call.now)
    }

    var endpoint: Endpoint? { match?.value(for: call.request.method) }

    /// Whether the request only reads (RFC 9110 section 9.2.1).
    var isSafe: Bool { [.get, .head, .options].contains(call.request.method) }

    /// Whether the request is an action on one object (`…/{id}/revoke`), and not the creation of an
    /// object in a list.
    var isVerb: Bool {
        guard call.request.method == .post, match?.value(for: .get) == nil,
            let parts = endpoint?.path.split(separator: "/"), parts.count > 1
        else { return false }
        return parts[parts.count - 2].utf8.first == UInt8(ascii: "{")
    }

    /// The time limit of the request. A preflight has a shorter limit, since a page waits for the
    /// preflight before it sends its own request.
    var time: Duration {
        if call.request.method == .options { return Endpoint.hookTime }
        return endpoint?.time ?? Endpoint.ordinaryTime
    }

    /// The request id that problem bodies contain; `nil` for a hook, whose retries must get exactly
    /// the same response.
    var problemID: String? { endpoint?.hook == true ? nil : call.request.id }

    func record(_ status: Int, took end: Timestamp, since start: Timestamp) -> RequestRecord {
        var record = RequestRecord(
            requestID: call.request.id, method: call.request.method,
            route: match?.pattern.description, operation: endpoint?.id, status: status,
            microseconds: end.microseconds - start.microseconds, principal: call.principal,
            tenant: call.resolvedTenant?.id ?? call.principal.tenant,
            remoteAddress: call.request.remoteAddress,
            traceparent: call.request.first("traceparent"), fault: fault,
            outage: outage)
        record.isTLS = call.request.isTLS
        record.isForeseen = isForeseen
        if match == nil { record.beginning = Self.beginning(of: call.request.path) }
        return record
    }

    /// The first two segments of a path, at most 64 characters.
    private static func beginning(of path: String) -> String {
        let parts = path.split(separator: "/", maxSplits: 2).prefix(2)
        return String(("/" + parts.joined(separator: "/")).unicodeScalars.prefix(64))
    }
}
