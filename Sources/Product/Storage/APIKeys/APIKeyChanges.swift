import Domain
import JSON
import Postgres
import Text

extension Change {
    /// Returns the key's row, locked for this transaction.
    package func lockAPIKey(_ id: UUID) async throws -> APIKeyRow {
        let rows = try await query(
            """
            SELECT \(APIKeyRow.columns) FROM api_keys
            WHERE tenant_id = \(tenant) AND id = \(id) FOR UPDATE
            """)
        guard let row = rows.first else { throw StorageFailure.notFound("API key") }
        return try APIKeyRow(row)
    }

    /// Stores the key and audits `api_key.created`. Throws 404 if the owning user does not exist or
    /// is deleted.
    package func insertAPIKey(_ key: APIKey) async throws -> APIKeyRow {
        let (ownerType, ownerUser) = key.owner.columns
        if let ownerUser {
            // The lock keeps the owner from being deleted before the transaction ends.
            let found = try await query(
                """
                SELECT 1 FROM users WHERE tenant_id = \(tenant) AND id = \(ownerUser)
                    AND status <> 'deleted' FOR SHARE
                """)
            if found.isEmpty { throw StorageFailure.notFound("user") }
        }
        let rows = try await query(
            """
            INSERT INTO api_keys (tenant_id, id, name, environment, hash, prefix, last4, scopes,
                owner_type, owner_user_id, created_by_type, created_by_id, rate_limit,
                limit_shared_with, note, allowed_ips, allowed_origins, expires_at, created_at,
                updated_at)
            VALUES (\(tenant), \(key.id), \(key.name), \(key.environment.rawValue),
                \(key.current.hash), \(key.current.prefix), \(key.current.last4), \(key.scopes),
                \(ownerType), \(ownerUser), \(actor.type), \(actor.id), \(key.ratePerMinute),
                \(key.limitSharedWith), \(key.note), \(key.allowedIPs), \(key.allowedOrigins),
                \(key.expiresAt), \(now), \(now))
            RETURNING \(APIKeyRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("scopes", .null, .array(key.scopes.map(JSONValue.string)))
        changes.add("owner", nil, ownerType)
        try await audit(.apiKeyCreated, AuditTarget("api_key", key.id, key.name), changes)
        return try rows.only(APIKeyRow.init)
    }

    /// Writes the key's new values and an audit event with the fields that differ.
    package func saveAPIKey(
        _ row: APIKeyRow, as next: APIKey, action: AuditAction
    ) async throws -> APIKeyRow {
        let old = next.previous
        let rows = try await query(
            """
            UPDATE api_keys SET name = \(next.name), hash = \(next.current.hash),
                prefix = \(next.current.prefix), last4 = \(next.current.last4),
                previous_hash = \(old?.secret.hash), previous_prefix = \(old?.secret.prefix),
                previous_last4 = \(old?.secret.last4), previous_until = \(old?.until),
                previous_last_used_at = \(old?.lastUsedAt), previous_uses = \(old?.uses ?? 0),
                scopes = \(next.scopes), rate_limit = \(next.ratePerMinute), note = \(next.note),
                allowed_ips = \(next.allowedIPs), allowed_origins = \(next.allowedOrigins),
                expires_at = \(next.expiresAt), revoked_at = \(next.revokedAt),
                revocation_reason = \(next.revocationReason), given_before = \(next.isGivenBefore),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(next.id) RETURNING \(APIKeyRow.columns)
            """)
        let target = AuditTarget("api_key", next.id, next.name)
        try await audit(action, target, row.key.changes(to: next))
        return try rows.only(APIKeyRow.init)
    }
}

extension APIKey {
    /// Returns the key as revoked. A key that is already revoked is returned unchanged.
    package func revoked(at now: Timestamp, reason: String?) -> APIKey {
        guard revokedAt == nil else { return self }
        var next = self
        next.revokedAt = now
        next.revocationReason = reason
        return next
    }

    fileprivate func changes(to next: APIKey) -> AuditChanges {
        func list(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
        func number(_ value: Int?) -> JSONValue { value.map { .int($0) } ?? .null }
        var changes = AuditChanges()
        changes.add("name", name, next.name)
        changes.add("last4", current.last4, next.current.last4)
        changes.add("previous", previous?.secret.last4, next.previous?.secret.last4)
        changes.add("scopes", list(scopes), list(next.scopes))
        changes.add("rate_limit", number(ratePerMinute), number(next.ratePerMinute))
        changes.add("note", note, next.note)
        changes.add("allowed_ips", list(allowedIPs), list(next.allowedIPs))
        changes.add("allowed_origins", list(allowedOrigins), list(next.allowedOrigins))
        changes.add("expires_at", expiresAt?.description, next.expiresAt?.description)
        changes.add("revoked_at", revokedAt?.description, next.revokedAt?.description)
        changes.add("revocation_reason", revocationReason, next.revocationReason)
        return changes
    }
}

extension APIKey.Owner {
    fileprivate var columns: (type: String, user: UUID?) {
        switch self {
        case .platform: ("platform", nil)
        case .tenant: ("tenant", nil)
        case .user(let id): ("user", id)
        }
    }
}

extension Database {
    /// Stores the given secret as a platform key with every management scope, if neither an
    /// operator nor a platform key exists yet. The secret's locator becomes one of the platform's
    /// locators; throws a conflict if a tenant has that locator. Returns false if the text is no
    /// secret or nothing was stored.
    package func installSetupKey(_ text: String) async throws -> Bool {
        guard let secret = APIKeySecret(text) else { return false }
        let stored = secret.stored
        let id = UUID.random()
        return try await platformScope.change(by: .system) { change in
            let scopes = ManagementScope.allCases.map(\.rawValue)
            let rows = try await change.query(
                """
                INSERT INTO api_keys AS made (tenant_id, id, name, environment, hash, prefix, last4,
                    scopes, owner_type, created_by_type, created_by_id, created_at, updated_at)
                SELECT anchor.id, \(id), 'Setup key', \(secret.environment.rawValue),
                    \(stored.hash), \(stored.prefix), \(stored.last4), \(scopes), 'platform',
                    \(change.actor.type), \(change.actor.id), \(change.now), \(change.now)
                FROM \(SQL.anchor(of: change.tenant))
                WHERE anchor.id = \(change.tenant) AND NOT EXISTS (SELECT 1 FROM operators)
                    AND NOT EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = \(change.tenant))
                ON CONFLICT (tenant_id, hash) DO NOTHING RETURNING id
                """)
            guard !rows.isEmpty else { return false }
            if secret.locator != APIKeySecret.platformLocator,
                try await !change.claim("locator", secret.locator)
            {
                throw StorageFailure.conflict(
                    code: "conflict",
                    detail: "A tenant's keys have the same locator as the key in "
                        + "GATEHOUSE_SETUP_API_KEY; make a new setup key.",
                    id: nil)
            }
            try await change.audit(.apiKeyCreated, AuditTarget("api_key", id, "Setup key"))
            return true
        }
    }
}
