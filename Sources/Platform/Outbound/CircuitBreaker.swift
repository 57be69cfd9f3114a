import Synchronization

/// Stops calls to a key that times out: after `threshold` timeouts in a row calls fail at once;
/// after `pause` one call tries again.
final class CircuitBreaker<Key: Hashable & Sendable>: Sendable {
    static var threshold: Int { 3 }
    static var pause: Duration { .seconds(10) }
    /// Beyond this number the key that failed longest ago is dropped.
    static var keyLimit: Int { 1024 }

    private struct State {
        var failures = 0
        var failedAt: ContinuousClock.Instant
        var isTrying = false
    }

    private let states = Mutex<[Key: State]>([:])

    /// Whether a call would be refused now, so that it need not wait for a slot.
    func isOpen(_ key: Key, at now: ContinuousClock.Instant) -> Bool {
        states.withLock { states in
            guard let state = states[key], state.failures >= Self.threshold else { return false }
            return now - state.failedAt < Self.pause
        }
    }

    /// Whether a call may be made now. Report its result with `succeeded` or `timedOut`.
    func permits(_ key: Key, at now: ContinuousClock.Instant) -> Bool {
        states.withLock { states in
            guard let state = states[key], state.failures >= Self.threshold else { return true }
            // A trial that never reported its end has expired too.
            guard now - state.failedAt >= (state.isTrying ? Self.pause * 2 : Self.pause) else {
                return false
            }
            states[key]?.isTrying = true
            return true
        }
    }

    /// Call after any response, refusals included.
    func succeeded(_ key: Key) { states.withLock { _ = $0.removeValue(forKey: key) } }

    func timedOut(_ key: Key, at now: ContinuousClock.Instant) {
        states.withLock { states in
            if states[key] == nil, states.count >= Self.keyLimit,
                let oldest = states.min(by: { $0.value.failedAt < $1.value.failedAt })
            {
                states[oldest.key] = nil
            }
            var state = states[key] ?? State(failedAt: now)
            state.failures += 1
            state.failedAt = now
            state.isTrying = false
            states[key] = state
        }
    }
}
