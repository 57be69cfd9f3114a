import Domain
import Postgres
import Synchronization
import Text

/// What one transaction may have made stale in the caches of replicas. It is collected as the audit
/// rows are written, and published as one invalidation at the end.
package final class Invalidations: Sendable {
    private struct State {
        var tags: Set<CacheTag> = []
        var tenants: Set<CacheTag> = []
        var published: Replica.PublishedInvalidation?
    }

    /// The most tags; with more the whole tenant is invalidated.
    private static let limit = 100

    private let replica: Replica
    private let state = Mutex(State())

    init(_ replica: Replica) { self.replica = replica }

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

    /// Throws `.commitUnknown` if replicas may not know about the commit.
    func awaitAcknowledgements() async throws(PostgresError) {
        guard var published = state.withLock({ $0.published }) else { return }
        if replica.announcesAgain { published = try await replica.announceAgain(published) }
        await replica.awaitAcknowledgements(published)
    }

    /// For a change that found nothing to do. If replicas may not know about the commit that did
    /// it, everything of the tenant is invalidated again.
    func repeatEarlier(of tenant: UUID) {
        guard replica.announcesAgain else { return add(.nothing, of: tenant) }
        add(CacheTag(tenant), of: tenant)
        add(.anyTenant, of: tenant)
    }

    func cancel() {
        if let published = state.withLock({ $0.published }) { replica.cancel(published) }
    }
}

extension Change {
    /// Invalidates what depends on this object (a session, a key, a user), even though no audit row
    /// of this transaction names it.
    package func invalidate(_ id: UUID) { invalidations.add(CacheTag(id), of: tenant) }
}

extension Change {
    /// Called by a change that found its object in the requested state already, possibly because of
    /// a concurrent request. It still waits for outstanding invalidations: they come in commit
    /// order, so acknowledging one acknowledges all before it.
    package func alreadyApplied() { invalidations.repeatEarlier(of: tenant) }
}

extension Database {
    /// Returns when no replica answers from before the latest commit. `tenant` is the one whose
    /// change a repeated request found done.
    package func awaitEarlierInvalidations(of tenant: UUID) async throws {
        try await platformScope.change(by: .system) { $0.invalidations.repeatEarlier(of: tenant) }
    }
}

extension CacheTag {
    /// The tag of answers that depend on any tenant's lists.
    static let anyTenant = CacheTag(UUID(high: 0, low: 1))
    static let nothing = CacheTag(UUID(high: 0, low: 2))
}
