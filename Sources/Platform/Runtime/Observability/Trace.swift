import Glibc
import Synchronization
import Text

/// A request whose spans are recorded. Without one, nothing is measured and nothing allocated.
package final class Trace: Sendable {
    /// The trace of the request in whose task the caller runs; `nil` if it is not recorded.
    @TaskLocal package static var current: Trace?

    /// The most parts of one request. More are counted as dropped, so that a request with a
    /// thousand statements does not take the queue from all others.
    package static let partLimit = 256

    /// 32 hexadecimal digits.
    package let id: String
    private let span = UInt64.random(in: 1...UInt64.max)
    private let parent: UInt64?
    private let start = Span.now
    private let parts = Atomic<Int>(0)
    private let queue: SpanQueue

    /// Continues the caller's trace.
    package init(_ id: String, parent: UInt64, into queue: SpanQueue) {
        self.id = id
        self.parent = parent
        self.queue = queue
    }

    /// Begins a trace.
    package init(into queue: SpanQueue) {
        // As the convention for ids demands, it is never zero.
        id = Hex.encode(
            [UInt64.random(in: 1...UInt64.max), .random(in: 0...UInt64.max)].flatMap {
                withUnsafeBytes(of: $0.bigEndian) { Array($0) }
            })
        parent = nil
        self.queue = queue
    }

    /// Records a call to another server, from `start` in nanoseconds since 1970 until now. Callable from
    /// any thread.
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

    /// Records the request itself; call it once.
    package func end(
        _ name: String, isFailed: Bool, _ attributes: [(name: StaticString, value: LogValue)]
    ) {
        queue.add(
            Span(
                trace: id, id: span, parent: parent, kind: .server, name: name, start: start,
                end: max(start, Span.now), attributes: attributes, isFailed: isFailed))
    }
}

/// A piece of work with its beginning and end, as OpenTelemetry's data model has it.
package struct Span: Sendable {
    /// The numbers are OTLP's.
    package enum Kind: Int, Sendable {
        case server = 2
        case client = 3
    }

    /// 32 hexadecimal digits.
    package let trace: String
    package let id: UInt64
    /// `nil` for the first span of its trace.
    package let parent: UInt64?
    package let kind: Kind
    /// One of few values, without data.
    package let name: String
    /// Nanoseconds since 1970.
    package let start: Int64
    package let end: Int64
    /// By OpenTelemetry's semantic conventions; never a secret, an address or a bound value.
    package let attributes: [(name: StaticString, value: LogValue)]
    package let isFailed: Bool

    /// Nanoseconds since 1970.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Spans that wait to be sent. Adding one never blocks: what does not fit is dropped and counted.
package final class SpanQueue: Sendable {
    /// About 4 MB.
    package static let limit = 4096

    private let spans = Mutex<[Span]>([])
    private let dropped: Counter

    /// `dropped` counts the spans that did not fit.
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

    /// Takes the oldest, at most `count`.
    package func take(_ count: Int) -> [Span] {
        spans.withLock { spans in
            let taken = Array(spans.prefix(count))
            spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Keeps spans for another attempt. The newest of them are dropped if they no longer fit.
    package func putBack(_ taken: [Span]) {
        let kept = spans.withLock { spans in
            let kept = taken.prefix(max(0, Self.limit - spans.count))
            spans.insert(contentsOf: kept, at: 0)
            return kept.count
        }
        if kept < taken.count { drop(taken.count - kept) }
    }
}
