import API
import HTTP
import JSON
import Outbound
import Runtime
import Synchronization
import Text

/// Where traces are sent, and the share of requests that is recorded.
package struct TraceConfiguration: Sendable {
    /// The absolute URL, `http` or `https`, of a collector that accepts OTLP with JSON. It usually
    /// ends in `/v1/traces`.
    var url: String
    /// The share (0 to 1) of requests to record. It applies only to requests whose caller sent no
    /// trace.
    var ratio: Double

    package init(url: String, ratio: Double) {
        self.url = url
        self.ratio = ratio
    }
}

/// Sends spans to the operator's collector by OTLP over HTTP with JSON. While the collector is
/// unreachable, spans stay in a queue; no request is delayed.
final class TraceExport: Sendable {
    /// The maximum number of spans in one call to the collector. Encoding this many takes about 0.2
    /// ms.
    static let batch = 128
    /// The length in bytes at which the text of a statement is cut.
    static let textLimit = 4096

    /// Records the spans of requests and puts them into the queue.
    let tracer: Tracer
    private let url: String
    /// A random id that distinguishes this process from other replicas in the traces.
    private let instance = UUID.random().description
    private let queue: SpanQueue
    private let counters: [Tracer.Result: Counter]
    private let http: OutboundHTTP
    private let logger: Logger
    private let outage = RepeatedFailure(calm: 0)

    init(
        _ configuration: TraceConfiguration, counters: [Tracer.Result: Counter], logger: Logger
    ) {
        queue = SpanQueue(dropped: counters[.dropped] ?? Counter())
        tracer = Tracer(queue: queue, ratio: configuration.ratio)
        url = configuration.url
        self.counters = counters
        self.logger = logger
        // Use two threads, so that the last call before a stop does not wait for an earlier call.
        http = OutboundHTTP(policy: .ofOperator, threads: 2)
    }

    /// Returns the periodic task that sends spans every second.
    func task(on loop: EventLoop) -> PeriodicTask {
        PeriodicTask("traces.round_failed", every: 1, on: loop, logger: logger) {
            [self] in await round()
        }
    }

    /// Sends the queued spans until the queue is empty, the collector fails, or `end` has passed.
    /// It also stops after a batch that is not full: each call opens a connection, so a few spans
    /// wait for the next round.
    func round(until end: ContinuousClock.Instant? = nil) async {
        while true {
            let spans = queue.take(Self.batch)
            guard !spans.isEmpty else { return }
            guard await send(spans, until: end), spans.count == Self.batch else { return }
        }
    }

    /// Sends one batch; returns false if it should be sent again later.
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
            // OTLP's specification allows a batch to be sent again only after one of these
            // statuses.
            if ![429, 502, 503, 504].contains(status) {
                counters[.refused]?.increment(by: spans.count)
                tell(fault)
                return true
            }
        } catch {
            fault = error.rawValue
            // The collector has answered, so it may have stored the spans; do not send them again.
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
            logger.log(.warning, "traces.send_failed", [("fault", .text(fault + news.suffix))])
        } else if let news = outage.worked(at: BootClock.now) {
            logger.log(
                .notice, "traces.send_recovered",
                [("seconds", .int(news.seconds)), ("failures", .int(news.failures))])
        }
    }

    /// Returns the spans as the JSON of an `ExportTraceServiceRequest`.
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
