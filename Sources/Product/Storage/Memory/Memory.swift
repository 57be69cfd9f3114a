import Domain
import Replication
import Text

/// What is answered from memory while the lease holds: good keys, tenants, rows of origins, whose
/// a host is.
package final class Memory: Sendable {
    package let keys: LeasedCache<KeyHash, PresentedKey?>
    package let tenants: LeasedCache<String, TenantRow?>
    let locators: LeasedCache<String, KeyHolder>
    package let origins: LeasedCache<OriginLookup, FoundOrigins>
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
package struct OriginLookup: Hashable, Sendable {
    let holder: Database.OriginHolder
    let listed: [String]
}

extension Memory {
    /// Tags of an answer made of lists of origins, whosoever they are.
    package static let originTags = Tags(.anyTenant)

    /// Tags of an answer that only the host decides on, which may be a tenant's.
    package static let hostTags = Tags(.anyTenant)
}

extension Database {
    /// `apiKey(locator:hash:)` from memory. Only good keys are remembered, so that what is made or
    /// comes back to life is seen without a notice.
    package func knownKey(
        locator: String, hash: KeyHash
    ) async throws -> PresentedKey? {
        try await memory.keys.value(
            hash, tags: { $0.flatMap(\.tags) },
            query: { try await apiKey(locator: locator, hash: hash) })
    }

    /// `knownKey` for many, in their order: one query for all that are not in memory.
    package func knownKeys(
        _ asked: [(locator: String, hash: KeyHash)]
    ) async throws -> [PresentedKey?] {
        try await memory.keys.values(
            asked.map(\.hash), tags: { $0.flatMap(\.tags) },
            query: { missing in try await apiKeys(missing.map { asked[$0] }) })
    }

    /// `tenant(_:)` from memory, where the tenant is active: for its id, its slug and its status.
    package func knownTenant(_ idOrSlug: String) async throws -> TenantRow? {
        try await memory.tenants.value(
            idOrSlug, tags: { $0?.activeTags }, query: { try await tenant(idOrSlug) })
    }

    /// `client(atHost:)` from memory, also that nobody is bound to it: a binding is told to all.
    package func knownClient(atHost authority: String) async throws -> BoundHost? {
        try await memory.hosts.value(
            authority, tags: { _ in Memory.hostTags },
            query: { try await client(atHost: authority) })
    }

    /// `origins(_:of:)` from memory.
    package func knownOrigins(
        _ listed: [String], of holder: OriginHolder
    ) async throws -> FoundOrigins {
        try await memory.origins.value(
            OriginLookup(holder: holder, listed: listed), tags: { $0.tags(of: holder) },
            query: { try await origins(listed, of: holder) })
    }
}

extension Database {
    /// Nil where they are not in memory.
    package func rememberedOrigins(_ listed: [String], of holder: OriginHolder) -> FoundOrigins? {
        memory.origins.fresh(OriginLookup(holder: holder, listed: listed))?.value
    }
}

extension Database {
    package typealias RememberedKey = LeasedCache<KeyHash, PresentedKey?>.Entry

    /// A good key that is in memory. Whoever answers by it asks `stillHolds` last.
    package func rememberedKey(_ hash: KeyHash) -> RememberedKey? { memory.keys.fresh(hash) }

    /// Whether it is in memory that the tenant's keys carry this locator.
    package func isRemembered(locator: String, of tenant: UUID) -> Bool {
        memory.locators.fresh(locator)?.value.tenant == tenant
    }

    package func stillHolds(_ entry: RememberedKey) -> Bool {
        replica.holds(entry.token, entry.tags)
    }

    /// `token`: of before the key was looked up.
    package func remember(_ key: PresentedKey, _ hash: KeyHash, since token: Freshness.Token) {
        if replica.isTrusted, let tags = key.tags {
            memory.keys.keep(key, for: hash, token: token, tags: tags)
        }
    }
}

extension TenantRow {
    fileprivate var activeTags: Tags? { status == "active" ? Tags(Tag(id)) : nil }
}

extension Memory {
    /// Whose keys carry the locator: kept where keys of theirs can be good.
    func remember(_ holder: KeyHolder, _ locator: String, since token: Freshness.Token) {
        guard replica.isTrusted, holder.status ?? .active == .active else { return }
        locators.keep(holder, for: locator, token: token, tags: Tags(Tag(holder.tenant)))
    }
}

extension PresentedKey {
    /// What the key hangs on; nil where it is not good, whatever the time.
    fileprivate var tags: Tags? {
        guard revokedAt == nil, tenant == .platform || tenantStatus == .active else { return nil }
        if ownerUser != nil, userStatus != .active { return nil }
        return Tags(Tag(id), Tag(tenant), ownerUser.map(Tag.init))
    }
}

extension FoundOrigins {
    /// Nil for a tenant that is not there: it may come into being without a notice.
    fileprivate func tags(of holder: Database.OriginHolder) -> Tags? {
        switch holder {
        case .platform: Tags(Tag(.platform))
        case .anyone: Tags(.anyTenant)
        case .tenant, .locator: tenant.map { Tags(Tag($0), Tag(.platform)) }
        }
    }
}
