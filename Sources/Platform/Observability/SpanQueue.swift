import Synchronization

/// Spans that wait to be sent. It never waits for anything itself: what does not fit is dropped and
/// counted.
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

    /// For another attempt; of those, the newest are dropped that do not fit any more.
    package func putBack(_ taken: [Span]) {
        let kept = spans.withLock { spans in
            let kept = taken.prefix(max(0, Self.limit - spans.count))
            spans.insert(contentsOf: kept, at: 0)
            return kept.count
        }
        if kept < taken.count { drop(taken.count - kept) }
    }
}
