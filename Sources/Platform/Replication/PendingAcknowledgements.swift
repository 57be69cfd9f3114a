import Text

/// For one notice: which replicas have said that they obey it, and whom to wait for still.
package struct PendingAcknowledgements: Sendable, Hashable {
    private var acknowledged: Set<UUID> = []
    private var active: Set<UUID>?

    package init() {}

    /// It said so itself, or its lease has ended.
    package mutating func acknowledged(_ replica: UUID) {
        acknowledged.insert(replica)
    }

    /// Whose leases were live after the change was committed.
    package mutating func wait(for replicas: [UUID]) {
        active = Set(replicas)
    }

    package var isOver: Bool { active.map { $0.isSubset(of: acknowledged) } ?? false }
}
