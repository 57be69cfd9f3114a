import Synchronization

/// How many connections a server may still accept: one count for all its loops, since the kernel
/// does not share connections out evenly among them.
final class ConnectionSlots: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(_ limit: Int) { self.limit = max(1, limit) }

    var areTaken: Bool { taken.load(ordering: .relaxed) >= limit }

    /// False if all slots are taken.
    func take() -> Bool {
        if taken.add(1, ordering: .relaxed).newValue <= limit { return true }
        give()
        return false
    }

    func give() { taken.subtract(1, ordering: .relaxed) }
}
