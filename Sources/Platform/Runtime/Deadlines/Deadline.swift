import Glibc
import Synchronization

/// One request's time limit, from its last byte to the first byte of its response, and whether it
/// may still commit. All waits of the request (queues, statements, outbound calls) share this
/// limit. When it passes, the server answers instead of the handler, and the handler can no longer
/// commit.
package final class Deadline: Sendable {
    /// The current request's deadline; `nil` for work that no request waits for.
    @TaskLocal package static var current: Deadline?

    /// Reserved for composing and sending the response.
    private static let reserve: Int64 = 100_000_000
    /// Additionally reserved after a wait, so that the handler can report its failure in the
    /// client's own format.
    private static let waitReserve: Int64 = 200_000_000

    /// How long a body may keep its handler waiting; the server itself gives up earlier.
    private static let pause: Int64 = 86_400_000_000_000

    private struct State {
        /// Monotonic nanoseconds.
        var start: Int64
        var end: Int64
        /// Statements in flight that commit by themselves.
        var writing = 0
        /// Whether a COMMIT was sent.
        var hasCommitted = false
        var isOver = false
    }

    private let state: Mutex<State>

    /// `start` is when the request's last byte came, in monotonic nanoseconds.
    package init(since start: Int64, lasting time: Duration) {
        let end = start + Self.nanoseconds(time) - Self.reserve
        state = Mutex(State(start: start, end: end))
    }

    /// Monotonic nanoseconds.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The latest time of the response; monotonic nanoseconds.
    package var end: Int64 { state.withLock { $0.end } }

    package var endOfWaits: Int64 { end - Self.waitReserve }

    /// Whether it is too late to begin anything.
    package var isOver: Bool {
        state.withLock { $0.isOver || Self.now >= $0.end - Self.waitReserve }
    }

    /// Whether the server has answered instead of the handler.
    package var wasAnswered: Bool { state.withLock { $0.isOver } }

    /// The time left for a wait, never negative.
    package var left: Duration { .nanoseconds(max(0, endOfWaits - Self.now)) }

    /// Replaces the request's time limit, also counted from its last byte.
    package func last(_ time: Duration) {
        let time = Self.nanoseconds(time) - Self.reserve
        state.withLock { $0.end = $0.start + time }
    }

    /// The handler waits for a piece of the body: this time is the client's.
    package func pause() { state.withLock { $0.end += Self.pause } }

    /// The piece came at `now` (monotonic nanoseconds); the handler's time starts anew from here.
    package func resume(at now: Int64) {
        state.withLock { state in
            state.end -= Self.pause + state.start - now
            state.start = now
        }
    }

    /// Called before a COMMIT is sent. False if the request was already answered as one that wrote
    /// nothing.
    package func mayCommit() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.hasCommitted = true
            return true
        }
    }

    /// Call before sending a statement that commits by itself; `endWriting` after its answer.
    package func beginWriting() { state.withLock { $0.writing += 1 } }
    package func endWriting() { state.withLock { $0.writing -= 1 } }

    /// Ends the time: no commit is allowed from now on. True if something may have been committed.
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
