import Domain
import Synchronization
import Text

/// A lock in memory, by which the attempts of one person run one after the other. It is taken
/// before a database connection, so that attempts that only wait for the same person do not use up
/// the pool. Between replicas the person's row locks decide, so at most one attempt per replica
/// waits with a connection.
package final class PersonLock: Sendable {
    /// The maximum number of waiting attempts, for all persons together. Further attempts are
    /// refused at once.
    static let waitingLimit = 4096
    /// The maximum number of waiting attempts of one caller. It is less than `waitingLimit`, so
    /// that attempts of other callers can wait too.
    package static let waitingLimitOfCaller = 2048

    /// Thrown to an attempt that `turnAway` removed from the queue. The attempt may then be
    /// answered without the lock.
    struct TurnedAway: Error {}

    private enum Entry { case admitted, late, turnedAway }

    private struct Waiter {
        var deadline: ContinuousClock.Instant
        var caller: String
        var isTurnedAway: Bool
        var admit: CheckedContinuation<Entry, Never>
    }

    private struct Lines {
        /// For each key that an attempt holds, the queue of the attempts that wait for the key. A
        /// key without an entry is free.
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

    /// `patience` is how long an attempt may wait for all its keys together. Cognito waits 5 s for
    /// an answer. After the default of 2 s, an attempt still has 3 s, and a database statement may
    /// take at most 2.5 s.
    package init(
        patience: Duration = .seconds(2),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.patience = patience
        self.now = now
    }

    /// Runs `body` while no other call runs under any of these keys. All callers must name identity
    /// keys before address keys, which prevents deadlocks. Throws `StorageFailure.unavailable` if
    /// it waited too long or too many are waiting. With `isTurnedAway`, it may also throw
    /// `TurnedAway`.
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

    /// Removes from the key's queue those attempts of this caller that permit it with
    /// `isTurnedAway`.
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

    /// The number of attempts that wait for any key, without those that hold one.
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

    /// Releases a key to the next attempt in its queue. An attempt of another caller goes first, so
    /// that a tenant that floods one address does not block the others. Attempts past their
    /// deadline fail now, wherever they are in the queue: an attempt that waited for another key
    /// first may have an earlier deadline than the attempts ahead of it.
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
