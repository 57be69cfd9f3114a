import Domain
import Postgres
import Text

/// Revocations of many keys at once, in one transaction and with one invalidation.
extension Change {
    /// Revokes every active key of one user, or of the whole tenant. Returns the number of keys.
    package func revokeAPIKeys(owner: UUID?, reason: String?) async throws -> Int {
        var condition: SQL = "tenant_id = \(tenant) AND revoked_at IS NULL"
        if let owner { condition += " AND owner_user_id = \(owner)" }
        let rows = try await query(
            "SELECT id FROM api_keys WHERE \(condition) ORDER BY id FOR UPDATE")
        return try await revoke(ids(rows), reason: reason)
    }

    /// Revokes those of the user's keys that were created by the user or by another of the user's
    /// keys. Keys that someone else, such as an operator, created for the user stay valid.
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

    /// Revokes the key and all keys that it created, directly or through other keys, even through a
    /// key that was revoked earlier. Also ends the hook credentials, invites, links and operators
    /// that these keys made and that no one has accepted yet, and cancels the keys' jobs. Objects
    /// that are already in use are listed for review. `permit` is called for each key before that
    /// key is revoked, and throws if the caller may not revoke it. `ended` is called for each
    /// cancelled job, in the same transaction.
    package func revokeWithMade(
        _ root: APIKeyRow, reason: String?,
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
            // If one of these keys creates another key at the same time, that creation waits for
            // this transaction.
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
                try await change.endMade(by: keys, &result, ended: ended)
                return result
            }
        }
        return result
    }

    /// Locks and returns two groups of keys in this tenant: those in `also`, and those that the
    /// keys in `makers` created, directly or through other keys. The rows are locked in the order
    /// of their ids, as every writer does. After that the search is repeated, because an active key
    /// may have created another key in the meantime.
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

    /// Revokes keys whose rows are locked.
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
    /// Stores when the keys' owner was deleted; nil means that the owner was restored. As long as a
    /// time is stored, the keys count as revoked. Keys that were revoked themselves stay revoked
    /// after the owner is restored.
    func markKeys(of user: UUID, ownerDeletedAt time: Timestamp?) async throws {
        try await query(
            """
            UPDATE api_keys SET owner_deleted_at = \(time), version = version + 1,
                updated_at = \(now)
            WHERE tenant_id = \(tenant) AND owner_user_id = \(user)
                AND owner_deleted_at IS DISTINCT FROM \(time)
            """)
    }

    /// Returns the caller's key; `nil` if it does not exist. The key is locked, so that it cannot
    /// be revoked or changed before the transaction ends: the objects that the key creates must get
    /// no more rights than the key has.
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

    /// Runs a body for another tenant in the same transaction, under that tenant's row-level
    /// security. It is needed because a platform key and the keys that it created may be in
    /// different tenants.
    func at<Result>(_ other: UUID, _ body: (Change) async throws -> Result) async throws -> Result {
        if other == tenant { return try await body(self) }
        transaction.setLater("app.tenant", other.description)
        let result = try await body(
            Change(
                database: database, tenant: other, actor: actor, now: now,
                transaction: transaction, invalidations: invalidations))
        transaction.setLater("app.tenant", tenant.description)
        return result
    }
}

extension Database {
    /// Returns the tenants whose audit trail contains an event by one of these keys.
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

    /// Returns the tenants in which one of these platform keys created a key.
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

/// The objects that ended with a revoked key, and the key's earlier actions that an operator should
/// review.
package struct EndedWithKey: Sendable {
    /// An object that the key made or changed, and that did not end with the key.
    package struct Item: Sendable {
        /// The object's tenant; the nil UUID for the platform.
        package var tenant: UUID
        package var action: String
        package var type: String
        package var id: String
        package var name: String
        package var at: Timestamp
    }

    /// The number of ended objects by kind, under the names in `/v1`. Every kind in `kinds` is
    /// present, even if its number is 0.
    package var counts: [String: Int] = [:]
    /// The latest action on each object, at most `reviewLimit` for each tenant. Actions on users
    /// who are not admins come last; apart from this, the newest action comes first.
    package var review: [Item] = []
    /// The number of all actions for review, including those that `review` leaves out because of
    /// `reviewLimit`.
    package var reviewTotal = 0

    /// The kinds of `counts`, in the order in which they are shown.
    package static let kinds = [
        "keys", "hook_credentials", "invites", "join_links", "link_grants", "password_links",
        "email_changes", "operators", "operator_links", "jobs",
    ]
    package static let reviewLimit = 200

    mutating func add(_ kind: String, _ count: Int) { counts[kind, default: 0] += count }
}

extension Change {
    /// Ends everything that these keys made in this tenant and that no one has accepted yet. Also
    /// cancels the keys' jobs.
    func endMade(
        by keys: [String], _ result: inout EndedWithKey,
        ended: (Change, JobRow) async throws -> Void
    ) async throws {
        result.add("jobs", try await endJobs(of: keys, ended))
        result.add("invites", try await revokeInvites(of: keys))
        result.add("join_links", try await revokeJoinLinks(of: keys))
        result.add(
            "link_grants",
            try await query(
                """
                DELETE FROM link_grants WHERE tenant_id = \(tenant) AND used_at IS NULL
                    AND made_by_type = 'key' AND made_by_id = ANY (\(keys))
                """
            ).affected)
        result.add(
            "password_links",
            try await query(
                """
                UPDATE password_resets SET used_at = \(now) WHERE tenant_id = \(tenant)
                    AND used_at IS NULL AND made_by_type = 'key' AND made_by_id = ANY (\(keys))
                """
            ).affected)
        result.add("email_changes", try await endEmailChanges(of: keys))
        result.add("operators", try await deleteOperators(of: keys))
        result.add("operator_links", try await endOperatorLinks(of: keys))
        let (items, total) = try await review(of: keys)
        result.review += items
        result.reviewTotal += total
    }

    /// Revokes the pending invites that the keys made or sent again, and the pending invites whose
    /// role one of the keys gave.
    private func revokeInvites(of keys: [String]) async throws -> Int {
        let found = try await query(
            """
            SELECT id FROM (SELECT made.id, made.email_key FROM unnest(\(keys)::text[]) AS maker, LATERAL (
                    SELECT id, email_key FROM invites WHERE tenant_id = \(tenant)
                        AND inviter_type = 'key' AND inviter_id = maker
                        AND \(SQL.unindexed("status")) = 'pending' OFFSET 0) AS made
                UNION SELECT made.id, made.email_key FROM unnest(\(keys)::text[]) AS giver, LATERAL (
                    SELECT id, email_key FROM invites WHERE tenant_id = \(tenant)
                        AND role_by_type = 'key' AND role_by_id = giver
                        AND \(SQL.unindexed("status")) = 'pending' OFFSET 0) AS made
                UNION SELECT shown.id, shown.email_key FROM (SELECT target_id FROM audit_events
                    WHERE tenant_id = \(tenant) AND actor_type = 'key' AND actor_id = ANY (\(keys))
                        AND action = \(AuditAction.inviteResent.rawValue)
                    OFFSET 0) AS resent, LATERAL (
                    SELECT id, email_key FROM invites WHERE tenant_id = \(tenant)
                        AND id = resent.target_id::uuid
                        AND \(SQL.unindexed("status")) = 'pending' OFFSET 0) AS shown) AS found
            ORDER BY email_key
            """
        ).all { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        var count = 0
        for id in found {
            let invite = try await lockInvite(id)
            guard [.pending, .expired].contains(invite.status(at: now)) else { continue }
            _ = try await revoke(invite)
            count += 1
        }
        return count
    }

    private func revokeJoinLinks(of keys: [String]) async throws -> Int {
        let found = try await query(
            """
            SELECT id FROM join_links WHERE tenant_id = \(tenant) AND revoked_at IS NULL
                AND maker_type = 'key' AND maker_id = ANY (\(keys)) ORDER BY id
            """
        ).all { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        for id in found { _ = try await revokeJoinLink(id) }
        return found.count
    }

    /// Ends the pending email changes that one of the keys requested, as the audit trail shows.
    private func endEmailChanges(of keys: [String]) async throws -> Int {
        let found = try await query(
            """
            SELECT DISTINCT e.user_id FROM (SELECT target_id, occurred_at FROM audit_events
                    WHERE tenant_id = \(tenant) AND actor_type = 'key' AND actor_id = ANY (\(keys))
                        AND action = \(AuditAction.userEmailChangeAsked.rawValue)
                    OFFSET 0) AS asked,
                LATERAL (SELECT user_id FROM email_changes
                    WHERE tenant_id = \(tenant) AND user_id = asked.target_id::uuid
                        AND created_at = asked.occurred_at OFFSET 0) AS e
            ORDER BY e.user_id
            """
        ).all { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        for user in found { try await cancelEmailChange(of: lockUser(user)) }
        return found.count
    }

    /// Deletes the operators whom the keys created and who have never signed in.
    private func deleteOperators(of keys: [String]) async throws -> Int {
        let rows = try await query(
            """
            SELECT \(OperatorRow.columns) FROM operators o WHERE o.status = 'pending'
                AND o.id IN (SELECT a.target_id::uuid FROM audit_events a
                    WHERE a.tenant_id = \(tenant) AND a.actor_id = ANY (\(keys))
                        AND a.actor_type = 'key'
                        AND a.action = \(AuditAction.operatorCreated.rawValue))
            ORDER BY o.id FOR UPDATE OF o
            """)
        let found = try rows.all(OperatorRow.init)
        for person in found { try await deleteOperator(person) }
        return found.count
    }

    /// Ends the sign-in links that the keys made for operators who have not signed in yet.
    /// Operators whom the keys themselves created are deleted by `deleteOperators`.
    private func endOperatorLinks(of keys: [String]) async throws -> Int {
        let found = try await query(
            """
            SELECT DISTINCT o.id FROM audit_events a JOIN operators o
                    ON o.id = a.target_id::uuid AND o.status = 'pending'
                WHERE a.tenant_id = \(tenant) AND a.actor_type = 'key' AND a.actor_id = ANY (\(keys))
                    AND a.action = \(AuditAction.operatorLinkMade.rawValue)
            ORDER BY o.id
            """
        ).all { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        for person in found { try await endSignInLinks(of: person) }
        return found.count
    }

    /// Cancels the keys' jobs. A job that is being undone is only paused, since its undo is half
    /// done.
    private func endJobs(
        of keys: [String], _ ended: (Change, JobRow) async throws -> Void
    ) async throws -> Int {
        let rows = try await query(
            """
            SELECT \(JobRow.columns) FROM jobs WHERE tenant_id = \(tenant)
                AND \(SQL.unindexed("status")) IN ('queued', 'running', 'paused')
                AND actor_type = 'key' AND actor_id = ANY (\(keys)) ORDER BY id FOR UPDATE
            """)
        let found = try rows.all(JobRow.init)
        for job in found {
            guard !job.isUndoing else {
                if job.status != .paused { _ = try await pauseJob(job) }
                continue
            }
            let row = try await cancelJob(job)
            try await ended(self, row)
        }
        return found.count
    }

    private static let reviewed: [AuditAction] = [
        .apiKeyRotated, .apiKeyRolledBack, .apiKeyUpdated, .attributeSchemaUpdated,
        .clientSecretChanged, .clientUpdated, .corsOriginCreated,
        .corsOriginUpdated, .domainCreated, .domainUpdated, .domainVerified, .identityLinked,
        .operatorCreated, .operatorUpdated, .policyUpdated, .providerCreated,
        .providerSecretChanged, .providerUpdated, .tenantCreated, .tenantUpdated,
        .userAccountGiven, .userApproved, .userCreated, .userMerged, .userRestored, .userResumed,
        .userUpdated,
    ]

    /// Returns the ids of the existing operators on whom the keys acted. It needs a separate
    /// statement, since a distributed database cannot join a tenant's rows with the operators.
    private func operators(actedOnBy keys: [String]) async throws -> [String] {
        let ids = try await query(
            """
            SELECT DISTINCT target_id FROM audit_events WHERE tenant_id = \(tenant)
                AND actor_type = 'key' AND actor_id = ANY (\(keys)) AND target_type = 'operator'
            """
        ).all { row throws(PostgresError) in try row.get(0, as: String.self) }
        if ids.isEmpty { return [] }
        return try await query(
            "SELECT id::text FROM operators WHERE id = ANY (\(ids.compactMap { UUID($0) }))"
        ).all { row throws(PostgresError) in try row.get(0, as: String.self) }
    }

    /// Returns the keys' latest action on each object that still exists, including the users who
    /// joined by the keys' invites.
    private func review(
        of keys: [String]
    ) async throws -> (items: [EndedWithKey.Item], total: Int) {
        let operators = try await operators(actedOnBy: keys)
        let rows = try await query(
            """
            SELECT action, target_type, target_id, target_name, occurred_at, count(*) OVER () FROM (
                SELECT DISTINCT ON (target_type, target_id, client) action, target_type, target_id,
                    target_name, occurred_at
                FROM (SELECT action, target_type, target_id, target_name, occurred_at,
                            CASE WHEN target_type = 'client' THEN target_name END AS client
                        FROM audit_events WHERE tenant_id = \(tenant) AND actor_type = 'key'
                            AND actor_id = ANY (\(keys))
                            AND action = ANY (\(Self.reviewed.map(\.rawValue)))
                    UNION ALL SELECT 'invite.accepted', 'user', accepted_user_id::text, email,
                        accepted_at, NULL FROM invites WHERE tenant_id = \(tenant)
                            AND inviter_type = 'key' AND inviter_id = ANY (\(keys))
                            AND accepted_user_id IS NOT NULL) AS done
                WHERE (target_type <> 'user' OR EXISTS (SELECT 1 FROM users u
                        WHERE u.tenant_id = \(tenant) AND u.id = CASE WHEN target_type = 'user' THEN target_id::uuid END
                            AND u.status <> 'deleted'))
                    AND (target_type <> 'operator' OR target_id = ANY (\(operators)))
                    AND (target_type <> 'api_key' OR EXISTS (SELECT 1 FROM api_keys k
                        WHERE k.tenant_id = \(tenant) AND k.id = CASE WHEN target_type = 'api_key' THEN target_id::uuid END
                            AND k.revoked_at IS NULL))
                ORDER BY target_type, target_id, client, occurred_at DESC) AS latest
            ORDER BY target_type = 'user' AND NOT EXISTS (SELECT 1 FROM users u
                    WHERE u.tenant_id = \(tenant) AND u.id = CASE WHEN target_type = 'user' THEN target_id::uuid END AND u.role = 'admin'),
                occurred_at DESC LIMIT \(raw: "\(EndedWithKey.reviewLimit)")
            """)
        let items = try rows.all { row throws(PostgresError) in
            EndedWithKey.Item(
                tenant: tenant, action: try row.get(0), type: try row.get(1), id: try row.get(2),
                name: try row.get(3), at: try row.get(4))
        }
        return (items, try rows.first?.get(5, as: Int.self) ?? 0)
    }
}
