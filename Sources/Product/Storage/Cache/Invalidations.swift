import Domain
import Postgres
import Replication
import Synchronization
import Text

/// What one transaction may have made untrue in the memory of replicas, collected as its audit rows
/// are written: one notice at its end.
package final class Invalidations: Sendable {
    private struct State {
        var tags: Set<CacheTag> = []
        var tenants: Set<CacheTag> = []
        var published: Replica.PublishedInvalidation?
    }

    /// More, and the whole tenant is forgotten.
    private static let limit = 100

    private let replica: Replica
    private let state = Mutex(State())

    init(_ replica: Replica) {
        self.replica = replica
    }

    func add(_ action: AuditAction, _ target: AuditTarget, of tenant: UUID) {
        switch action.invalidates {
        case .nothing: return
        case .target:
            if let id = UUID(target.id) { return add(CacheTag(id), of: tenant) }
        case .tenant: break
        }
        add(CacheTag(tenant), of: tenant)
        add(.anyTenant, of: tenant)
    }

    func add(_ tag: CacheTag, of tenant: UUID) {
        state.withLock {
            $0.tags.insert(tag)
            $0.tenants.insert(CacheTag(tenant))
        }
    }

    func publish(in transaction: Transaction) async throws {
        let tags = state.withLock { state in
            state.tags.count > Self.limit ? state.tenants.union([.anyTenant]) : state.tags
        }
        if tags.isEmpty { return }
        let published = try await replica.publish(tags, in: transaction)
        state.withLock { $0.published = published }
    }

    func awaitAcknowledgements() async {
        if let published = state.withLock({ $0.published }) {
            await replica.awaitAcknowledgements(published)
        }
    }

    func cancel() {
        if let published = state.withLock({ $0.published }) { replica.cancel(published) }
    }
}

extension Change {
    /// Replicas must forget what hangs on this object (a session, a key, a person), although no
    /// audit row of this transaction names it.
    package func invalidate(_ id: UUID) {
        invalidations.add(CacheTag(id), of: tenant)
    }
}

extension Change {
    /// What was asked for is so already, perhaps since a moment ago and by another's hand: this
    /// answer, like that one's, waits until every replica obeys. Notices come in the order of the
    /// commits, so whoever obeys one obeys all before it.
    package func alreadyApplied() {
        invalidations.add(.nothing, of: tenant)
    }
}

extension Database {
    /// Returns when no replica answers any more from before what is committed by now.
    package func awaitEarlierInvalidations() async throws {
        try await platformScope.change(by: .system) { $0.alreadyApplied() }
    }
}

extension CacheTag {
    /// Hangs on whatever any tenant lists.
    static let anyTenant = CacheTag(UUID(high: 0, low: 1))
    static let nothing = CacheTag(UUID(high: 0, low: 2))
}
