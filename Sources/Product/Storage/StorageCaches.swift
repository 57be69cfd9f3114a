import Domain
import Postgres
import Text

/// The caches of active API keys, tenants, locators, origin lists, and clients bound to hosts.
/// Their entries are used only while the replica's lease lasts.
package final class StorageCaches: Sendable {
    let keys: LeasedCache<KeyHash, PresentedKey?>
    let tenants: LeasedCache<String, TenantRow?>
    let locators: LeasedCache<String, KeyHolder>
    let origins: LeasedCache<CORSLookup, CORSRows>
    let hosts: LeasedCache<String, BoundHost?>

    private let replica: Replica

    /// The freshness token; take it before a query whose result is to be cached.
    var token: Freshness.Token { replica.token }

    init(of replica: Replica) {
        self.replica = replica
        // The entries of an event loop are in 16 dictionaries: two halves in each of 8 shards. Each
        // dictionary gets 6,144 entries, which is three quarters of its 8,192 slots. With more
        // entries it would take 16,384 slots.
        keys = LeasedCache(of: replica, capacity: 98_304)
        tenants = LeasedCache(of: replica, capacity: 10_000)
        locators = LeasedCache(of: replica, capacity: 10_000)
        origins = LeasedCache(of: replica, capacity: 10_000)
        hosts = LeasedCache(of: replica, capacity: 10_000)
    }
}

/// The cache key of origin rows: the owner of the origin list, the origin and the wildcard that
/// would cover it.
struct CORSLookup: Hashable, Sendable {
    let holder: Database.CORSOwner
    let listed: [String]
}

extension StorageCaches {
    /// Tags of an answer that depends on any tenant's origin list.
    package static let originTags = CacheTags(.anyTenant)

    /// Tags of an answer that depends only on a host, which may belong to any tenant.
    package static let hostTags = CacheTags(.anyTenant)
}

extension Database {
    /// Returns `apiKey(locator:hash:)`, from the cache if possible. Only active keys are cached, so
    /// creating or reactivating a key needs no invalidation.
    package func fetchKey(locator: String, hash: KeyHash) async throws -> PresentedKey? {
        try await caches.keys.value(
            hash, tags: { $0.flatMap(\.tags) },
            query: { try await apiKey(locator: locator, hash: hash) })
    }

    /// Returns the result of `fetchKey` for many keys, in their order.
    package func fetchKeys(
        _ asked: [(locator: String, hash: KeyHash)]
    ) async throws -> [PresentedKey?] {
        try await caches.keys.values(
            asked.map(\.hash), tags: { $0.flatMap(\.tags) },
            query: { missing in try await apiKeys(missing.map { asked[$0] }) })
    }

    /// Returns `tenant(_:)`, from the cache if possible, for callers that need only the id, slug
    /// and status. Only active tenants are cached.
    package func fetchTenant(_ idOrSlug: String) async throws -> TenantRow? {
        try await caches.tenants.value(
            idOrSlug, tags: { $0?.activeTags }, query: { try await tenant(idOrSlug) })
    }

    /// Returns `client(atHost:)`, from the cache if possible. Also caches the answer that a host
    /// has no client: a new binding invalidates all entries.
    package func fetchClient(atHost authority: String) async throws -> BoundHost? {
        try await caches.hosts.value(
            authority, tags: { _ in StorageCaches.hostTags },
            query: { try await client(atHost: authority) })
    }

    /// Returns `origins(_:of:)`, from the cache if possible.
    package func fetchOrigins(_ listed: [String], of holder: CORSOwner) async throws -> CORSRows {
        try await caches.origins.value(
            CORSLookup(holder: holder, listed: listed), tags: { $0.tags(of: holder) },
            query: { try await origins(listed, of: holder) })
    }
}

extension Database {
    /// Returns the cached origin rows; `nil` if they are not cached.
    package func cachedOrigins(_ listed: [String], of holder: CORSOwner) -> CORSRows? {
        caches.origins.fresh(CORSLookup(holder: holder, listed: listed))?.value
    }
}

extension Database {
    package typealias CachedKey = LeasedCache<KeyHash, PresentedKey?>.Entry

    /// Returns an active key from the cache. The caller must check `isFresh` once more, right
    /// before it answers.
    package func cachedKey(_ hash: KeyHash) -> CachedKey? { caches.keys.fresh(hash) }

    /// Whether the cache knows this locator as one of the tenant's.
    package func isCached(locator: String, of tenant: UUID) -> Bool {
        caches.locators.fresh(locator)?.value.tenant == tenant
    }

    /// Whether the cached key may still be used for an answer.
    package func isFresh(_ entry: CachedKey) -> Bool { replica.isFresh(entry.token, entry.tags) }

    /// The state of the caches at one moment.
    package typealias CacheToken = Freshness.Token

    /// The current state of the caches; take it before a query whose result is to be cached.
    package var cacheToken: CacheToken { caches.token }

    /// Caches the key. `token` must be taken before the query.
    package func store(_ key: PresentedKey, _ hash: KeyHash, since token: CacheToken) {
        if replica.isTrusted, let tags = key.tags {
            caches.keys.keep(key, for: hash, token: token, tags: tags)
        }
    }
}

extension TenantRow {
    fileprivate var activeTags: CacheTags? { status == .active ? CacheTags(CacheTag(id)) : nil }
}

extension StorageCaches {
    /// Caches which tenant a locator belongs to, if the tenant is active or the platform.
    func store(_ holder: KeyHolder, _ locator: String, since token: Freshness.Token) {
        guard replica.isTrusted, holder.status ?? .active == .active else { return }
        locators.keep(holder, for: locator, token: token, tags: CacheTags(CacheTag(holder.tenant)))
    }
}

extension PresentedKey {
    /// The maximum size of the attributes that are cached with a key, in bytes.
    static let cachedAttributes = 1024

    /// The objects that the cached key depends on; `nil` if the key is not active or too large to
    /// be cached. An expired key can be cached, since the expiry is checked at each use.
    fileprivate var tags: CacheTags? {
        guard revokedAt == nil, tenant == .platform || tenantStatus == .active else { return nil }
        if ownerUser != nil, userStatus != .active { return nil }
        // With larger attributes, the cache's hundred thousand keys would take too much memory.
        // Such a key is looked up each time.
        if let attributes, attributes.text.utf8.count > Self.cachedAttributes { return nil }
        return CacheTags(CacheTag(id), CacheTag(tenant), ownerUser.map(CacheTag.init))
    }
}

extension CORSRows {
    /// The objects that the cached rows depend on; `nil` for an unknown tenant, whose rows are not
    /// cached.
    fileprivate func tags(of holder: Database.CORSOwner) -> CacheTags? {
        switch holder {
        case .platform: CacheTags(CacheTag(.platform))
        case .anyone: CacheTags(.anyTenant)
        case .tenant, .locator: tenant.map { CacheTags(CacheTag($0), CacheTag(.platform)) }
        }
    }
}
