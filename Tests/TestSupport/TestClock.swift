import Synchronization
import Text

/// A clock that moves when it is told to.
package final class TestClock: Sendable {
    private let time = Mutex(Timestamp.systemClock())

    package init() {}

    package var now: Timestamp { time.withLock { $0 } }

    package func advance(seconds: Int64) {
        time.withLock { $0 = $0.adding(seconds: seconds) }
    }
}
