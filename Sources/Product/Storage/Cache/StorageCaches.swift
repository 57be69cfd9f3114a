import Domain
import Replication
import Text

/// What is answered from memory while the lease holds: good keys, tenants, rows of origins, whose
/// a host is.
package final class StorageCaches: Sendable {
    package let keys: LeasedCache<KeyHash, PresentedKey?>
    package let tenants: LeasedCache<String, TenantRow?>
    let locators: LeasedCache<String, KeyHolder>
    package let origins: LeasedCache<CORSLookup, CORSRows>
    let hosts: LeasedCache<String, BoundHost?>

    private let replica: Replica

    /// To be taken before a query whose answer is to be remembered.
    var token: Freshness.Token { replica.token }

    init(of replica: Replica) {
        self.replica = replica
        keys = LeasedCache(of: replica, capacity: 100_000)
        tenants = LeasedCache(of: replica, capacity: 10_000)
        locators = LeasedCache(of: replica, capacity: 10_000)
        origins = LeasedCache(of: replica, capacity: 10_000)
        hosts = LeasedCache(of: replica, capacity: 10_000)
    }
}

/// Whose rows were asked for, and for which origin.
package struct CORSLookup: Hashable, Sendable {
    let holder: Database.CORSOwner
    let listed: [String]
}

extension StorageCaches {
    /// Tags of an answer made of lists of origins, whosoever they are.
    package static let originTags = CacheTags(.anyTenant)

    /// Tags of an answer that only the host decides on, which may be a tenant's.
    package static let hostTags = CacheTags(.anyTenant)
}

extension Database {
    /// `apiKey(locator:hash:)` from memory. Only good keys are remembered, so that what is made or
    /// comes back to life is seen without a notice.
    package func fetchKey(
        locator: String, hash: KeyHash
    ) async throws -> PresentedKey? {
        try await caches.keys.value(
            hash, tags: { $0.flatMap(\.tags) },
            query: { try await apiKey(locator: locator, hash: hash) })
    }

    /// `knownKey` for many, in their order: one query for all that are not in memory.
    package func fetchKeys(
        _ asked: [(locator: String, hash: KeyHash)]
    ) async throws -> [PresentedKey?] {
        try await caches.keys.values(
            asked.map(\.hash), tags: { $0.flatMap(\.tags) },
            query: { missing in try await apiKeys(missing.map { asked[$0] }) })
    }

    /// `tenant(_:)` from memory, where the tenant is active: for its id, its slug and its status.
    package func fetchTenant(_ idOrSlug: String) async throws -> TenantRow? {
        try await caches.tenants.value(
            idOrSlug, tags: { $0?.activeTags }, query: { try await tenant(idOrSlug) })
    }

    /// `client(atHost:)` from memory, also that nobody is bound to it: a binding is told to all.
    package func fetchClient(atHost authority: String) async throws -> BoundHost? {
        try await caches.hosts.value(
            authority, tags: { _ in StorageCaches.hostTags },
            query: { try await client(atHost: authority) })
    }

    /// `origins(_:of:)` from memory.
    package func fetchOrigins(
        _ listed: [String], of holder: CORSOwner
    ) async throws -> CORSRows {
        try await caches.origins.value(
            CORSLookup(holder: holder, listed: listed), tags: { $0.tags(of: holder) },
            query: { try await origins(listed, of: holder) })
    }
}

extension Database {
    /// Nil where they are not in memory.
    package func cachedOrigins(_ listed: [String], of holder: CORSOwner) -> CORSRows? {
        caches.origins.fresh(CORSLookup(holder: holder, listed: listed))?.value
    }
}

extension Database {
    package typealias CachedKey = LeasedCache<KeyHash, PresentedKey?>.Entry

    /// A good key that is in memory. Whoever answers by it asks `stillHolds` last.
    package func cachedKey(_ hash: KeyHash) -> CachedKey? { caches.keys.fresh(hash) }

    /// Whether it is in memory that the tenant's keys carry this locator.
    package func isCached(locator: String, of tenant: UUID) -> Bool {
        caches.locators.fresh(locator)?.value.tenant == tenant
    }

    package func isFresh(_ entry: CachedKey) -> Bool {
        replica.isFresh(entry.token, entry.tags)
    }

    /// `token`: of before the key was looked up.
    package func store(_ key: PresentedKey, _ hash: KeyHash, since token: Freshness.Token) {
        if replica.isTrusted, let tags = key.tags {
            caches.keys.keep(key, for: hash, token: token, tags: tags)
        }
    }
}

extension TenantRow {
    fileprivate var activeTags: CacheTags? { status == "active" ? CacheTags(CacheTag(id)) : nil }
}

extension StorageCaches {
    /// Whose keys carry the locator: kept where keys of theirs can be good.
    func store(_ holder: KeyHolder, _ locator: String, since token: Freshness.Token) {
        guard replica.isTrusted, holder.status ?? .active == .active else { return }
        locators.keep(holder, for: locator, token: token, tags: CacheTags(CacheTag(holder.tenant)))
    }
}

extension PresentedKey {
    /// What the key hangs on; nil where it is not good, whatever the time.
    fileprivate var tags: CacheTags? {
        guard revokedAt == nil, tenant == .platform || tenantStatus == .active else { return nil }
        if ownerUser != nil, userStatus != .active { return nil }
        return CacheTags(CacheTag(id), CacheTag(tenant), ownerUser.map(CacheTag.init))
    }
}

extension CORSRows {
    /// Nil for a tenant that is not there: it may come into being without a notice.
    fileprivate func tags(of holder: Database.CORSOwner) -> CacheTags? {
        switch holder {
        case .platform: CacheTags(CacheTag(.platform))
        case .anyone: CacheTags(.anyTenant)
        case .tenant, .locator: tenant.map { CacheTags(CacheTag($0), CacheTag(.platform)) }
        }
    }
}
