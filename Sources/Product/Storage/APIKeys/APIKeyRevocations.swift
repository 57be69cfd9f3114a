import Domain
import JSON
import Postgres
import Text

/// Revocations of many keys at once: one transaction, one notice to the replicas.
extension Change {
    /// Revokes every key that is not revoked: all of one user, or all of the tenant. Answers how
    /// many there were.
    package func revokeAPIKeys(owner: UUID?, reason: String?) async throws -> Int {
        var condition: SQL = "tenant_id = \(tenant) AND revoked_at IS NULL"
        if let owner { condition += " AND owner_user_id = \(owner)" }
        let rows = try await query(
            "SELECT id FROM api_keys WHERE \(condition) ORDER BY id FOR UPDATE")
        return try await revoke(ids(rows), reason: reason)
    }

    /// Revokes what the user made, or a key of the user's; what others made for the user, an operator
    /// perhaps, stands.
    func revokeOwnAPIKeys(of user: UUID, reason: String) async throws {
        let rows = try await query(
            """
            SELECT id FROM api_keys k
            WHERE tenant_id = \(tenant) AND owner_user_id = \(user) AND revoked_at IS NULL
                AND (created_by_type = 'user' OR created_by_type = 'key' AND EXISTS (
                    SELECT 1 FROM api_keys m WHERE m.tenant_id = \(tenant)
                        AND m.id::text = k.created_by_id AND m.owner_user_id = \(user)))
            ORDER BY id FOR UPDATE OF k
            """)
        if !rows.isEmpty { _ = try await revoke(ids(rows), reason: reason) }
    }

    /// Revokes the key, every key that it made, by whatever door, and what those made; ends the
    /// hook credentials of them all. A key that is revoked already still leads to what it made.
    /// `permit` is asked for each key before anything changes, and throws where it is not the
    /// caller's to revoke. Answers how many keys there were that lived.
    package func revokeWithMade(
        _ root: APIKeyRow, reason: String?, in database: Database,
        permit: (APIKeyRow) throws -> Void
    ) async throws -> Int {
        let made = try await holdMade(by: [root.id], also: [root.id])
        for row in made { try permit(row) }
        var revoked = try await revoke(made.map(\.id), reason: reason)
        let makers = made.map(\.id)
        var all = makers
        if tenant == .platform {
            // Whoever would make another key with one of these waits for this transaction.
            for other in try await database.tenants(withKeysOf: makers) {
                let (ids, count) = try await at(other) { change in
                    let made = try await change.holdMade(by: makers, also: [])
                    for row in made { try permit(row) }
                    let ids = made.map(\.id)
                    return (ids, try await change.revoke(ids, reason: reason))
                }
                all += ids
                revoked += count
            }
        }
        try await endHookCredentials(madeBy: all)
        return revoked
    }

    /// All that hang on these makers in this tenant, at any depth, and `also`, locked in the order
    /// of their ids as every writer does. Looked up again once they are held: what was made
    /// meanwhile was made by one that could still make.
    private func holdMade(by makers: [UUID], also: [UUID]) async throws -> [APIKeyRow] {
        var held: [APIKeyRow] = []
        while true {
            let found = try await query(
                """
                WITH RECURSIVE made (id) AS (
                    SELECT unnest(\(makers))
                    UNION SELECT k.id FROM made m JOIN api_keys k ON k.tenant_id = \(tenant)
                        AND k.created_by_type = 'key' AND k.created_by_id = m.id::text
                )
                SELECT id FROM made
                """)
            var wanted = Set(try ids(found)).union(also)
            if also.isEmpty { wanted.subtract(makers) }
            if wanted.count == held.count { return held }
            let rows = try await query(
                """
                SELECT \(APIKeyRow.columns) FROM api_keys
                WHERE tenant_id = \(tenant) AND id = ANY (\(Array(wanted)))
                ORDER BY id FOR UPDATE
                """)
            held = try rows.all(APIKeyRow.init)
            if held.count < wanted.count { return held }
        }
    }

    /// Keys whose rows are locked.
    private func revoke(_ ids: [UUID], reason: String?) async throws -> Int {
        let rows = try await query(
            """
            UPDATE api_keys SET revoked_at = \(now), revocation_reason = \(reason),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = ANY (\(ids)) AND revoked_at IS NULL
            RETURNING id, name
            """)
        if rows.isEmpty {
            alreadyApplied()
            return 0
        }
        var changes = AuditChanges()
        changes.add("revoked_at", nil, now.description)
        changes.add("revocation_reason", nil, reason)
        var targets: [AuditTarget] = []
        for row in rows {
            targets.append(AuditTarget("api_key", try row.get(0), try row.get(1)))
        }
        try await audit(.apiKeyRevoked, ofEach: targets, changes)
        return targets.count
    }

    private func endHookCredentials(madeBy keys: [UUID]) async throws {
        let rows = try await query(
            """
            DELETE FROM hook_credentials
            WHERE created_by_type = 'key' AND created_by = ANY (\(keys.map(\.description)))
            RETURNING \(HookCredentialRow.columns)
            """)
        let targets = try rows.all(HookCredentialRow.init).map(\.target)
        if !targets.isEmpty { try await audit(.hookCredentialDeleted, ofEach: targets) }
    }

    private func ids(_ rows: Rows) throws -> [UUID] {
        var ids: [UUID] = []
        for row in rows { ids.append(try row.get(0)) }
        return ids
    }
}

extension Change {
    /// The keys of a deleted user count as revoked until the user is restored (nil). What was
    /// revoked by itself stays so.
    func markKeys(of user: UUID, ownerDeletedAt time: Timestamp?) async throws {
        try await query(
            """
            UPDATE api_keys SET owner_deleted_at = \(time), version = version + 1,
                updated_at = \(now)
            WHERE tenant_id = \(tenant) AND owner_user_id = \(user)
                AND owner_deleted_at IS DISTINCT FROM \(time)
            """)
    }

    /// The key that the caller came with, held as it is now until the transaction ends: what is
    /// made with it is bounded by it, and it cannot be revoked in between.
    package func holdAPIKey(_ id: UUID, of home: UUID) async throws -> APIKeyRow? {
        try await at(home) { change in
            let rows = try await change.query(
                """
                SELECT \(APIKeyRow.columns) FROM api_keys
                WHERE tenant_id = \(change.tenant) AND id = \(id) FOR SHARE
                """)
            return try rows.first.map(APIKeyRow.init)
        }
    }

    /// The same transaction at another tenant's rows: a platform key and the keys that it made are
    /// not of one tenant. Row-level security stands behind it there as here.
    func at<Result>(
        _ other: UUID, _ body: (Change) async throws -> Result
    ) async throws -> Result {
        if other == tenant { return try await body(self) }
        try await query("SELECT set_config('app.tenant', \(other.description), true)")
        let result = try await body(
            Change(
                tenant: other, actor: actor, now: now, transaction: transaction,
                invalidations: invalidations))
        try await query("SELECT set_config('app.tenant', \(tenant.description), true)")
        return result
    }
}

extension Database {
    /// The tenants in which one of these keys of the platform made a key.
    fileprivate func tenants(withKeysOf makers: [UUID]) async throws -> [UUID] {
        let rows = try await platform.read(
            """
            SELECT DISTINCT tenant_id FROM api_keys
            WHERE created_by_type = 'key' AND created_by_id = ANY (\(makers.map(\.description)))
                AND tenant_id <> \(UUID.platform) ORDER BY tenant_id
            """)
        var found: [UUID] = []
        for row in rows { found.append(try row.get(0)) }
        return found
    }
}
