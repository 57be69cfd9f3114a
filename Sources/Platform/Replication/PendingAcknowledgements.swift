import Text

/// The acknowledgements of one invalidation: which replicas have sent theirs, and which are
/// missing.
package struct PendingAcknowledgements: Sendable, Hashable {
    private var acknowledged: Set<UUID> = []
    private var active: Set<UUID>?

    package init() {}

    /// The replica acknowledged, or its lease has ended.
    package mutating func acknowledged(_ replica: UUID) { acknowledged.insert(replica) }

    /// Replicas whose leases were active after the change was committed.
    package mutating func wait(for replicas: [UUID]) { active = Set(replicas) }

    package var isOver: Bool { active.map { $0.isSubset(of: acknowledged) } ?? false }
}
