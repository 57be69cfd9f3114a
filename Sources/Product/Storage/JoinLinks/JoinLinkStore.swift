import Domain
import Postgres
import Text

extension TenantScope {
    /// Newest first, one row more than the page; those whose makers may no longer invite as revoked.
    package func joinLinks(_ list: ListQuery) async throws(PostgresError) -> ListPage<JoinLinkRow> {
        let statement = ListStatement(
            columns: JoinLinkRow.columns, source: "join_links WHERE tenant_id = \(tenant)",
            isWide: true)
        var page = try await readLagging(statement.page(list)).page(list, JoinLinkRow.init)
        page.rows = try await withLiveMakers(page.rows)
        return page
    }

    /// nil if the tenant has no such link.
    package func joinLink(_ id: UUID) async throws(PostgresError) -> JoinLinkRow? {
        let rows = try await read(
            """
            SELECT \(JoinLinkRow.columns) FROM join_links
            WHERE tenant_id = \(tenant) AND id = \(id)
            """)
        return try await withLiveMakers(rows.all(JoinLinkRow.init)).first
    }
}

extension Change {
    /// Makes a link and its token, which is shown once. 409 `sign_up_closed` if the policy is closed,
    /// 409 `conflict` if the tenant has as many live links as it may.
    package func makeJoinLink(
        _ request: JoinLinkRequest
    ) async throws -> (row: JoinLinkRow, token: String) {
        // The tenant's lock keeps another link from being counted out.
        guard try await lockPolicy().policy.signUp != .closed else {
            throw StorageFailure.conflict(
                code: "sign_up_closed", detail: "The tenant's policy is closed.", id: nil)
        }
        try await requireRoomForJoinLink()
        let token = TenantToken.make(locator: try await locator())
        let rows = try await query(
            """
            INSERT INTO join_links (tenant_id, id, token_hash, domains, max_uses, return_to,
                maker_type, maker_id, maker_name, expires_at, created_at, updated_at)
            VALUES (\(tenant), \(UUID.random()), \(TenantToken.hash(token)),
                \(request.domains)::text[], \(request.maxUses), \(request.returnTo),
                \(actor.type), \(actor.id), \(actor.name), \(request.expiresAt), \(now), \(now))
            RETURNING \(JoinLinkRow.columns)
            """)
        let row = try rows.only(JoinLinkRow.init)
        try await audit(.joinLinkCreated, row.target, row.creation)
        return (row, token)
    }

    private func requireRoomForJoinLink() async throws {
        let live = try await query(
            """
            SELECT count(*) FROM join_links WHERE tenant_id = \(tenant) AND revoked_at IS NULL
                AND expires_at > \(now) AND uses < max_uses
            """
        ).only { (row) throws(PostgresError) in try row.get(0, as: Int.self) }
        guard live >= JoinLink.mostLive else { return }
        throw StorageFailure.conflict(
            code: "conflict", detail: "\(live) join links are live already; revoke one first.",
            id: nil)
    }

    /// Ends a link for good; a second time changes nothing.
    package func revokeJoinLink(_ id: UUID) async throws -> JoinLinkRow {
        let found = try await lockJoinLink(id)
        guard found.link.revokedAt == nil else {
            alreadyApplied()
            return found
        }
        let revoked = try await query(
            """
            UPDATE join_links SET revoked_at = \(now), version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(id)
            RETURNING \(JoinLinkRow.columns)
            """
        ).only(JoinLinkRow.init)
        var changes = AuditChanges()
        changes.add("status", found.link.status(at: now).rawValue, "revoked")
        try await audit(.joinLinkRevoked, found.target, changes)
        return revoked
    }

    private func lockJoinLink(_ id: UUID) async throws -> JoinLinkRow {
        let rows = try await query(
            """
            SELECT \(JoinLinkRow.columns) FROM join_links
            WHERE tenant_id = \(tenant) AND id = \(id) FOR UPDATE
            """)
        guard let row = rows.first else { throw StorageFailure.notFound("join link") }
        return try JoinLinkRow(row)
    }
}
