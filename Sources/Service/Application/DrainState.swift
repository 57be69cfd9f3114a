import Synchronization

/// Whether the service was told to stop, and goes on until balancers have found out.
final class DrainState: Sendable {
    private let begun = Atomic<Bool>(false)

    var hasBegun: Bool { begun.load(ordering: .relaxed) }
    func begin() { begun.store(true, ordering: .relaxed) }
}
