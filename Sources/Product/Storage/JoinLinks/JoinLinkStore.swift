import Domain
import Postgres
import Text

/// A join link as stored, with only a hash of its token.
package struct JoinLinkRow: ListedRow {
    package var link: JoinLink
    /// Where the link's page redirects at the end: a redirect address of one of the tenant's
    /// clients; `nil` for none.
    package var returnTo: String?
    /// The type of the actor who made the link, such as `operator` or `key`.
    package var makerType: String
    /// The id of the actor who made the link, as text.
    package var makerID: String
    /// The name of the actor who made the link, as it was at that time.
    package var makerName: String
    /// The version, which increases with each change; the ETag is made from it.
    package var version: Int
    package var createdAt: Timestamp

    package var id: UUID { link.id }

    static let columns: SQL =
        """
        id, tenant_id, domains, max_uses, uses, expires_at, revoked_at, return_to, maker_type,
        maker_id, maker_name, version, created_at
        """

    /// The number of columns in `columns`. In a selected row, further columns begin at this index.
    static let end = 13

    init(_ row: Row) throws(PostgresError) {
        link = JoinLink(
            id: try row.get(0), tenantID: try row.get(1), domains: try row.get(2),
            maxUses: try row.get(3), uses: try row.get(4), expiresAt: try row.get(5),
            revokedAt: try row.get(6, as: Timestamp?.self))
        returnTo = try row.get(7, as: String?.self)
        (makerType, makerID, makerName) = (try row.get(8), try row.get(9), try row.get(10))
        version = try row.get(11)
        createdAt = try row.get(12)
    }

    /// The values to show in the audit event about the link's creation.
    var creation: AuditChanges {
        var changes = AuditChanges()
        changes.add("max_uses", nil, "\(link.maxUses)")
        changes.add("expires_at", nil, link.expiresAt.description)
        if !link.domains.isEmpty {
            changes.add("domains", nil, link.domains.joined(separator: " "))
        }
        return changes
    }

    var target: AuditTarget { AuditTarget("join_link", id, id.description) }
}

/// A request to make a join link. Its values have been checked already.
package struct JoinLinkRequest: Sendable {
    /// The email domains that the link admits, as A-labels; empty for every domain.
    var domains: [String]
    var maxUses: Int
    /// The time from which the link no longer works.
    var expiresAt: Timestamp
    /// The address to which the link's page redirects at the end, checked against the tenant's
    /// clients; `nil` for none.
    var returnTo: String?

    /// If `returnTo` is nil, the page does not redirect.
    package init(domains: [String], maxUses: Int, expiresAt: Timestamp, returnTo: String?) {
        self.domains = domains
        self.maxUses = maxUses
        self.expiresAt = expiresAt
        self.returnTo = returnTo
    }
}

extension TenantScope {
    /// Returns one page of links, by default the newest first. Links whose makers may no longer
    /// invite are shown as revoked.
    package func joinLinks(_ list: ListQuery) async throws(PostgresError) -> ListPage<JoinLinkRow> {
        let statement = ListStatement(
            columns: JoinLinkRow.columns, source: "join_links WHERE tenant_id = \(tenant)",
            isWide: true)
        var page = try await readLagging(statement.page(list)).page(list, JoinLinkRow.init)
        page.rows = try await withLiveMakers(page.rows)
        return page
    }

    /// Returns the link; `nil` if the tenant has no such link.
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
    /// Creates a link and its token, which cannot be shown again. Throws 409 `sign_up_closed` if
    /// the policy is closed. Throws 409 `conflict` if the tenant has reached its limit of live
    /// links.
    package func makeJoinLink(
        _ request: JoinLinkRequest
    ) async throws -> (row: JoinLinkRow, token: String) {
        // Locks the tenant: otherwise the count could miss a link that a concurrent request makes.
        guard try await lockPolicy().policy.signUp != .closed else {
            throw StorageFailure.conflict(
                code: "sign_up_closed",
                detail: "The tenant's policy has `sign_up` set to `closed`.", id: nil)
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
            code: "conflict",
            detail: "The tenant already has \(live) active join links; revoke one first.",
            id: nil)
    }

    /// Revokes a link. Revoking it again changes nothing.
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

extension TenantScope {
    /// Returns the address to which the page of an invite or a join link redirects at the end;
    /// `nil` if there is none, or if it no longer belongs to the tenant's clients.
    package func returnAddress(of token: BroughtToken) async throws(PostgresError) -> String? {
        let sql: SQL =
            switch token {
            case .invite(let hash):
                "SELECT return_to FROM invites WHERE tenant_id = \(tenant) AND token_hash = \(hash)"
            case .join(let hash):
                "SELECT return_to FROM join_links WHERE tenant_id = \(tenant) AND token_hash = \(hash)"
            }
        let rows = try await read(sql)
        return try await listed(rows.first?.get(0, as: String?.self) ?? nil)
    }

    /// Returns the address to which the page of a password reset redirects at the end; `nil` if
    /// there is none, or if it no longer belongs to the tenant's clients.
    package func returnAddress(ofReset token: String) async throws(PostgresError) -> String? {
        let rows = try await read(
            """
            SELECT return_to FROM password_resets
            WHERE tenant_id = \(tenant) AND token_hash = \(TenantToken.hash(token))
            """)
        return try await listed(rows.first?.get(0, as: String?.self) ?? nil)
    }

    private func listed(_ address: String?) async throws(PostgresError) -> String? {
        guard let address else { return nil }
        return try await returnAddresses().contains { sameBytes($0, address) } ? address : nil
    }

    /// Returns the redirect addresses of the tenant's enabled clients.
    package func returnAddresses() async throws(PostgresError) -> [String] {
        let rows = try await read(
            """
            SELECT DISTINCT unnest(redirect_uris) FROM clients
            WHERE tenant_id = \(tenant) AND enabled
            """)
        return try rows.all { row throws(PostgresError) in try row.get(0) }
    }
}
