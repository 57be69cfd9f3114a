import Glibc
import Synchronization
import Text

/// The trace of one request whose spans are recorded. For other requests there is no `Trace`, and
/// nothing is measured or allocated.
package final class Trace: Sendable {
    /// The trace of the request that the current task belongs to; `nil` if it is not recorded.
    @TaskLocal package static var current: Trace?

    /// The maximum number of parts (child spans) of one request. Further parts are only counted as
    /// dropped, so that a request with a thousand statements does not fill the queue.
    package static let partLimit = 256

    /// The trace id: 32 hexadecimal digits.
    package let id: String
    private let span = UInt64.random(in: 1...UInt64.max)
    private let parent: UInt64?
    private let start = Span.now
    private let parts = Atomic<Int>(0)
    private let queue: SpanQueue

    /// Continues the trace `id` of the caller, whose span is `parent`.
    package init(_ id: String, parent: UInt64, into queue: SpanQueue) {
        self.id = id
        self.parent = parent
        self.queue = queue
    }

    /// Begins a new trace.
    package init(into queue: SpanQueue) {
        // The id is never zero, as W3C Trace Context requires.
        id = Hex.encode(
            [UInt64.random(in: 1...UInt64.max), .random(in: 0...UInt64.max)].flatMap {
                withUnsafeBytes(of: $0.bigEndian) { Array($0) }
            })
        parent = nil
        self.queue = queue
    }

    /// Records a call to another server that began at `start` (nanoseconds since 1970) and ends
    /// now. May be called from any thread.
    package func add(
        _ name: String, since start: Int64, isFailed: Bool,
        _ attributes: [(name: StaticString, value: LogValue)]
    ) {
        guard parts.wrappingAdd(1, ordering: .relaxed).newValue <= Self.partLimit else {
            return queue.drop(1)
        }
        queue.add(
            Span(
                trace: id, id: .random(in: 1...UInt64.max), parent: span, kind: .client, name: name,
                start: start, end: max(start, Span.now), attributes: attributes, isFailed: isFailed)
        )
    }

    /// Records the span of the request itself. Call it once.
    package func end(
        _ name: String, isFailed: Bool, _ attributes: [(name: StaticString, value: LogValue)]
    ) {
        queue.add(
            Span(
                trace: id, id: span, parent: parent, kind: .server, name: name, start: start,
                end: max(start, Span.now), attributes: attributes, isFailed: isFailed))
    }
}

/// A span of OpenTelemetry's data model: a piece of work with its beginning and its end.
package struct Span: Sendable {
    /// The kind of a span, with the numbers of OTLP.
    package enum Kind: Int, Sendable {
        case server = 2
        case client = 3
    }

    /// The trace id: 32 hexadecimal digits.
    package let trace: String
    package let id: UInt64
    /// The id of the parent span; `nil` for the first span of its trace.
    package let parent: UInt64?
    package let kind: Kind
    /// The span's name: one of few values, without data of the request.
    package let name: String
    /// When the span began, in nanoseconds since 1970; `end` is when it ended.
    package let start: Int64
    package let end: Int64
    /// Attributes by OpenTelemetry's semantic conventions; never a secret, an address or a bound
    /// value.
    package let attributes: [(name: StaticString, value: LogValue)]
    package let isFailed: Bool

    /// The current time in nanoseconds since 1970.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The spans that are still to be sent. Adding a span never blocks: if the queue is full, the span
/// is dropped and counted.
package final class SpanQueue: Sendable {
    /// The most spans in the queue, about 4 MB.
    package static let limit = 4096

    private let spans = Mutex<[Span]>([])
    private let dropped: Counter

    /// Makes an empty queue. `dropped` counts the spans that did not fit.
    package init(dropped: Counter) { self.dropped = dropped }

    func add(_ span: Span) {
        let fits = spans.withLock { spans in
            guard spans.count < Self.limit else { return false }
            spans.append(span)
            return true
        }
        if !fits { drop(1) }
    }

    func drop(_ count: Int) { dropped.increment(by: count) }

    /// Removes and returns the oldest spans, at most `count`.
    package func take(_ count: Int) -> [Span] {
        spans.withLock { spans in
            let taken = Array(spans.prefix(count))
            spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Puts spans back for another attempt to send them. If they no longer all fit, the newest of
    /// them are dropped.
    package func putBack(_ taken: [Span]) {
        let kept = spans.withLock { spans in
            let kept = taken.prefix(max(0, Self.limit - spans.count))
            spans.insert(contentsOf: kept, at: 0)
            return kept.count
        }
        if kept < taken.count { drop(taken.count - kept) }
    }
}
