/// Names a timer of one event loop; meaningless on another.
package struct TimerID: Hashable, Sendable {
    fileprivate let number: UInt64
}

/// Deadlines in a binary heap. A cancelled timer leaves its heap entry, which is skipped when due.
struct TimerQueue {
    private struct Entry {
        var deadline: Int64
        var number: UInt64
    }

    private var heap: [Entry] = []
    private var calls: [UInt64: () -> Void] = [:]
    private var next: UInt64 = 0

    mutating func add(deadline: Int64, _ call: @escaping () -> Void) -> TimerID {
        next += 1
        calls[next] = call
        heap.append(Entry(deadline: deadline, number: next))
        siftUp(heap.count - 1)
        return TimerID(number: next)
    }

    mutating func cancel(_ timer: TimerID) {
        calls[timer.number] = nil
        // Otherwise cancelled entries would pile up, since every request sets and clears a distant
        // deadline.
        if heap.count > 64, calls.count * 2 < heap.count { compact() }
    }

    /// How long epoll may sleep, rounded up, so that a timer never fires early.
    mutating func milliseconds(until now: Int64, limit: Int) -> Int {
        while let first = heap.first, calls[first.number] == nil { removeFirst() }
        guard let first = heap.first else { return limit }
        return min(limit, max(0, Int((first.deadline - now + 999_999) / 1_000_000)))
    }

    /// The next call whose deadline has passed. One at a time, since a call may set timers itself.
    mutating func takeDue(_ now: Int64) -> (() -> Void)? {
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if let call = calls.removeValue(forKey: first.number) { return call }
        }
        return nil
    }

    private mutating func compact() {
        heap.removeAll { calls[$0.number] == nil }
        heap.sort { $0.deadline < $1.deadline }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
