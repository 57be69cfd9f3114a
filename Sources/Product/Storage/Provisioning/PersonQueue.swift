import Synchronization

/// Lets the tries of one person in one after another, before any of them takes a connection: those
/// that would only wait for the person's row locks must not use the pool up for everybody else.
/// Between replicas the row locks decide, with one try of each replica waiting at most.
package final class PersonQueue: Sendable {
    /// How many wait for all persons together; more are turned away at once.
    package static let waitingLimit = 4096

    private struct Waiter {
        var deadline: ContinuousClock.Instant
        var admit: CheckedContinuation<Bool, Never>
    }

    private struct Lines {
        /// A key is there while somebody is in; the others wait behind.
        var waiting: [String: [Waiter]] = [:]
        var count = 0
    }

    private let lines = Mutex(Lines())
    private let patience: Duration
    private let now: @Sendable () -> ContinuousClock.Instant

    /// `patience`: how long a try may wait for all its keys together and still be let in. 2 s leave
    /// it 3 of the 5 seconds that Cognito waits, more than the database gives a statement (2.5 s).
    package init(
        patience: Duration = .seconds(2),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.patience = patience
        self.now = now
    }

    /// Runs `body` while no other runs under any of these keys. All callers name them in one
    /// order of kinds (identity, address), so that none waits for another in a circle. Throws
    /// `StorageFailure.unavailable` where it took too long or too many wait.
    package func alone<Result: Sendable>(
        as keys: [String], _ body: () async throws -> Result
    ) async throws -> Result {
        let deadline = now() + patience
        var held: [String] = []
        defer { for key in held.reversed() { leave(key) } }
        for key in keys {
            guard await enter(key, by: deadline) else { throw StorageFailure.unavailable }
            held.append(key)
        }
        return try await body()
    }

    package var waitingCount: Int { lines.withLock { $0.count } }

    private func enter(_ key: String, by deadline: ContinuousClock.Instant) async -> Bool {
        await withCheckedContinuation { admit in
            let waiter = Waiter(deadline: deadline, admit: admit)
            let answer: Bool? = lines.withLock { lines in
                guard lines.waiting[key] != nil else {
                    lines.waiting[key] = []
                    return true
                }
                guard lines.count < Self.waitingLimit else { return false }
                lines.waiting[key]?.append(waiter)
                lines.count += 1
                return nil
            }
            if let answer { admit.resume(returning: answer) }
        }
    }

    /// Lets the next one in. Who waited too long is told so now, wherever in the line, since who
    /// came from another line may have begun earlier than those in front. The one before is bounded
    /// by the limits of its own transaction.
    private func leave(_ key: String) {
        let now = now()
        let (late, next) = lines.withLock { lines -> ([Waiter], Waiter?) in
            let waiters = lines.waiting[key] ?? []
            let late = waiters.filter { $0.deadline <= now }
            let rest = late.isEmpty ? waiters : waiters.filter { $0.deadline > now }
            lines.waiting[key] = rest.isEmpty ? nil : Array(rest.dropFirst())
            lines.count -= late.count + (rest.isEmpty ? 0 : 1)
            return (late, rest.first)
        }
        for waiter in late { waiter.admit.resume(returning: false) }
        next?.admit.resume(returning: true)
    }
}
