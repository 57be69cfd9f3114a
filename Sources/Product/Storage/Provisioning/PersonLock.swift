import Domain
import Synchronization
import Text

/// Serialises the attempts of one person before any of them takes a connection, since attempts that
/// only wait for the person's row locks must not exhaust the pool. Between replicas the row locks
/// decide, with at most one waiting attempt per replica.
package final class PersonLock: Sendable {
    /// The most waiters for all persons together; further ones are refused at once.
    package static let waitingLimit = 4096
    /// The most waiters of one caller, so that others can wait too.
    package static let waitingLimitOfCaller = 2048

    /// The lock was closed to this caller during the wait; the caller may be able to answer in
    /// another way.
    struct TurnedAway: Error {}

    private enum Entry { case admitted, late, turnedAway }

    private struct Waiter {
        var deadline: ContinuousClock.Instant
        var caller: String
        var isTurnedAway: Bool
        var admit: CheckedContinuation<Entry, Never>
    }

    private struct Lines {
        /// Contains a key while it is held; the waiters queue behind it.
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

    /// `patience` is how long an attempt may wait for all its keys together. With 2 s it still has
    /// 3 of the 5 seconds that Cognito waits, which is more than the database allows a statement
    /// (2.5 s).
    package init(
        patience: Duration = .seconds(2),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.patience = patience
        self.now = now
    }

    /// Runs `body` while no other call runs under any of these keys. All callers name them in the
    /// same order of kinds (identity, address), which prevents deadlocks. Throws
    /// `StorageFailure.unavailable` if the wait was too long or too many are waiting and, with
    /// `isTurnedAway`, `TurnedAway` if the lock was closed in the meantime.
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

    /// Turns away those of this caller's waiters under this key that permit it.
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

    /// The number of waiters under all keys, without the holders.
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

    /// Admits the next waiter, another caller's before one more of this caller's, so that a tenant
    /// that floods one address does not block the others. Waiters past their deadline fail now,
    /// wherever they are in the queue, since a waiter that comes from another key's queue may have
    /// begun before those in front of it. The holder is bounded by the limits of its own
    /// transaction.
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
