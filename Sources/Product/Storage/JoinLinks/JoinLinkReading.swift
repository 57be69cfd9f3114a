import Domain
import Postgres
import Text

/// The hash of the token that a page passes on when a sign-in begins there.
package enum BroughtToken: Sendable, Equatable {
    case invite([UInt8])
    case join([UInt8])

    var inviteHash: [UInt8]? { if case .invite(let hash) = self { hash } else { nil } }
    var joinHash: [UInt8]? { if case .join(let hash) = self { hash } else { nil } }
}

extension Change {
    /// Whether the key, of this tenant or of the platform, was not revoked and may still invite.
    /// Its expiry needs no check, since its links expire with it.
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

    /// The join link of a token or of a reservation, without a lock: taking a place checks it
    /// again.
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
    /// The links, showing as revoked those whose makers may no longer invite. The rules find the
    /// same when a person comes by a link: its maker is a revoked key, or an operator or user who
    /// was removed or demoted.
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

    /// The keys that are live, with the users who own them.
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

/// A join link with its tenant, as its page shows it.
package struct OfferedJoinLink: Sendable {
    package var row: JoinLinkRow
    package var tenant: TenantRow

    /// Why the link admits no one, such as `join_revoked`; `nil` if it is live.
    package func fault(at now: Timestamp) -> String? {
        let status = row.link.status(at: now)
        guard status == .active else { return "join_\(status.rawValue)" }
        return tenant.status == .active ? nil : "tenant_\(tenant.status.rawValue)"
    }
}

extension Database {
    /// The link of a token, live or not. Does not use it up.
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
