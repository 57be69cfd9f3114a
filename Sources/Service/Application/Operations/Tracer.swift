import API
import HTTP
import Observability
import Text

/// Where traces are sent, and how many are begun.
package struct TraceConfiguration: Sendable {
    /// Absolute, `http` or `https`; as a collector takes OTLP with JSON, mostly with `/v1/traces`.
    package var url: String
    /// Of requests without a caller's trace, from 0 to 1.
    package var ratio: Double

    package init(url: String, ratio: Double) {
        self.url = url
        self.ratio = ratio
    }
}

/// Decides which requests are recorded, and describes them by OpenTelemetry's conventions for HTTP
/// servers. The path, the caller's address and its program stay out: the log has them, under the trace's
/// id, and fewer people see it.
package struct Tracer: Sendable {
    let queue: SpanQueue
    /// Of requests without a caller's trace, from 0 to 1.
    let ratio: Double

    /// What the caller decided counts, else chance.
    func begin(_ request: Request) -> Trace? {
        if let parent = TraceParent(request.first("traceparent")) {
            return parent.isSampled ? Trace(parent.trace, parent: parent.span, into: queue) : nil
        }
        return Double.random(in: 0..<1) < ratio ? Trace(into: queue) : nil
    }

    /// Records the request in whose task it is called, if that is traced.
    static func end(_ record: RequestRecord) {
        guard let trace = Trace.current else { return }
        let isFailed = record.isFailed
        var attributes: [(name: StaticString, value: LogValue)] = [
            ("http.request.method", .text(record.method.rawValue)),
            ("http.response.status_code", .int(record.status)),
            ("url.scheme", record.isTLS ? "https" : "http"),
        ]
        if let route = record.route { attributes.append(("http.route", .text(route))) }
        if let tenant = record.tenant {
            attributes.append(("gatehouse.tenant.id", .text(tenant.description)))
        }
        if isFailed { attributes.append(("error.type", .text("\(record.status)"))) }
        let name = record.method.rawValue + (record.route.map { " \($0)" } ?? "")
        trace.end(name, isFailed: isFailed, attributes)
    }
}
