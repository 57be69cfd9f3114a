import HTTP
import Runtime
import Text

/// Records each finished request in the metrics, in one log line and, if the request has a trace,
/// in the trace.
package struct RequestLog: Sendable {
    let metrics: ServiceMetrics
    let logger: Logger?

    package func record(_ record: RequestRecord) {
        metrics.record(record)
        log(record)
        Tracer.end(record)
    }

    private func log(_ record: RequestRecord) {
        guard let logger else { return }
        var fields: [(StaticString, LogValue)] = [
            ("request_id", .text(record.requestID)),
            ("method", .text(record.method.rawValue)),
            ("route", .text(record.route ?? "")),
            ("status", .int(record.status)),
            ("microseconds", .int(Int(record.microseconds))),
            ("ip", .text(record.remoteAddress)),
        ]
        if let beginning = record.beginning { fields.append(("path", .text(beginning))) }
        if let tenant = record.tenant { fields.append(("tenant", .text(tenant.description))) }
        if record.principal.kind != .anonymous {
            let id = record.principal.id.map { " \($0)" } ?? ""
            fields.append(("by", .text(record.principal.kind.rawValue + id)))
        }
        if let trace = Trace.current?.id ?? TraceParent(record.traceparent)?.trace {
            fields.append(("trace_id", .text(trace)))
        }
        if let fault = record.fault { fields.append(("fault", .text(fault))) }
        // `fault` contains the reason for a refusal only if the response does not state the reason,
        // for example because the response is a redirect. A line with `fault` has the level notice,
        // so that the command `dev` shows it.
        let isUnsaid = record.fault != nil
        logger.log(
            record.isFailed ? .error : isUnsaid ? .notice : .info, "request.finished", fields)
    }
}

/// A finished request, for the log and the metrics.
package struct RequestRecord: Sendable {
    /// The request id, which is also in the response's `X-Request-Id`.
    var requestID: String
    var method: Method
    /// The path's pattern. It is recorded in place of the path, since it has few values and no
    /// personal data.
    var route: String?
    /// The beginning of a path that matches no route. The rest is not recorded, as it may contain a
    /// secret.
    var beginning: String?
    /// The endpoint's operationId; `nil` if no endpoint matched.
    var operation: String?
    var status: Int
    /// The duration in microseconds, from the start of the call to its response.
    var microseconds: Int64
    var principal: CallerPrincipal
    /// The tenant in the path or, if there is none, the credential's tenant.
    var tenant: UUID?
    /// The client's address as text, without a port.
    var remoteAddress: String
    /// The W3C Trace Context field as sent; `nil` if it is absent.
    var traceparent: String?
    /// The error, or the reason for a refusal if the response does not state it; `nil` if there is
    /// neither.
    var fault: String?
    /// The cause of a 503.
    var outage: Outage?
    /// Whether the client's connection is encrypted.
    var isTLS = false
    /// Whether the response has a 5xx status only because an app's contract requires it, and not
    /// because of a fault of the server. Such a response is counted as a 4xx.
    var isForeseen = false
    /// Whether the response is due to a fault of this server.
    var isFailed: Bool { status >= 500 && !isForeseen }

    /// The defaults describe a request without a fault.
    package init(
        requestID: String, method: Method, route: String?, operation: String?, status: Int,
        microseconds: Int64, principal: CallerPrincipal, tenant: UUID?, remoteAddress: String,
        traceparent: String? = nil, fault: String? = nil, outage: Outage? = nil
    ) {
        self.requestID = requestID
        self.method = method
        self.route = route
        self.operation = operation
        self.status = status
        self.microseconds = microseconds
        self.principal = principal
        self.tenant = tenant
        self.remoteAddress = remoteAddress
        self.traceparent = traceparent
        self.fault = fault
        self.outage = outage
    }
}

/// Why a request was answered 503.
package enum Outage: String, CaseIterable, Sendable {
    /// PostgreSQL was unreachable, or could not do what was requested.
    case database
    /// A COMMIT was sent, and its response was lost.
    case commitUnknown = "commit_unknown"
    /// The request's time limit was reached.
    case deadline
    /// The 503 has any other cause, such as a provider, a limit that was reached, or a replica that
    /// is stopping.
    case other
}
