import Synchronization

/// The maximum number of connections that the pools of one process may have open in total.
///
/// Each pool may always open the connections that are reserved for it, so that no pool is left
/// without any. The spare connections are lent on demand. While several pools need more, they get
/// even shares.
package final class ConnectionBudget: Sendable {
    private struct Wish {
        var pool: ObjectIdentifier
        /// How many connections the waiting pool has borrowed.
        var borrowed: Int
        var call: @Sendable () -> Void
    }

    private struct State {
        var spare: Int
        var wishes: [Wish] = []
    }

    private let state: Mutex<State>
    /// Whether a pool waits for a connection to be returned. It is read without the lock.
    private let isWanted = Atomic<Bool>(false)

    /// Makes a budget. `spare` is the number of connections that are not reserved for any pool.
    package init(spare: Int) { state = Mutex(State(spare: max(0, spare))) }

    /// How many more connections can be borrowed now.
    var spare: Int { state.withLock { $0.spare } }

    /// Borrows a connection and returns true, or returns false if at most `rest` are left to
    /// borrow.
    func borrow(leaving rest: Int = 0) -> Bool {
        state.withLock { state in
            guard state.spare > rest else { return false }
            state.spare -= 1
            return true
        }
    }

    /// Returns a borrowed connection and notifies the pool that has waited longest.
    func giveBack() {
        let wish = state.withLock { state -> Wish? in
            state.spare += 1
            let first = state.wishes.isEmpty ? nil : state.wishes.removeFirst()
            isWanted.store(!state.wishes.isEmpty, ordering: .relaxed)
            return first
        }
        wish?.call()
    }

    /// Registers the pool as waiting, and calls `call` when a connection is returned to the budget.
    /// Does nothing if the pool is registered already.
    func wish(for pool: AnyObject, borrowed: Int, _ call: @escaping @Sendable () -> Void) {
        let id = ObjectIdentifier(pool)
        state.withLock { state in
            guard !state.wishes.contains(where: { $0.pool == id }) else { return }
            state.wishes.append(Wish(pool: id, borrowed: borrowed, call: call))
            isWanted.store(true, ordering: .relaxed)
        }
    }

    /// Whether a pool should return a borrowed connection now. True if another pool waits for a
    /// connection, and this pool is idle or has borrowed at least two more than the waiting pool.
    func shouldGiveBack(_ pool: AnyObject, borrowed: Int, isIdle: Bool) -> Bool {
        guard isWanted.load(ordering: .relaxed), borrowed > 0 else { return false }
        let id = ObjectIdentifier(pool)
        return state.withLock { state in
            guard let wish = state.wishes.first, wish.pool != id else { return false }
            return isIdle || borrowed > wish.borrowed + 1
        }
    }
}

/// How a process divides its connections among its pools: for each role, the number of connections
/// that are reserved on each loop.
package struct ConnectionPlan: Sendable, Equatable {
    /// The fewest connections that a process can work with: one for LISTEN, two of the app's role,
    /// one for look-ups, one of the platform's role, and one to lend.
    static let least = 6

    /// The number of connections of the app's role, by loop: 2 (a reader and a writer) or 0. A loop
    /// with 0 uses another loop's.
    package var app: [Int]
    /// Connections for hash look-ups, by loop; a loop with 0 uses another loop's.
    package var lookups: [Int]
    /// Connections of the platform's role, by loop; a loop with 0 uses another loop's.
    package var platform: [Int]
    package var spare: Int

    /// Returns the default limit of a process with this number of loops.
    package static func standard(loops: Int) -> Int { max(least, 4 * loops + 4) }

    /// Divides `limit` connections, which include the one for LISTEN; a limit below `least` counts
    /// as `least`. If there are too few for all loops, the first loop is served first. What is left
    /// can be lent.
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
