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
}
