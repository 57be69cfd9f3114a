import Postgres
import Text

/// A key found by its secret, with the states that can refuse it.
package struct PresentedKey: Sendable {
    package var tenant: UUID
    package var id: UUID
    package var environment: String
    /// The secret is the one before the last rotation.
    package var isPrevious: Bool
    package var previousUntil: Timestamp?
    package var scopes: [String]
    package var ownerType: String
    package var ownerUser: UUID?
    package var rateLimit: Int?
    package var allowedIPs: [String]
    package var allowedOrigins: [String]
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    package var tenantStatus: String?
    package var userStatus: String?
    package var userRole: String?
    package var name: String

    /// A row of `lookUp`; the states of tenant and user are known from elsewhere.
    fileprivate init(_ row: Row, of holder: KeyHolder, isPrevious: Bool) throws(PostgresError) {
        tenant = holder.tenant
        tenantStatus = holder.status
        self.isPrevious = isPrevious
        id = try row.get(0)
        environment = try row.get(1)
        previousUntil = try row.get(2)
        scopes = try row.get(3)
        ownerType = try row.get(4)
        ownerUser = try row.get(5)
        rateLimit = try row.get(6)
        allowedIPs = try row.get(7)
        allowedOrigins = try row.get(8)
        expiresAt = try row.get(9)
        revokedAt = try row.get(10)
        name = try row.get(11)
    }
}

/// Whose keys a locator names.
package struct KeyHolder: Sendable {
    package var tenant: UUID
    /// Nil: the platform's.
    package var status: String?

    package static let platform = KeyHolder(tenant: .platform, status: nil)
}

extension Database {
    package typealias KeyAnswer = Result<PresentedKey?, PostgresError>

    /// The key of a secret's hash, nil where there is none, found without a task: `finish` as with
    /// `Postgres.read`. Two small statements that share their place in the pipeline are quicker
    /// than one that joins, and most keys need only the first.
    package func lookUp(
        _ hash: [UInt8], of holder: KeyHolder, then finish: @escaping (KeyAnswer) -> Void
    ) {
        lookups.read(
            """
            SELECT id, environment, previous_until, scopes, owner_type, owner_user_id, rate_limit,
                allowed_ips, allowed_origins, expires_at, revoked_at, name
            FROM api_keys WHERE tenant_id = \(holder.tenant) AND hash = \(hash)
            """
        ) { answer in
            found(answer, of: holder, isPrevious: false, finish) {
                lookUpPrevious(hash, of: holder, then: finish)
            }
        }
    }

    private func lookUpPrevious(
        _ hash: [UInt8], of holder: KeyHolder, then finish: @escaping (KeyAnswer) -> Void
    ) {
        lookups.read(
            """
            SELECT id, environment, previous_until, scopes, owner_type, owner_user_id, rate_limit,
                allowed_ips, allowed_origins, expires_at, revoked_at, name
            FROM api_keys WHERE tenant_id = \(holder.tenant) AND previous_hash = \(hash)
            """
        ) { answer in
            found(answer, of: holder, isPrevious: true, finish) { finish(.success(nil)) }
        }
    }

    private func found(
        _ answer: Result<Rows, PostgresError>, of holder: KeyHolder, isPrevious: Bool,
        _ finish: @escaping (KeyAnswer) -> Void, orElse: () -> Void
    ) {
        do throws(PostgresError) {
            guard let row = try answer.get().first else { return orElse() }
            let key = try PresentedKey(row, of: holder, isPrevious: isPrevious)
            guard let owner = key.ownerUser else { return finish(.success(key)) }
            addOwner(owner, to: key, then: finish)
        } catch {
            finish(.failure(error))
        }
    }

    private func addOwner(
        _ owner: UUID, to key: PresentedKey, then finish: @escaping (KeyAnswer) -> Void
    ) {
        lookups.read(
            """
            SELECT status, role FROM users WHERE tenant_id = \(key.tenant) AND id = \(owner)
            """
        ) { answer in
            do throws(PostgresError) {
                var key = key
                if let row = try answer.get().first {
                    key.userStatus = try row.get(0)
                    key.userRole = try row.get(1)
                }
                finish(.success(key))
            } catch {
                finish(.failure(error))
            }
        }
    }

    /// `hash`: SHA-256 of the whole secret; nil where no key has it.
    func apiKey(locator: String, hash: [UInt8]) async throws -> PresentedKey? {
        guard let holder = try await knownKeyHolder(locator) else { return nil }
        let answer: KeyAnswer = await withUnsafeContinuation { continuation in
            lookUp(hash, of: holder) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }

    /// Whose keys carry the locator; nil where nobody's do.
    func keyHolder(_ locator: String) async throws(PostgresError) -> KeyHolder? {
        let found = try await app.read("SELECT directory_tenant_by_locator(\(locator))")
        guard let row = found.first, let tenant: UUID = try row.get(0, as: UUID?.self) else {
            return nil
        }
        if tenant == .platform { return .platform }
        return try await scope(tenant).tenantRow().map {
            KeyHolder(tenant: $0.id, status: $0.status)
        }
    }

    /// The same for many, in their order: all in the pipeline at once.
    func apiKeys(_ asked: [(locator: String, hash: [UInt8])]) async throws -> [PresentedKey?] {
        var keys = [PresentedKey?](repeating: nil, count: asked.count)
        try await withThrowingTaskGroup(of: (Int, PresentedKey?).self) { group in
            for (place, (locator, hash)) in asked.enumerated() {
                group.addTask { (place, try await apiKey(locator: locator, hash: hash)) }
            }
            for try await (place, key) in group { keys[place] = key }
        }
        return keys
    }
}
