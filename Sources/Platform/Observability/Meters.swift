import Synchronization

/// A number that only grows.
package final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    /// Callable from any thread, without a lock.
    package func increment(by amount: Int = 1) { value.wrappingAdd(amount, ordering: .relaxed) }
    /// May lag behind increments of other threads.
    package var current: Int { value.load(ordering: .relaxed) }
}

/// A number that rises and falls.
package final class Gauge: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    /// Callable from any thread, without a lock.
    package func set(_ new: Int) { value.store(new, ordering: .relaxed) }
    package func add(_ amount: Int) { value.wrappingAdd(amount, ordering: .relaxed) }
    /// May lag behind changes of other threads.
    package var current: Int { value.load(ordering: .relaxed) }
}

/// Times in nanoseconds, counted in buckets of round widths from 50 µs to 30 s.
package final class Histogram: Sendable {
    /// Upper bounds in nanoseconds, so that a limit like "under 100 ms" is one of them; one more
    /// bucket holds the rest.
    static let bounds = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000,
        50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
        5_000_000_000, 10_000_000_000, 30_000_000_000,
    ]

    private let buckets = (0...bounds.count).map { _ in Counter() }
    private let total = Atomic<Int>(0)

    package init() {}

    /// Callable from any thread, without a lock.
    package func record(nanoseconds: Int64) {
        let value = max(0, Int(nanoseconds))
        buckets[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count].increment()
        total.wrappingAdd(value, ordering: .relaxed)
    }

    var isEmpty: Bool { buckets.allSatisfy { $0.current == 0 } }

    /// Counts of the buckets, and the sum in nanoseconds.
    var snapshot: (counts: [Int], sum: Int) {
        (buckets.map(\.current), total.load(ordering: .relaxed))
    }
}
