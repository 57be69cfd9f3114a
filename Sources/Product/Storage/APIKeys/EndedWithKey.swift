import Domain
import Postgres
import Text

/// What ended with a key, and what it did that an operator has to look at.
package struct EndedWithKey: Sendable {
    /// Something in use that the key made or changed.
    package struct Item: Sendable {
        /// The nil id: the platform's own.
        package var tenant: UUID
        package var action: String
        package var type: String
        package var id: String
        package var name: String
        package var at: Timestamp
    }

    /// By kind, as on the wire; 0 of each that is named in `kinds`.
    package var counts: [String: Int] = [:]
    /// The latest act on each object, at most `reviewLimit` of each tenant: users who are no admins last, else the
    /// newest first.
    package var review: [Item] = []
    /// How many there are, also beyond the limit.
    package var reviewTotal = 0

    /// In the order in which they are shown.
    package static let kinds = [
        "keys", "hook_credentials", "invites", "join_links", "link_grants", "password_links",
        "email_changes", "operators", "operator_links", "jobs",
    ]
    package static let reviewLimit = 200

    mutating func add(_ kind: String, _ count: Int) { counts[kind, default: 0] += count }
}

extension Change {
    /// Ends what these keys made in this tenant and no one has taken up.
    func endMade(
        by keys: [String], _ result: inout EndedWithKey, in database: Database,
        ended: (Change, JobRow) async throws -> Void
    ) async throws {
        result.add("jobs", try await endJobs(of: keys, ended))
        result.add("invites", try await revokeInvites(of: keys, database))
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

    /// Those that the keys made, gave a role to, or were shown anew.
    private func revokeInvites(of keys: [String], _ database: Database) async throws -> Int {
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
            _ = try await revoke(invite, in: database)
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

    /// Those that one of the keys asked for: the audit has who did.
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

    /// Those who never signed in.
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

    /// The ways in that the keys made for operators of others, who have not used them.
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

    /// A job that is being undone only pauses: what it took back is half of something.
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

    /// Those on whom the keys acted and who are there. A statement of their own: a distributed database joins no rows of
    /// a tenant with the operators.
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

    /// What the keys did, but for what is gone, with the users who came in by their invites.
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
