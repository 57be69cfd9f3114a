import Domain
import Postgres
import Synchronization
import Text

/// Collects the tags of the cached answers that one transaction may make stale, while the
/// transaction writes its audit rows. At the end of the transaction all these tags are published in
/// one invalidation.
final class InvalidationPublisher: Sendable {
    private struct State {
        var tags: Set<CacheTag> = []
        var tenants: Set<CacheTag> = []
        var published: Replica.PublishedInvalidation?
    }

    /// The maximum number of tags in one invalidation. If there are more, the invalidation covers
    /// the whole tenant.
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

    /// Waits until every replica has acknowledged the invalidation. Throws `.commitUnknown` if
    /// replicas may not know about the commit.
    func awaitAcknowledgements() async throws(PostgresError) {
        guard var published = state.withLock({ $0.published }) else { return }
        if replica.announcesAgain { published = try await replica.announceAgain(published) }
        await replica.awaitAcknowledgements(published)
    }

    /// Called by a change that found nothing to do, because an earlier commit made the same change.
    /// If replicas may not know about that commit, invalidates all cached answers of the tenant
    /// again.
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
    /// Invalidates cached answers that depend on this object (a session, a key or a user), without
    /// an audit row.
    func invalidate(_ id: UUID) { invalidations.add(CacheTag(id), of: tenant) }
}

extension Change {
    /// Called by a change that found its object already in the requested state, possibly after a
    /// concurrent request. Makes the change wait until the replicas have acknowledged all earlier
    /// invalidations. Invalidations are acknowledged in commit order, so one acknowledgement covers
    /// all earlier ones.
    package func alreadyApplied() { invalidations.repeatEarlier(of: tenant) }
}

extension Database {
    /// Waits until no replica answers from a state before the latest commit. `tenant` is the tenant
    /// in which a repeated request found its change already done.
    package func awaitEarlierInvalidations(of tenant: UUID) async throws {
        try await platformScope.change(by: .system) { $0.invalidations.repeatEarlier(of: tenant) }
    }
}

extension CacheTag {
    /// The tag of answers that may depend on the lists of any tenant, such as a list of origins.
    static let anyTenant = CacheTag(UUID(high: 0, low: 1))
    static let nothing = CacheTag(UUID(high: 0, low: 2))
}
