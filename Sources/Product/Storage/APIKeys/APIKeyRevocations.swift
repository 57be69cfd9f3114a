import Domain
import Postgres
import Text

/// Revocations of many keys at once: one transaction, one invalidation.
extension Change {
    /// Revokes every active key: all of one user, or all of the tenant. Returns their number.
    package func revokeAPIKeys(owner: UUID?, reason: String?) async throws -> Int {
        var condition: SQL = "tenant_id = \(tenant) AND revoked_at IS NULL"
        if let owner { condition += " AND owner_user_id = \(owner)" }
        let rows = try await query(
            "SELECT id FROM api_keys WHERE \(condition) ORDER BY id FOR UPDATE")
        return try await revoke(ids(rows), reason: reason)
    }

    /// Revokes the keys that the user or one of the user's keys created; keys that others, such as
    /// an operator, created for the user stay.
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

    /// Revokes the key, every key that it created by any call, and what those created; ends what
    /// they all made and no one has taken up: hook credentials, invites, links, operators, jobs. What
    /// is in use is listed. A revoked key still leads to what it created. `permit` is called for each
    /// key before anything changes, and throws if the caller may not revoke it; `ended` for each job,
    /// in the transaction that ends it.
    package func revokeWithMade(
        _ root: APIKeyRow, reason: String?, in database: Database,
        permit: (APIKeyRow) throws -> Void,
        ended: (Change, JobRow) async throws -> Void = { _, _ in }
    ) async throws -> EndedWithKey {
        let made = try await holdMade(by: [root.id], also: [root.id])
        for row in made { try permit(row) }
        var result = EndedWithKey()
        result.counts["keys"] = try await revoke(made.map(\.id), reason: reason)
        let makers = made.map(\.id)
        var all = makers
        var places = [tenant]
        if tenant == .platform {
            // A concurrent creation of a key by one of these waits for this transaction.
            for other in try await database.tenants(withKeysOf: makers) {
                let (ids, count) = try await at(other) { change in
                    let made = try await change.holdMade(by: makers, also: [])
                    for row in made { try permit(row) }
                    let ids = made.map(\.id)
                    return (ids, try await change.revoke(ids, reason: reason))
                }
                all += ids
                result.add("keys", count)
            }
            places += try await database.tenants(changedBy: all)
        }
        result.add("hook_credentials", try await endHookCredentials(madeBy: all))
        for place in places {
            let (keys, before) = (all.map(\.description), result)
            result = try await at(place) { change in
                var result = before
                try await change.endMade(by: keys, &result, in: database, ended: ended)
                return result
            }
        }
        return result
    }

    /// All keys created by these in this tenant, at any depth, and `also`, locked in the order of
    /// their ids as every writer does. Looked up again once they are locked, to find the keys that
    /// were created meanwhile by one that was still active.
    private func holdMade(by makers: [UUID], also: [UUID]) async throws -> [APIKeyRow] {
        var held: [APIKeyRow] = []
        while true {
            let found = try await query(
                """
                WITH RECURSIVE made (id, name) AS (
                    SELECT id, id::text FROM unnest(\(makers)::uuid[]) AS id
                    UNION SELECT k.id, k.id::text FROM made m JOIN api_keys k
                        ON k.tenant_id = \(tenant) AND k.created_by_type = 'key'
                        AND k.created_by_id = m.name
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
        for row in rows { targets.append(AuditTarget("api_key", try row.get(0), try row.get(1))) }
        try await audit(.apiKeyRevoked, ofEach: targets, changes)
        return targets.count
    }

    private func endHookCredentials(madeBy keys: [UUID]) async throws -> Int {
        let rows = try await query(
            """
            DELETE FROM hook_credentials
            WHERE created_by_type = 'key' AND created_by = ANY (\(keys.map(\.description)))
            RETURNING \(HookCredentialRow.columns)
            """)
        let targets = try rows.all(HookCredentialRow.init).map(\.target)
        if !targets.isEmpty { try await audit(.hookCredentialDeleted, ofEach: targets) }
        return targets.count
    }

    private func ids(_ rows: Rows) throws -> [UUID] {
        var ids: [UUID] = []
        for row in rows { ids.append(try row.get(0)) }
        return ids
    }
}

extension Change {
    /// The keys of a deleted user count as revoked until the user is restored (nil). Keys that were
    /// revoked themselves stay so.
    func markKeys(of user: UUID, ownerDeletedAt time: Timestamp?) async throws {
        try await query(
            """
            UPDATE api_keys SET owner_deleted_at = \(time), version = version + 1,
                updated_at = \(now)
            WHERE tenant_id = \(tenant) AND owner_user_id = \(user)
                AND owner_deleted_at IS DISTINCT FROM \(time)
            """)
    }

    /// The caller's key, locked until the transaction ends: what is created with it is bounded by
    /// it, and it cannot be revoked in between.
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

    /// The same transaction in another tenant: a platform key and the keys that it created may be
    /// in different tenants. Row-level security applies there as well.
    func at<Result>(_ other: UUID, _ body: (Change) async throws -> Result) async throws -> Result {
        if other == tenant { return try await body(self) }
        transaction.setLater("app.tenant", other.description)
        let result = try await body(
            Change(
                tenant: other, actor: actor, now: now, transaction: transaction,
                invalidations: invalidations))
        transaction.setLater("app.tenant", tenant.description)
        return result
    }
}

extension Database {
    /// The tenants in which one of these keys did anything that the audit holds.
    fileprivate func tenants(changedBy keys: [UUID]) async throws -> [UUID] {
        let rows = try await platform.read(
            """
            SELECT id FROM tenants WHERE id = ANY (ARRAY(SELECT DISTINCT tenant_id FROM audit_events
                WHERE actor_id = ANY (\(keys.map(\.description))) AND actor_type = 'key'))
            ORDER BY id
            """)
        var found: [UUID] = []
        for row in rows { found.append(try row.get(0)) }
        return found
    }

    /// The tenants in which one of these platform keys created a key.
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
