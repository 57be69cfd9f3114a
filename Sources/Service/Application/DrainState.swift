import Synchronization

/// Records that the service stops and only waits until balancers notice.
final class DrainState: Sendable {
    private let begun = Atomic<Bool>(false)

    var hasBegun: Bool { begun.load(ordering: .relaxed) }
    func begin() { begun.store(true, ordering: .relaxed) }
}
