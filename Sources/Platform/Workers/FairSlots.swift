import Synchronization

/// Limits how many tasks run at once for each key, so that a slow key delays its own work only. The
/// rest waits in order, up to a limit for each key; the groups of a key take turns.
package final class FairSlots<Key: Hashable & Sendable>: Sendable {
    private struct Waiter {
        var group: Int
        /// How many of the group stood before it when it came.
        var round: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct Line {
        var running = 0
        var waiting: [Waiter] = []

        /// Behind all who have fewer of their own group before them.
        mutating func add(_ continuation: CheckedContinuation<Void, Never>, of group: Int) {
            let round = waiting.count { $0.group == group }
            let place = waiting.firstIndex { $0.round > round } ?? waiting.endIndex
            waiting.insert(
                Waiter(group: group, round: round, continuation: continuation), at: place)
        }

        mutating func next() -> CheckedContinuation<Void, Never> {
            let first = waiting.removeFirst()
            for index in waiting.indices where waiting[index].group == first.group {
                waiting[index].round -= 1
            }
            return first.continuation
        }
    }

    private let waitingLimit: Int
    private let lines = Mutex<[Key: Line]>([:])

    /// `waitingLimit`: for each key.
    package init(waitingLimit: Int) { self.waitingLimit = waitingLimit }

    /// Waits for a slot of the key, of which there are `limit`; false if too many wait already.
    /// After true call `leave`. `group`: who waits; many of one group keep no other waiting long.
    package func enter(_ key: Key, limit: Int, group: Int = 0) async -> Bool {
        var isIn = false
        await withCheckedContinuation { continuation in
            let isOver = lines.withLock { lines -> Bool in
                var line = lines[key] ?? Line()
                if line.running < limit {
                    line.running += 1
                    isIn = true
                } else if line.waiting.count < waitingLimit {
                    // A leaving holder hands its slot over.
                    line.add(continuation, of: group)
                    isIn = true
                    lines[key] = line
                    return false
                }
                lines[key] = line
                return true
            }
            if isOver { continuation.resume() }
        }
        return isIn
    }

    /// How many wait for a slot of the key.
    package func waiting(_ key: Key) -> Int { lines.withLock { $0[key]?.waiting.count ?? 0 } }

    package func leave(_ key: Key) {
        let next = lines.withLock { lines -> CheckedContinuation<Void, Never>? in
            guard var line = lines[key] else { return nil }
            if !line.waiting.isEmpty {
                let next = line.next()
                lines[key] = line
                return next
            }
            line.running -= 1
            lines[key] = line.running > 0 ? line : nil
            return nil
        }
        next?.resume()
    }
}
