import Domain
import Postgres
import Text

/// The filters of a list of users; a nil member does not filter.
package struct UserFilter: Sendable {
    /// A part of the address or the name; under three characters, a prefix. Searched first.
    package var text: String?
    /// Only these users; deleted ones are then included.
    package var ids: [UUID]?
    /// `nil` for all except deleted users, who are only included by id.
    package var status: User.Status?
    package var role: UserRole?
    /// A `ProviderKind` raw value, for users with at least one such identity.
    package var provider: String?
    /// The user's id in the customer's own system.
    package var externalID: String?
    /// Indexed attributes and the values to find, as index words.
    package var attributes: [(name: String, value: String)] = []
    /// The earliest time of the last sign-in.
    package var signedInSince: Timestamp?
    /// Exclusive.
    package var signedInUntil: Timestamp?
    /// Only users who have never signed in.
    package var neverSignedIn = false
    /// Only people who asked to join and wait for an operator's approval.
    package var awaitingApproval = false

    /// The other filters start unset.
    package init(
        text: String? = nil, status: User.Status? = nil, role: UserRole? = nil,
        provider: String? = nil
    ) {
        self.text = text
        self.status = status
        self.role = role
        self.provider = provider
    }

    /// Whether most users pass, apart from the text and the filters that are searched first.
    fileprivate var isWide: Bool {
        status == nil && role == nil && signedInSince == nil && signedInUntil == nil
            && !neverSignedIn && !awaitingApproval
    }

    /// The conditions on the users' own columns. The text and the provider are searched first.
    fileprivate func condition(in tenant: UUID) -> SQL {
        var sql: SQL = "tenant_id = \(tenant)"
        if let status {
            sql += " AND status = \(status)"
        } else if ids == nil {
            sql += " AND status <> 'deleted'"
        }
        if let role { sql += " AND role = \(role)" }
        if let signedInSince { sql += " AND last_sign_in_at >= \(signedInSince)" }
        if let signedInUntil { sql += " AND last_sign_in_at < \(signedInUntil)" }
        if neverSignedIn { sql += " AND last_sign_in_at IS NULL" }
        if awaitingApproval { sql += " AND status = 'pending' AND source = 'approval'" }
        return sql
    }
}

/// Designed for a million users per tenant: every list walks an index in its own order.
extension TenantScope {
    /// One page. `walking` sets how many rows are scanned for a frequent text, instead of the usual
    /// number.
    package func users(
        _ list: ListQuery, _ filter: UserFilter, walking most: Int? = nil
    ) async throws(PostgresError) -> ListPage<UserRow> {
        try await page(
            of: userList(filter), try await search(filter), list, walking: most
        ) { rows throws(PostgresError) in try UserRow.list(rows) }
    }

    /// The user, also a deleted one while the row exists; `nil` if the tenant has no such user.
    package func user(_ id: UUID) async throws(PostgresError) -> UserRow? {
        let rows = try await read(
            "SELECT \(UserRow.columns(of: tenant)) FROM users WHERE tenant_id = \(tenant) AND id = \(id)"
        )
        return try rows.first.map(UserRow.init)
    }

    /// Selects the page first, then its users' identities, one row each: aggregating the identities
    /// of a user into one document costs the database more than everything else. OFFSET 0 forces a
    /// look-up for each user of the page: the planner considers a join with all of a tenant's
    /// identities cheap because most tenants are small, but with a million it is not. The rows come
    /// in the page's order.
    func userList(_ filter: UserFilter) -> SearchedList {
        let tenant = tenant
        // The database's locale may know only ASCII; comparing letters of every script costs more.
        let isASCII = filter.text?.utf8.allSatisfy { $0 < 0x80 } ?? true
        let letters: SQL = isASCII ? "" : #" COLLATE "und-x-icu""#
        return SearchedList(
            name: .users, tenant: tenant,
            content: "email_key || ' ' || lower(coalesce(name, '')\(letters))",
            searched: "email_key, name",
            condition: filter.condition(in: tenant), isWide: filter.isWide
        ) { page, counting, list in
            """
            SELECT \(UserRow.listed(in: tenant))\(counting)
            FROM (\(page)) AS users
            LEFT JOIN LATERAL (SELECT * FROM identities WHERE tenant_id = \(tenant)
                AND user_id = users.id ORDER BY created_at, id OFFSET 0) AS i ON true
            \(list.order(of: "users."))
            """
        }
    }

    func search(_ filter: UserFilter) async throws(PostgresError) -> ListSearch {
        var search = try await search(filter.text, in: .users)
        if let ids = filter.ids { search.ids.append(ids) }
        if let externalID = filter.externalID {
            search.ids.append(try await users(withExternalID: externalID))
        }
        if let provider = filter.provider { try await look(forProvider: provider, &search) }
        for attribute in filter.attributes { try await look(for: attribute, &search) }
        if let ids = filter.ids.map(Set.init) { search.some = search.some?.filter(ids.contains) }
        // If there are few rows, the rows themselves are counted.
        if !search.ids.isEmpty, search.frequent == nil { search.some = nil }
        return search
    }

    /// The live user, if there is one, and the deleted users.
    private func users(withExternalID id: String) async throws(PostgresError) -> [UUID] {
        let rows = try await readLagging(
            """
            SELECT id FROM users
            WHERE tenant_id = \(tenant) AND external_id = \(id) AND status <> 'deleted'
            UNION ALL (SELECT id FROM users
                WHERE tenant_id = \(tenant) AND external_id = \(id)
                    AND \(SQL.unindexed("status")) = 'deleted'
                ORDER BY created_at DESC LIMIT \(raw: "\(Self.few)"))
            """)
        var ids: [UUID] = []
        for row in rows { ids.append(try row.get(0)) }
        return ids
    }

    private func look(
        forProvider provider: String, _ search: inout ListSearch
    ) async throws(PostgresError) {
        let rows = try await readLagging(
            """
            SELECT user_id FROM identities WHERE tenant_id = \(tenant) AND provider = \(provider)
                AND user_id IS NOT NULL
            LIMIT \(raw: "\(Self.few + 1)")
            """)
        var ids: [UUID] = []
        ids.reserveCapacity(rows.count)
        for row in rows { ids.append(try row.get(0)) }
        if ids.count <= Self.few { return search.ids.append(ids) }
        if search.some == nil { search.some = ids }
        // As a value inside a CASE it remains a look-up for each scanned user. EXISTS may become a
        // full join, or a hash of all identities.
        search.conditions.append(
            """
             AND CASE WHEN (SELECT true FROM identities i WHERE i.tenant_id = \(tenant)
                AND i.user_id = users.id AND i.provider = \(provider) LIMIT 1)
                THEN true ELSE false END
            """)
    }
}
