import Synchronization

/// Attempts that are being slowed down: one per address, and a limit for all.
final class SlowedAttempts: Sendable {
    static let limit = 1000

    private let running = Mutex<Set<String>>([])

    /// False if the address has a running attempt, or too many run; after true call `end`.
    func begin(_ address: String) -> Bool {
        running.withLock { $0.count < Self.limit && $0.insert(address).inserted }
    }

    func end(_ address: String) { running.withLock { _ = $0.remove(address) } }
}
