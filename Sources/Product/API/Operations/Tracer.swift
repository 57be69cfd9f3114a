import HTTP
import Runtime
import Text

/// Decides which requests are traced, and describes them by OpenTelemetry's conventions for HTTP
/// servers. A trace contains neither the path nor the caller's address or user agent. The log
/// contains these together with the trace's id, and fewer people can read the log.
package struct Tracer: Sendable {
    private let queue: SpanQueue
    /// The share of requests to trace, from 0 to 1, among those whose caller sent no trace.
    private let ratio: Double

    package init(queue: SpanQueue, ratio: Double) {
        self.queue = queue
        self.ratio = ratio
    }

    /// What happened to a span.
    package enum Result: String, CaseIterable {
        case sent
        /// The span was not sent, because the queue was full or the request had too many spans.
        case dropped
        /// The collector refused the span.
        case refused
    }

    /// Begins a trace if the request is to be traced; returns `nil` otherwise. If the caller sent a
    /// trace, the caller's decision applies. Otherwise, requests are chosen at random, at the rate
    /// `ratio`.
    func begin(_ request: Request) -> Trace? {
        if let parent = TraceParent(request.first("traceparent")) {
            return parent.isSampled ? Trace(parent.trace, parent: parent.span, into: queue) : nil
        }
        return Double.random(in: 0..<1) < ratio ? Trace(into: queue) : nil
    }

    /// Ends the trace of the current task's request, if it has one.
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

/// The fields of W3C Trace Context's `traceparent`: the caller's trace and span, and whether the
/// caller records them.
struct TraceParent {
    /// The trace's id: 32 hexadecimal digits.
    let trace: String
    let span: UInt64
    let isSampled: Bool

    /// `nil` if the header is absent or malformed.
    init?(_ header: String?) {
        guard let header else { return nil }
        let parts = Array(header.utf8).split(separator: 0x2D, omittingEmptySubsequences: false)
        // The header has four parts. Versions above 00 may have more; version ff is invalid.
        guard parts.count >= 4, parts[0].count == 2, parts[1].count == 32, parts[2].count == 16,
            parts[3].count == 2, parts[0] != [0x66, 0x66],
            parts.count == 4 || parts[0] != [0x30, 0x30],
            parts[0...3].allSatisfy({ $0.allSatisfy(Self.isDigit) }),
            parts[1].contains(where: { $0 != 0x30 }),
            let span = UInt64(String(decoding: parts[2], as: UTF8.self), radix: 16), span != 0,
            let flags = UInt8(String(decoding: parts[3], as: UTF8.self), radix: 16)
        else { return nil }
        trace = String(decoding: parts[1], as: UTF8.self)
        self.span = span
        isSampled = flags & 1 == 1
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
