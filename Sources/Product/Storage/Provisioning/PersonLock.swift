import Domain
import Synchronization

/// Lets the tries of one person in one after another, before any of them takes a connection: those
/// that would only wait for the person's row locks must not use the pool up for everybody else.
/// Between replicas the row locks decide, with one try of each replica waiting at most.
package final class PersonLock: Sendable {
    /// How many wait for all persons together; more are turned away at once.
    package static let waitingLimit = 4096
    /// Of these one caller may hold so many: the rest stays for the others.
    package static let waitingLimitOfCaller = 2048

    /// The line was closed to this caller while the try waited; it may be answered otherwise.
    struct TurnedAway: Error {}

    private enum Entry { case admitted, late, turnedAway }

    private struct Waiter {
        var deadline: ContinuousClock.Instant
        var caller: String
        var isTurnedAway: Bool
        var admit: CheckedContinuation<Entry, Never>
    }

    private struct Lines {
        /// A key is there while somebody is in; the others wait behind.
        var waiting: [String: [Waiter]] = [:]
        var count = 0
        var counts: [String: Int] = [:]

        mutating func left(_ waiters: [Waiter]) {
            count -= waiters.count
            for waiter in waiters {
                let rest = (counts[waiter.caller] ?? 1) - 1
                counts[waiter.caller] = rest > 0 ? rest : nil
            }
        }
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
    /// `StorageFailure.unavailable` where it took too long or too many wait, and, if `isTurnedAway`,
    /// `TurnedAway` where the line was closed meanwhile.
    package func withExclusive<Result: Sendable>(
        keys: [String], by caller: String = "", isTurnedAway: Bool = false,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let deadline = now() + patience
        var held: [String] = []
        defer { for key in held.reversed() { leave(key, caller) } }
        for key in keys {
            let entry = await withCheckedContinuation { admit in
                let waiter = Waiter(
                    deadline: deadline, caller: caller, isTurnedAway: isTurnedAway, admit: admit)
                enter(key, waiter)
            }
            switch entry {
            case .admitted: held.append(key)
            case .late: throw StorageFailure.unavailable
            case .turnedAway: throw TurnedAway()
            }
        }
        return try await body()
    }

    /// Sends away who waits under this key for this caller and may be answered otherwise.
    func turnAway(from key: String, of caller: String) {
        let away = lines.withLock { lines -> [Waiter] in
            guard let waiters = lines.waiting[key] else { return [] }
            let away = waiters.filter { $0.isTurnedAway && sameBytes($0.caller, caller) }
            lines.waiting[key] = waiters.filter {
                !($0.isTurnedAway && sameBytes($0.caller, caller))
            }
            lines.left(away)
            return away
        }
        for waiter in away { waiter.admit.resume(returning: .turnedAway) }
    }

    package var waitingCount: Int { lines.withLock { $0.count } }

    private func enter(_ key: String, _ waiter: Waiter) {
        let answer: Entry? = lines.withLock { lines in
            guard lines.waiting[key] != nil else {
                lines.waiting[key] = []
                return .admitted
            }
            let own = lines.counts[waiter.caller] ?? 0
            guard lines.count < Self.waitingLimit, own < Self.waitingLimitOfCaller else {
                return .late
            }
            lines.waiting[key]?.append(waiter)
            lines.count += 1
            lines.counts[waiter.caller] = own + 1
            return nil
        }
        if let answer { waiter.admit.resume(returning: answer) }
    }

    /// Lets the next one in, another caller's before one more of this caller's: a tenant that names
    /// somebody's address over and over does not keep the others from it. Who waited too long is
    /// told so now, wherever in the line, since who came from another line may have begun earlier
    /// than those in front. The one before is bounded by the limits of its own transaction.
    private func leave(_ key: String, _ caller: String) {
        let now = now()
        let (late, next) = lines.withLock { lines -> ([Waiter], Waiter?) in
            let waiters = lines.waiting[key] ?? []
            let late = waiters.filter { $0.deadline <= now }
            var rest = late.isEmpty ? waiters : waiters.filter { $0.deadline > now }
            let at = rest.firstIndex { !sameBytes($0.caller, caller) } ?? 0
            let next = rest.isEmpty ? nil : rest.remove(at: at)
            lines.waiting[key] = next == nil ? nil : rest
            lines.left(late + [next].compactMap(\.self))
            return (late, next)
        }
        for waiter in late { waiter.admit.resume(returning: .late) }
        next?.admit.resume(returning: .admitted)
    }
}
