import Glibc
import Synchronization

/// The time limit of one request, from its last byte to the first byte of its response. All waits
/// of the request (queues, statements, outbound calls) share it. When it passes, the server
/// responds instead of the handler, and the handler can no longer commit.
package final class Deadline: Sendable {
    /// The deadline of the current request; `nil` if no request waits for the work.
    @TaskLocal package static var current: Deadline?

    /// Nanoseconds that are reserved for making and sending the response.
    private static let reserve: Int64 = 100_000_000
    /// Nanoseconds that must be left when a wait ends, in addition to `reserve`. In this time the
    /// handler itself can still report the failure in the client's format.
    private static let waitReserve: Int64 = 200_000_000

    /// Nanoseconds by which the deadline is postponed while the handler waits for a piece of the
    /// body. The time is so long that the deadline in effect stops: the server refuses a slow body
    /// long before.
    private static let pause: Int64 = 86_400_000_000_000

    private struct State {
        /// The start of the time limit, in monotonic nanoseconds; `end` is its end.
        var start: Int64
        var end: Int64
        /// How many statements that commit by themselves are in progress.
        var writing = 0
        /// Whether a COMMIT was or is about to be sent.
        var hasCommitted = false
        var isOver = false
    }

    private let state: Mutex<State>

    /// Makes a deadline. `start` is when the request's last byte arrived, in monotonic nanoseconds.
    package init(since start: Int64, lasting time: Duration) {
        let end = start + Self.nanoseconds(time) - Self.reserve
        state = Mutex(State(start: start, end: end))
    }

    /// The current time in monotonic nanoseconds.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The time by which the response must begin, in monotonic nanoseconds.
    package var end: Int64 { state.withLock { $0.end } }

    package var endOfWaits: Int64 { end - Self.waitReserve }

    /// Whether it is too late to begin any further work.
    package var isOver: Bool {
        state.withLock { $0.isOver || Self.now >= $0.end - Self.waitReserve }
    }

    /// Whether the server has responded instead of the handler.
    package var wasAnswered: Bool { state.withLock { $0.isOver } }

    /// The time left for waiting; never negative.
    package var left: Duration { .nanoseconds(max(0, endOfWaits - Self.now)) }

    /// Replaces the time limit. The new one is also counted from the request's last byte.
    package func last(_ time: Duration) {
        let time = Self.nanoseconds(time) - Self.reserve
        state.withLock { $0.end = $0.start + time }
    }

    /// Stops the time limit while the handler waits for a piece of the body.
    package func pause() { state.withLock { $0.end += Self.pause } }

    /// Restarts the time limit, because a piece of the body arrived at `now` (monotonic
    /// nanoseconds).
    package func resume(at now: Int64) {
        state.withLock { state in
            state.end -= Self.pause + state.start - now
            state.start = now
        }
    }

    /// Whether a COMMIT may be sent. Call this just before sending one. False if the server has
    /// already responded that the request wrote nothing.
    package func mayCommit() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.hasCommitted = true
            return true
        }
    }

    /// Records that a statement which commits by itself is in progress. Call it before sending the
    /// statement, and `endWriting` after its answer.
    package func beginWriting() { state.withLock { $0.writing += 1 } }
    package func endWriting() { state.withLock { $0.writing -= 1 } }

    /// Ends the time limit; no commit is allowed afterwards. Returns true if the request may have
    /// committed something.
    package func expire() -> Bool {
        state.withLock { state in
            state.isOver = true
            return state.hasCommitted || state.writing > 0
        }
    }

    private static func nanoseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
