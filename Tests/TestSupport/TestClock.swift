import Synchronization
import Text

/// A clock that moves only by `advance` and `startMinute`.
package final class TestClock: Sendable {
    private let time = Mutex(Timestamp.systemClock())

    package init() {}

    package var now: Timestamp { time.withLock { $0 } }

    /// Goes to the next full minute, so that counts by the minute do not start anew during a test.
    package func startMinute() {
        time.withLock {
            $0 = Timestamp(microseconds: ($0.microseconds / 60_000_000 + 1) * 60_000_000)
        }
    }

    package func advance(seconds: Int64) {
        time.withLock { $0 = $0.adding(seconds: seconds) }
    }

    /// What a service reads whose test may hold its clock: `clock`, or without one `slow()`.
    package static func reading(_ clock: TestClock?) -> @Sendable () -> Timestamp {
        guard let clock else { return slow() }
        return { clock.now }
    }

    /// A clock that starts in the first half of a minute, at most half a minute ahead of the machine's, and
    /// runs a hundred times slower: times keep their order, and no count by the minute starts anew
    /// during a test.
    package static func slow() -> @Sendable () -> Timestamp {
        let (begin, half) = (Timestamp.systemClock().microseconds, Int64(30_000_000))
        let start = begin % (2 * half) < half ? begin : begin + half
        return {
            let passed = Timestamp.systemClock().microseconds - begin
            return Timestamp(microseconds: start + passed / 100)
        }
    }
}
