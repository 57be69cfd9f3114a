import HTTP
import Storage
import Text

/// A request on its way through the steps, with their results.
struct Exchange {
    var call: Call
    let match: RouteMatch<Endpoint>?
    var originFields: [Field] = []
    var isPastTenant = false
    var isHandled = false
    var fault: String?
    /// Whether the problem that is answered was foreseen.
    var isForeseen = false
    var outage: Outage?
    /// What the handler committed; `nil` if no position is needed.
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

    /// Whether the request is an action on one object (`…/{id}/revoke`) rather than an addition to
    /// a list.
    var isVerb: Bool {
        guard call.request.method == .post, match?.value(for: .get) == nil,
            let parts = endpoint?.path.split(separator: "/"), parts.count > 1
        else { return false }
        return parts[parts.count - 2].utf8.first == UInt8(ascii: "{")
    }

    /// The time limit. A page waits for the response to its preflight.
    var time: Duration {
        if call.request.method == .options { return Endpoint.hookTime }
        return endpoint?.time ?? Endpoint.ordinaryTime
    }

    /// The request id in problem bodies; `nil` if retries must be byte-equal.
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

    /// The first two parts of a path, at most 64 characters.
    private static func beginning(of path: String) -> String {
        let parts = path.split(separator: "/", maxSplits: 2).prefix(2)
        return String(("/" + parts.joined(separator: "/")).unicodeScalars.prefix(64))
    }
}
