import Domain
import Postgres
import Text

/// The hash of the invite token or join link token with which a person began a sign-in.
package enum BroughtToken: Sendable, Equatable {
    case invite([UInt8])
    case join([UInt8])

    var inviteHash: [UInt8]? { if case .invite(let hash) = self { hash } else { nil } }
    var joinHash: [UInt8]? { if case .join(let hash) = self { hash } else { nil } }
}

extension Change {
    /// Whether `inviter` is the id of a key that is not revoked and may still invite. The key may
    /// be this tenant's or the platform's. The key's expiry is not checked, since a join link
    /// expires together with the key that made the link.
    private func isLive(inviter text: String) async throws(PostgresError) -> Bool {
        guard let id = UUID(text) else { return false }
        let condition: SQL =
            """
            id = \(id) AND revoked_at IS NULL AND owner_deleted_at IS NULL
                AND \(ManagementScope.invitesWrite.rawValue) = ANY (scopes)
            """
        let own = try await query(
            "SELECT 1 FROM api_keys WHERE tenant_id = \(tenant) AND \(condition)")
        if !own.isEmpty { return true }
        transaction.setLater("app.tenant", UUID.platform.description)
        let platforms = try await query(
            "SELECT 1 FROM api_keys WHERE tenant_id = \(UUID.platform) AND \(condition)")
        transaction.setLater("app.tenant", tenant.description)
        return !platforms.isEmpty
    }

    /// Returns the join link that meets the condition, without locking its row. Since the link may
    /// change, its state is checked again when a use of the link is counted.
    func joinLink(where condition: SQL) async throws(PostgresError) -> JoinLinkFacts? {
        let rows = try await query(
            """
            SELECT \(JoinLinkRow.columns), \(inviterColumns("join_links.maker_type", "join_links.maker_id"))
            FROM join_links WHERE tenant_id = \(tenant) AND \(condition)
            """)
        guard let found = rows.first else { return nil }
        let row = try JoinLinkRow(found)
        var mayInvite =
            switch try await inviter(found, from: JoinLinkRow.end) {
            case .key: true
            case .person(let widest): widest != nil
            }
        if mayInvite, sameBytes(row.makerType, "key") {
            mayInvite = try await isLive(inviter: row.makerID)
        }
        return JoinLinkFacts(link: row.link, makerMayInvite: mayInvite)
    }
}

extension TenantScope {
    /// Returns the links. Links whose makers may no longer invite are shown as revoked: the key was
    /// revoked, or the operator or user was removed or lost the right to invite. The sign-up rules
    /// make the same decision when a person uses the link.
    func withLiveMakers(_ rows: [JoinLinkRow]) async throws(PostgresError) -> [JoinLinkRow] {
        let now = database.clock()
        let active = rows.filter { $0.link.status(at: now) == .active }
        if active.isEmpty { return rows }
        func makers(_ type: String) -> [UUID] {
            Set(active.filter { sameBytes($0.makerType, type) }.compactMap { UUID($0.makerID) })
                .sorted()
        }
        var live: Set<UUID> = try await liveOperators(makers("operator"))
        let keys = try await liveKeys(makers("key"))
        let users = try await liveUsers(makers("user") + keys.values.compactMap { $0 })
        live.formUnion(users)
        live.formUnion(keys.filter { $0.value.map(users.contains) ?? true }.keys)
        return rows.map { row in
            guard ["operator", "key", "user"].contains(where: { sameBytes($0, row.makerType) }),
                row.link.status(at: now) == .active,
                UUID(row.makerID).map({ !live.contains($0) }) ?? true
            else { return row }
            var row = row
            row.link.revokedAt = now
            return row
        }
    }

    private func liveOperators(_ ids: [UUID]) async throws(PostgresError) -> Set<UUID> {
        if ids.isEmpty { return [] }
        return try await Self.ids(
            database.readLaggingAsApp(
                """
                SELECT id FROM operators WHERE id = ANY (\(ids)) AND status = 'active'
                    AND role IN ('owner', 'admin', 'support')
                    AND (tenant_id IS NULL OR tenant_id = \(tenant))
                """))
    }

    /// Returns the keys that are not revoked and may still invite. The value for a key is the user
    /// who owns it; `nil` if no user does.
    private func liveKeys(_ ids: [UUID]) async throws(PostgresError) -> [UUID: UUID?] {
        if ids.isEmpty { return [:] }
        let rows = try await database.readLagging(
            """
            SELECT id, owner_user_id FROM api_keys
            WHERE tenant_id IN (\(tenant), \(UUID.platform)) AND id = ANY (\(ids))
                AND revoked_at IS NULL AND owner_deleted_at IS NULL
                AND \(ManagementScope.invitesWrite.rawValue) = ANY (scopes)
            """, in: nil)
        var found: [UUID: UUID?] = [:]
        for row in rows { found.updateValue(try row.get(1), forKey: try row.get(0)) }
        return found
    }

    private func liveUsers(_ ids: [UUID]) async throws(PostgresError) -> Set<UUID> {
        if ids.isEmpty { return [] }
        return try await Self.ids(
            readLagging(
                """
                SELECT m.id FROM unnest(\(ids)::uuid[]) AS m (id), LATERAL (
                    SELECT status, role FROM users WHERE tenant_id = \(tenant)
                        AND id = \(MergedUsers.survivor(of: "m.id", in: tenant)) OFFSET 0) AS u
                WHERE u.status = 'active' AND u.role IN ('manager', 'admin')
                """))
    }

    private static func ids(_ rows: Rows) throws(PostgresError) -> Set<UUID> {
        var found: Set<UUID> = []
        for row in rows { found.insert(try row.get(0)) }
        return found
    }
}

/// A join link and its tenant, as the link's public page shows them.
package struct OfferedJoinLink: Sendable {
    package var row: JoinLinkRow
    package var tenant: TenantRow

    /// Returns the code of the reason why the link admits no person, such as `join_revoked`; `nil`
    /// if the link works.
    package func fault(at now: Timestamp) -> String? {
        let status = row.link.status(at: now)
        guard status == .active else { return "join_\(status.rawValue)" }
        return tenant.status == .active ? nil : "tenant_\(tenant.status.rawValue)"
    }
}

extension Database {
    /// Returns the join link of a token, even if it no longer works. Does not count a use.
    package func joinLink(ofToken token: String) async throws -> OfferedJoinLink? {
        guard let id = try await tenant(ofToken: token) else { return nil }
        let scope = scope(id)
        let rows = try await scope.read(
            """
            SELECT \(JoinLinkRow.columns) FROM join_links
            WHERE tenant_id = \(id) AND token_hash = \(TenantToken.hash(token))
            """)
        guard let found = try rows.first.map(JoinLinkRow.init),
            let row = try await scope.withLiveMakers([found]).first,
            let tenant = try await scope.tenantRow()
        else { return nil }
        return OfferedJoinLink(row: row, tenant: tenant)
    }
}
