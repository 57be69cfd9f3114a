import Synchronization

/// Limits how many tasks run at once for each key, so that a slow key delays its own work only. The
/// rest waits in order, up to a limit for each key.
package final class FairSlots<Key: Hashable & Sendable>: Sendable {
    private struct Line {
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let waitingLimit: Int
    private let lines = Mutex<[Key: Line]>([:])

    /// `waitingLimit`: for each key.
    package init(waitingLimit: Int) { self.waitingLimit = waitingLimit }

    /// Waits for a slot of the key, of which there are `limit`; false if too many wait already.
    /// After true call `leave`.
    package func enter(_ key: Key, limit: Int) async -> Bool {
        var isIn = false
        await withCheckedContinuation { continuation in
            let isOver = lines.withLock { lines -> Bool in
                var line = lines[key] ?? Line()
                if line.running < limit {
                    line.running += 1
                    isIn = true
                } else if line.waiting.count < waitingLimit {
                    // A leaving holder hands its slot over.
                    line.waiting.append(continuation)
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

    package func leave(_ key: Key) {
        let next = lines.withLock { lines -> CheckedContinuation<Void, Never>? in
            guard var line = lines[key] else { return nil }
            if !line.waiting.isEmpty {
                let next = line.waiting.removeFirst()
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
