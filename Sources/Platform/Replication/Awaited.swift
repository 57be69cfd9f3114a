import Text

/// For one notice: which replicas have said that they obey it, and whom to wait for still.
package struct Awaited: Sendable, Hashable {
    private var obeyed: Set<UUID> = []
    private var living: Set<UUID>?

    package init() {}

    /// It said so itself, or its lease has ended.
    package mutating func obeys(_ replica: UUID) {
        obeyed.insert(replica)
    }

    /// Whose leases were live after the change was committed.
    package mutating func wait(for replicas: [UUID]) {
        living = Set(replicas)
    }

    package var isOver: Bool { living.map { $0.isSubset(of: obeyed) } ?? false }
}
