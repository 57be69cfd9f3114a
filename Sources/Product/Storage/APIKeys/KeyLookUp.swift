import Cryptography
import Domain
import Postgres
import Text

/// The tenant, or the platform, to which a key's locator belongs.
struct KeyHolder: Sendable {
    let tenant: UUID
    /// The tenant's status; `nil` for the platform.
    let status: Tenant.Status?

    static let platform = KeyHolder(tenant: .platform, status: nil)

    private init(tenant: UUID, status: Tenant.Status?) {
        self.tenant = tenant
        self.status = status
    }

    /// `row` contains the tenant's status. If `row` is nil, the tenant does not exist, and `status`
    /// becomes `deleted`. For the platform, which may have several locators, `row` is ignored.
    fileprivate init(_ tenant: UUID, _ row: Row?) throws(PostgresError) {
        self.tenant = tenant
        let status = try row?.get(0, as: String.self)
        self.status =
            tenant == .platform ? nil : status.flatMap(Tenant.Status.init(rawValue:)) ?? .deleted
    }
}

/// The look-ups of keys by the hash of their current secret and by the hash of their previous one.
/// Requests of the same event-loop cycle share one statement. Most keys need only the first
/// look-up.
struct KeyLookUps: Sendable {
    fileprivate let current: HashLookUp
    fileprivate let previous: HashLookUp

    init(_ postgres: Postgres) {
        let columns = """
            id, environment, previous_until, scopes, owner_type, owner_user_id, rate_limit,
            allowed_ips, allowed_origins, expires_at, revoked_at, name, limit_shared_with
            """
        func lookUp(by hash: String) -> HashLookUp {
            HashLookUp(postgres, columns: columns, of: "api_keys", by: hash)
        }
        current = lookUp(by: "hash")
        previous = lookUp(by: "previous_hash")
    }
}

/// A look-up of a key by the hash of its secret, with callbacks and without a task.
final class KeyLookUp {
    static let ownerColumn = 5

    private let lookups: Postgres
    private let keys: KeyLookUps
    private let caches: StorageCaches
    private let hash: KeyHash
    private let finish: (Result<PresentedKey?, PostgresError>) -> Void
    private var holder = KeyHolder.platform

    init(
        _ database: Database, _ hash: KeyHash,
        _ finish: @escaping (Result<PresentedKey?, PostgresError>) -> Void
    ) {
        lookups = database.lookups
        keys = database.keyLookUps
        caches = database.caches
        self.hash = hash
        self.finish = finish
    }

    func start(_ locator: String) {
        if sameBytes(locator, APIKeySecret.platformLocator) { return current() }
        if let known = caches.locators.fresh(locator) {
            holder = known.value
            return current()
        }
        let token = caches.token
        lookups.read(
            "SELECT directory_tenant_by_locator(\(locator))",
            then: answered { [self] row throws(PostgresError) in
                guard let tenant = try row?.get(0, as: UUID?.self) else {
                    return finish(.success(nil))
                }
                lookups.read(
                    of: tenant, "SELECT status FROM tenants WHERE id = \(tenant)",
                    then: answered { [self] row throws(PostgresError) in
                        holder = try KeyHolder(tenant, row)
                        caches.store(holder, locator, since: token)
                        current()
                    })
            })
    }

    /// Returns a handler that passes the first row to `then`. An error ends the look-up.
    private func answered(
        _ then: @escaping (Row?) throws(PostgresError) -> Void
    ) -> (Result<Rows, PostgresError>) -> Void {
        { [self] in
            do throws(PostgresError) {
                try then(try $0.get().first)
            } catch {
                finish(.failure(error))
            }
        }
    }

    private func current() {
        withUnsafeBytes(of: hash) {
            keys.current.find(holder.tenant, $0) { [self] answer in
                found(answer, isPrevious: false) { previous() }
            }
        }
    }

    private func previous() {
        withUnsafeBytes(of: hash) {
            keys.previous.find(holder.tenant, $0) { [self] answer in
                found(answer, isPrevious: true) { currentAgain() }
            }
        }
    }

    /// Looks for the current hash once more: if a rotation was undone between the two look-ups, the
    /// previous hash has become the current one.
    private func currentAgain() {
        withUnsafeBytes(of: hash) {
            keys.current.find(holder.tenant, $0) { [self] answer in
                found(answer, isPrevious: false) { finish(.success(nil)) }
            }
        }
    }

    private func found(
        _ answer: Result<Row?, PostgresError>, isPrevious: Bool, orElse: () -> Void
    ) {
        do throws(PostgresError) {
            guard let row = try answer.get() else { return orElse() }
            if let owner: UUID = try row.get(Self.ownerColumn, as: UUID?.self) {
                return addOwner(owner, to: row, isPrevious: isPrevious)
            }
            finish(.success(try PresentedKey(row, of: holder, isPrevious: isPrevious, owner: nil)))
        } catch {
            finish(.failure(error))
        }
    }

    private func addOwner(_ owner: UUID, to row: Row, isPrevious: Bool) {
        lookups.read(
            of: holder.tenant,
            """
            SELECT status, role, public_attributes, external_id FROM users
            WHERE tenant_id = \(holder.tenant) AND id = \(owner)
            """
        ) { [self] answer in
            do throws(PostgresError) {
                let owner = try answer.get().first
                finish(
                    .success(
                        try PresentedKey(row, of: holder, isPrevious: isPrevious, owner: owner)))
            } catch {
                finish(.failure(error))
            }
        }
    }
}

extension Database {
    /// Looks up the key with this hash and passes it to `finish`, or nil if there is none. `finish`
    /// is called in the same way as by `Postgres.read`.
    package func lookUp(
        _ hash: KeyHash, locator: String,
        then finish: @escaping (Result<PresentedKey?, PostgresError>) -> Void
    ) {
        KeyLookUp(self, hash, finish).start(locator)
    }

    /// Returns the key with this hash; `nil` if there is none.
    func apiKey(locator: String, hash: KeyHash) async throws -> PresentedKey? {
        let answer: Result<PresentedKey?, PostgresError> = await withUnsafeContinuation {
            continuation in
            lookUp(hash, locator: locator) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }

    /// The maximum number of look-ups of one batch that run at the same time.
    package static let lookUpsAtOnce = 64

    /// Returns the keys with these hashes, in their order; `nil` for each hash without a key.
    func apiKeys(_ asked: [(locator: String, hash: KeyHash)]) async throws -> [PresentedKey?] {
        var keys = [PresentedKey?](repeating: nil, count: asked.count)
        try await withThrowingTaskGroup(of: (Int, PresentedKey?).self) { group in
            var rest = asked.enumerated().makeIterator()
            func addNext() {
                guard let (index, (locator, hash)) = rest.next() else { return }
                group.addTask { (index, try await self.apiKey(locator: locator, hash: hash)) }
            }
            for _ in 0..<Self.lookUpsAtOnce { addNext() }
            for try await (index, key) in group {
                keys[index] = key
                addNext()
            }
        }
        return keys
    }
}

/// A key found by its secret, with all that can lead to its refusal. It is a class because every
/// request gets it from the cache: copying a structure would cost more than the verdict.
package final class PresentedKey: Sendable {
    package let tenant: UUID
    /// The key's id, which stays the same when the secret rotates.
    package let id: UUID
    package let environment: String
    /// Whether the request presented the secret from before the last rotation.
    package let isPrevious: Bool
    /// The end of the previous secret's grace period, exclusive; `nil` if there is none.
    let previousUntil: Timestamp?
    /// Management scopes, and scopes that the tenant's own product defines.
    package let scopes: [String]
    package let ownerType: String
    package let ownerUser: UUID?
    package let rateLimit: Int?
    /// The id under which uses are counted for the rate limit: this key's id, or the id of the key
    /// whose limit it shares.
    package let limitKey: UUID
    /// Addresses and CIDR blocks; if empty, any address may use the key.
    let allowedIPs: [String]
    /// Origin patterns; if empty, any page may use the key.
    let allowedOrigins: [String]
    package let expiresAt: Timestamp?
    package let revokedAt: Timestamp?
    /// The tenant's status; `nil` for a key of the platform.
    let tenantStatus: Tenant.Status?
    /// The owning user's status; `nil` if no user owns the key, or if the user does not exist.
    let userStatus: User.Status?
    let userRole: UserRole?
    /// The owning user's attributes; `nil` if no user owns the key.
    package let attributes: Attributes?
    /// The external id of the owning user, from the tenant's own system; `nil` if there is none.
    package let externalID: String?
    package let name: String

    /// `row` comes from a `KeyLookUp`; `owner` is the row of the user who owns the key.
    init(_ row: Row, of holder: KeyHolder, isPrevious: Bool, owner: Row?) throws(PostgresError) {
        tenant = holder.tenant
        tenantStatus = holder.status
        self.isPrevious = isPrevious
        let limitOwner: UUID?
        (
            id, environment, previousUntil, scopes, ownerType, ownerUser, rateLimit, allowedIPs,
            allowedOrigins, expiresAt, revokedAt, name, limitOwner
        ) = try row.columns()
        limitKey = limitOwner ?? id
        guard let owner else {
            (userStatus, userRole, attributes, externalID) = (nil, nil, nil, nil)
            return
        }
        let text: String
        (userStatus, userRole, text, externalID) = try owner.columns()
        attributes = Attributes(stored: text)
    }
}

extension PresentedKey {
    /// Returns the facts from which the key's verdict is computed, for a request with these
    /// required scopes, this address and this origin.
    package func facts(
        scopes required: [String] = [], ip: String?, origin: String?
    ) -> APIKeyVerdict.Facts {
        var facts = APIKeyVerdict.Facts()
        if isPrevious { facts.secret = .previous(until: previousUntil) }
        facts.expiresAt = expiresAt
        facts.revokedAt = revokedAt
        facts.tenantStatus = tenant == .platform ? .active : tenantStatus ?? .deleted
        facts.isOfUser = ownerUser != nil
        facts.userStatus = userStatus
        // A key that is bound to addresses refuses a request without an address, and a key that is
        // bound to origins refuses a request without an origin.
        facts.isIPAllowed = allowedIPs.isEmpty || ip.map(allows(ip:)) ?? false
        facts.isOriginAllowed = allowedOrigins.isEmpty || origin.map(allows(origin:)) ?? false
        facts.holdsScopes = required.allSatisfy { scope in
            scopes.contains { sameBytes($0, scope) }
        }
        return facts
    }

    /// The key's owner, whose rights limit the key's rights. For a user's key, the value contains
    /// the user's current role.
    package var owner: Principal.KeyOwner {
        if tenant == .platform { return .platform }
        guard let ownerUser else { return .tenant(tenant) }
        return .user(id: ownerUser, role: userRole ?? .member, tenant: tenant)
    }

    /// Whether the address is in one of the key's ranges; true if the key has none.
    func allows(ip text: String) -> Bool { bounds.allows(ip: text) }

    /// Whether the origin matches one of the key's patterns; true if the key has none.
    func allows(origin text: String) -> Bool { bounds.allows(origin: text) }

    /// The bounds that limit which keys this key may create.
    package var limits: Principal.KeyLimits {
        Principal.KeyLimits(
            isBound: !allowedIPs.isEmpty || !allowedOrigins.isEmpty || rateLimit != nil,
            expiresAt: expiresAt)
    }

    private var bounds: APIKeyBounds {
        APIKeyBounds(
            scopes: scopes, expiresAt: expiresAt, allowedIPs: allowedIPs,
            allowedOrigins: allowedOrigins, ratePerMinute: rateLimit)
    }
}

/// The SHA-256 of a presented secret. It is stored as four words, because a vector would need an
/// alignment that the frames of async functions do not have.
package struct KeyHash: Hashable, Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// Hashes the bytes of the whole secret.
    package init(of secret: UnsafeRawBufferPointer) {
        self = withUnsafeTemporaryAllocation(byteCount: SHA256.length, alignment: 8) { digest in
            SHA256.hash(secret, into: digest)
            return KeyHash(digest: UnsafeRawBufferPointer(digest))
        }
    }

    private init(digest: UnsafeRawBufferPointer) {
        first = digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        second = digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        third = digest.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        fourth = digest.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    }

    /// Hashes the UTF-8 of the whole secret.
    package init(of secret: String) {
        var secret = secret
        self = secret.withUTF8 { KeyHash(of: UnsafeRawBufferPointer($0)) }
    }

    /// Uses only the first word, since every part of a SHA-256 is evenly distributed.
    package func hash(into hasher: inout Hasher) { hasher.combine(first) }
}
