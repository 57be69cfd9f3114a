import Synchronization
import Text

/// A request whose spans are recorded. Without one, nothing is measured and nothing allocated.
package final class Trace: Sendable {
    /// That of the request in whose task the caller runs; nil: it is not recorded.
    @TaskLocal package static var current: Trace?

    /// Parts of one request; more are counted as dropped, so that a request with a thousand statements
    /// does not take the queue from all others.
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
        // As the convention of ids wants it: never zero.
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
