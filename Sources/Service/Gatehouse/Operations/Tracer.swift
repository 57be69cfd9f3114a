import API
import HTTP
import JSON
import Outbound
import Runtime
import Synchronization
import Text

/// Where traces are sent, and how many are started.
package struct TraceConfiguration: Sendable {
    /// An absolute URL, `http` or `https`, where a collector takes OTLP with JSON; mostly with
    /// `/v1/traces`.
    package var url: String
    /// The share, from 0 to 1, of requests without a caller's trace that is recorded.
    package var ratio: Double

    package init(url: String, ratio: Double) {
        self.url = url
        self.ratio = ratio
    }
}

/// Decides which requests are recorded, and describes them by OpenTelemetry's conventions for HTTP
/// servers. The path, the caller's address and its program are left out: the log has them under the
/// trace's id, and fewer people see the log.
package struct Tracer: Sendable {
    let queue: SpanQueue
    /// The share, from 0 to 1, of requests without a caller's trace that is recorded.
    let ratio: Double

    /// The caller's decision counts; without one, chance decides.
    func begin(_ request: Request) -> Trace? {
        if let parent = TraceParent(request.first("traceparent")) {
            return parent.isSampled ? Trace(parent.trace, parent: parent.span, into: queue) : nil
        }
        return Double.random(in: 0..<1) < ratio ? Trace(into: queue) : nil
    }

    /// Records the request in whose task this is called, if that request is traced.
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

/// W3C Trace Context: `traceparent` names the caller's trace and span, and whether it is recorded.
struct TraceParent {
    /// 32 hexadecimal digits.
    let trace: String
    let span: UInt64
    let isSampled: Bool

    /// `nil` for an absent header, or for a malformed one, which counts as absent.
    init?(_ header: String?) {
        guard let header else { return nil }
        let parts = Array(header.utf8).split(separator: 0x2D, omittingEmptySubsequences: false)
        // Versions above 00 may have more parts; ff is never valid.
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

/// Sends spans to the operator's collector by OTLP over HTTP with JSON. While the collector is
/// away, they wait in their queue, and no request waits for it.
final class TraceExport: Sendable {
    /// What became of spans.
    enum Result: String, CaseIterable {
        case sent
        /// Not sent, because the queue was full or the request had too many.
        case dropped
        /// The collector refused them.
        case refused
    }

    /// The spans of one call: as many as are encoded within about 0.2 ms.
    static let batch = 128
    /// Statements are cut at this length, in bytes.
    static let textLimit = 4096

    /// Records requests into the queue.
    let tracer: Tracer
    private let url: String
    /// Names this process among its replicas.
    private let instance = UUID.random().description
    private let queue: SpanQueue
    private let counters: [Result: Counter]
    private let http: OutboundHTTP
    private let logger: Logger
    private let outage = RepeatedFailure(calm: 0)

    init(
        _ configuration: TraceConfiguration, counters: [Result: Counter], logger: Logger
    ) {
        queue = SpanQueue(dropped: counters[.dropped] ?? Counter())
        tracer = Tracer(queue: queue, ratio: configuration.ratio)
        url = configuration.url
        self.counters = counters
        self.logger = logger
        // The last call before a stop must not wait for another one.
        http = OutboundHTTP(policy: .ofOperator, threads: 2)
    }

    /// Sends each second.
    func task(on loop: EventLoop) -> PeriodicTask {
        PeriodicTask("sending of traces failed", every: 1, on: loop, logger: logger) {
            [self] in await round()
        }
    }

    /// Sends what waits until everything is sent, the collector fails, or the time is over. It
    /// stops after a batch that is not full, because each call opens a connection.
    func round(until end: ContinuousClock.Instant? = nil) async {
        while true {
            let spans = queue.take(Self.batch)
            guard !spans.isEmpty else { return }
            guard await send(spans, until: end), spans.count == Self.batch else { return }
        }
    }

    /// False if the collector should be tried again later.
    private func send(_ spans: [Span], until end: ContinuousClock.Instant?) async -> Bool {
        let request = OutboundRequest(
            .post, url, fields: [Field("content-type", "application/json")],
            body: Self.encoded(spans, instance))
        var fault: String
        do throws(OutboundFailure) {
            let status = try await http.send(request, for: nil, until: end).status
            if (200...299).contains(status) {
                counters[.sent]?.increment(by: spans.count)
                tell(nil)
                return true
            }
            fault = "\(status)"
            // By OTLP's specification, all other statuses are final.
            if ![429, 502, 503, 504].contains(status) {
                counters[.refused]?.increment(by: spans.count)
                tell(fault)
                return true
            }
        } catch {
            fault = error.rawValue
            // The collector has answered, so it may have the spans.
            if error == .tooLarge || error == .malformed {
                counters[.refused]?.increment(by: spans.count)
                tell(fault)
                return true
            }
        }
        queue.putBack(spans)
        tell(fault)
        return false
    }

    private func tell(_ fault: String?) {
        if let fault {
            guard let news = outage.failed(at: BootClock.now) else { return }
            logger.log(.warning, "traces cannot be sent", [("fault", .text(fault + news.suffix))])
        } else if let news = outage.worked(at: BootClock.now) {
            logger.log(
                .notice, "traces are sent again",
                [("seconds", .int(news.seconds)), ("failures", .int(news.failures))])
        }
    }

    /// One `ExportTraceServiceRequest`.
    static func encoded(_ spans: [Span], _ instance: String) -> [UInt8] {
        JSONWriter.bytes(reserving: 1024 * (spans.count + 1)) { json in
            json.beginObject()
            json.name("resourceSpans")
            json.beginArray()
            json.beginObject()
            json.name("resource")
            json.beginObject()
            write(
                [
                    ("service.name", "gatehouse"), ("service.version", .text(Version.current)),
                    ("service.instance.id", .text(instance)),
                ], to: &json)
            json.endObject()
            json.name("scopeSpans")
            json.beginArray()
            json.beginObject()
            json.name("scope")
            json.beginObject()
            json.name("name")
            json.string("gatehouse")
            json.endObject()
            json.name("spans")
            json.beginArray()
            for span in spans { write(span, to: &json) }
            json.endArray()
            json.endObject()
            json.endArray()
            json.endObject()
            json.endArray()
            json.endObject()
        }
    }

    private static func write(_ span: Span, to json: inout JSONWriter) {
        json.beginObject()
        json.name("traceId")
        json.string(span.trace)
        json.name("spanId")
        json.string(text(span.id))
        if let parent = span.parent {
            json.name("parentSpanId")
            json.string(text(parent))
        }
        json.name("name")
        json.string(span.name)
        json.name("kind")
        json.int(span.kind.rawValue)
        // In Protobuf's JSON, 64-bit numbers are strings.
        json.name("startTimeUnixNano")
        json.string("\(span.start)")
        json.name("endTimeUnixNano")
        json.string("\(span.end)")
        write(span.attributes, to: &json)
        if span.isFailed {
            json.name("status")
            json.beginObject()
            json.name("code")
            json.int(2)
            json.endObject()
        }
        json.endObject()
    }

    private static func write(
        _ attributes: [(name: StaticString, value: LogValue)], to json: inout JSONWriter
    ) {
        json.name("attributes")
        json.beginArray()
        for (name, value) in attributes {
            json.beginObject()
            json.name("key")
            json.string(name.description)
            json.name("value")
            json.beginObject()
            switch value {
            case .text(let text):
                json.name("stringValue")
                json.string(cut(text))
            case .int(let number):
                json.name("intValue")
                json.string("\(number)")
            case .bool(let truth):
                json.name("boolValue")
                json.bool(truth)
            case .double(let number):
                json.name("doubleValue")
                json.number("\(number)")
            }
            json.endObject()
            json.endObject()
        }
        json.endArray()
    }

    private static func cut(_ text: String) -> String {
        text.utf8.count <= textLimit
            ? text : String(decoding: text.utf8.prefix(textLimit), as: UTF8.self)
    }

    private static func text(_ id: UInt64) -> String {
        withUnsafeBytes(of: id.bigEndian) { Hex.encode($0) }
    }
}
