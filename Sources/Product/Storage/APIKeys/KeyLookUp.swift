import Cryptography
import Domain
import Postgres
import Text

/// The tenant whose keys carry a locator.
struct KeyHolder: Sendable {
    let tenant: UUID
    /// Nil: the platform's.
    let status: Tenant.Status?

    static let platform = KeyHolder(tenant: .platform, status: nil)

    private init(tenant: UUID, status: Tenant.Status?) {
        self.tenant = tenant
        self.status = status
    }

    /// `row`: the tenant's status; nil if there is no such tenant. The platform may have other
    /// locators too.
    fileprivate init(_ tenant: UUID, _ row: Row?) throws(PostgresError) {
        self.tenant = tenant
        let status = try row?.get(0, as: String.self)
        self.status =
            tenant == .platform ? nil : status.flatMap(Tenant.Status.init(rawValue:)) ?? .deleted
    }
}

/// The result of a key look-up; nil: no key has the hash.
package typealias KeyAnswer = Result<PresentedKey?, PostgresError>

/// The key look-ups, each shared by all requests of one loop cycle. Most keys need only the first.
struct KeyLookUps: Sendable {
    fileprivate let current: HashLookUp
    fileprivate let previous: HashLookUp

    init(_ postgres: Postgres) {
        let columns = """
            id, environment, previous_until, scopes, owner_type, owner_user_id, rate_limit,
            allowed_ips, allowed_origins, expires_at, revoked_at, name, limit_shared_with
            """
        func lookUp(by hash: String) -> HashLookUp {
            HashLookUp(
                postgres, columns: columns, of: "api_keys", by: hash,
                function: "api_keys_by_\(hash)")
        }
        current = lookUp(by: "hash")
        previous = lookUp(by: "previous_hash")
    }
}

/// Looks a key up by its secret's hash, without a task.
final class KeyLookUp {
    static let ownerColumn = 5

    private let lookups: Postgres
    private let keys: KeyLookUps
    private let caches: StorageCaches
    private let hash: KeyHash
    private let finish: (KeyAnswer) -> Void
    private var holder = KeyHolder.platform

    init(_ database: Database, _ hash: KeyHash, _ finish: @escaping (KeyAnswer) -> Void) {
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

    /// Any fault is the answer to the look-up.
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

    /// A rotation that is undone between the two makes a key's previous hash its current one.
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
    /// The key of a secret's hash, nil if there is none: `finish` as with `Postgres.read`.
    package func lookUp(
        _ hash: KeyHash, locator: String, then finish: @escaping (KeyAnswer) -> Void
    ) {
        KeyLookUp(self, hash, finish).start(locator)
    }

    /// Nil if no key has the hash.
    func apiKey(locator: String, hash: KeyHash) async throws -> PresentedKey? {
        let answer: KeyAnswer = await withUnsafeContinuation { continuation in
            lookUp(hash, locator: locator) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }

    /// Concurrent look-ups of one batch.
    package static let lookUpsAtOnce = 64

    /// The same for many, in their order.
    func apiKeys(_ asked: [(locator: String, hash: KeyHash)]) async throws -> [PresentedKey?] {
        var keys = [PresentedKey?](repeating: nil, count: asked.count)
        try await withThrowingTaskGroup(of: (Int, PresentedKey?).self) { group in
            var rest = asked.enumerated().makeIterator()
            func addNext() {
                guard let (index, (locator, hash)) = rest.next() else { return }
                group.addTask { (index, try await apiKey(locator: locator, hash: hash)) }
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
