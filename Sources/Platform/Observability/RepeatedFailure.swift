import Synchronization

/// What fails again and again is logged at its beginning, once a minute, and at its end, with the count.
package final class RepeatedFailure: Sendable {
    /// What is to be logged of it now.
    package struct News: Sendable, Equatable {
        /// Of this outage, with the one that is logged.
        package var failures: Int
        /// Since its first failure.
        package var seconds: Int

        /// Behind what the line says of the failure; empty for the first one.
        package var suffix: String {
            failures == 1 ? "" : "; \(failures) times in \(seconds) s"
        }
    }

    private struct State {
        var failures = 0
        var began: Int64 = 0
        var last: Int64 = 0
        var logged: Int64 = 0
    }

    private static let second: Int64 = 1_000_000_000
    private static let pause: Int64 = 60 * second

    /// Nanoseconds without a failure after which it is over.
    private let calm: Int64
    private let state = Mutex(State())
    private let isOut = Atomic(false)

    /// `calm`: in seconds. What fails and works in turn is one outage if it never works for so long.
    package init(calm: Int64 = 5) { self.calm = calm * Self.second }

    package var isOn: Bool { isOut.load(ordering: .relaxed) }

    /// It failed. `now`: nanoseconds of a clock that only goes forward. nil: that is known.
    package func failed(at now: Int64) -> News? {
        state.withLock { state in
            if state.failures == 0 { (state.began, state.logged) = (now, now) }
            state.failures += 1
            state.last = now
            isOut.store(true, ordering: .relaxed)
            if state.failures > 1 {
                guard now - state.logged >= Self.pause else { return nil }
                state.logged = now
            }
            return Self.news(state, until: now)
        }
    }

    /// It works. nil: it did before, or it is too early to say so.
    package func worked(at now: Int64) -> News? {
        guard isOut.load(ordering: .relaxed) else { return nil }
        return state.withLock { state in
            guard state.failures > 0, now - state.last >= calm else { return nil }
            defer { state = State() }
            isOut.store(false, ordering: .relaxed)
            return Self.news(state, until: state.last)
        }
    }

    private static func news(_ state: State, until now: Int64) -> News {
        News(failures: state.failures, seconds: Int((now - state.began) / second))
    }
}
