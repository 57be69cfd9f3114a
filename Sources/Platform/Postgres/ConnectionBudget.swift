import Synchronization

/// How many connections the pools of one process may have open together.
///
/// A pool opens its reserved connections without asking, so that none starves; the rest is lent on
/// demand, and shared evenly while several pools need more.
package final class ConnectionBudget: Sendable {
    private struct Wish {
        var pool: ObjectIdentifier
        /// How much the pool has borrowed.
        var borrowed: Int
        var call: @Sendable () -> Void
    }

    private struct State {
        var spare: Int
        var wishes: [Wish] = []
    }

    private let state: Mutex<State>
    /// Whether a pool waits for a connection to be returned; read without the lock.
    private let isWanted = Atomic<Bool>(false)

    /// `spare` is the number of connections that are reserved for no pool.
    package init(spare: Int) { state = Mutex(State(spare: max(0, spare))) }

    /// How many connections may be borrowed now.
    package var spare: Int { state.withLock { $0.spare } }

    /// Borrows a connection if more than `leaving` are left.
    func borrow(leaving rest: Int = 0) -> Bool {
        state.withLock { state in
            guard state.spare > rest else { return false }
            state.spare -= 1
            return true
        }
    }

    /// Returns a connection and notifies the pool that has waited longest.
    func giveBack() {
        let wish = state.withLock { state -> Wish? in
            state.spare += 1
            let first = state.wishes.isEmpty ? nil : state.wishes.removeFirst()
            isWanted.store(!state.wishes.isEmpty, ordering: .relaxed)
            return first
        }
        wish?.call()
    }

    /// Asks to be called when a connection is returned; a pool waits at most once.
    func wish(for pool: AnyObject, borrowed: Int, _ call: @escaping @Sendable () -> Void) {
        let id = ObjectIdentifier(pool)
        state.withLock { state in
            guard !state.wishes.contains(where: { $0.pool == id }) else { return }
            state.wishes.append(Wish(pool: id, borrowed: borrowed, call: call))
            isWanted.store(true, ordering: .relaxed)
        }
    }

    /// Whether a pool should return a borrowed connection: another pool waits, and this one does
    /// not need it or has at least two more than that one.
    func shouldGiveBack(_ pool: AnyObject, borrowed: Int, isIdle: Bool) -> Bool {
        guard isWanted.load(ordering: .relaxed), borrowed > 0 else { return false }
        let id = ObjectIdentifier(pool)
        return state.withLock { state in
            guard let wish = state.wishes.first, wish.pool != id else { return false }
            return isIdle || borrowed > wish.borrowed + 1
        }
    }
}

/// How a process divides its connections among its pools: the reserved ones of each, by loop.
package struct ConnectionPlan: Sendable, Equatable {
    /// The fewest connections that a process can work with: one that listens; on one loop, two of
    /// the app's role, one for look-ups and one of the platform's role; and one to lend.
    package static let least = 6

    /// Connections of the app's role: a reader and a writer for each loop that has any.
    package var app: [Int]
    /// Connections for hash look-ups, by loop; a loop with 0 uses another loop's.
    package var lookups: [Int]
    /// Connections of the platform's role, by loop; a loop with 0 uses another loop's.
    package var platform: [Int]
    package var spare: Int

    /// The default limit of a process with this number of loops.
    package static func standard(loops: Int) -> Int { max(least, 4 * loops + 4) }

    /// `limit` counts all connections of the process, the listening one included; it is at least
    /// `least`. A loop without connections of a role uses another loop's.
    package init(limit: Int, loops: Int) {
        let loops = max(1, loops)
        var left = max(Self.least, limit) - 1
        app = Array(repeating: 0, count: loops)
        lookups = app
        platform = app
        func take(_ count: Int) -> Int {
            guard left > count else { return 0 }
            left -= count
            return count
        }
        app[0] = take(2)
        lookups[0] = take(1)
        platform[0] = take(1)
        for loop in 1..<max(1, loops) { app[loop] = take(2) }
        for loop in 1..<max(1, loops) { lookups[loop] = take(1) }
        for loop in 1..<max(1, loops) { platform[loop] = take(1) }
        spare = left
    }
}
