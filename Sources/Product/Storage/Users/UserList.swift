import Domain
import Postgres
import Text

/// The filters of a list of users. A nil member admits all users.
package struct UserFilter: Sendable {
    /// The text to find in the address and the name. A text of under three characters is found only
    /// at the beginning of a word. The search runs before the list is read.
    var text: String?
    /// The only users to include, even if they are deleted.
    package var ids: [UUID]?
    /// The status. If it is `nil`, all users except deleted ones are included.
    var status: User.Status?
    package var role: UserRole?
    /// A `ProviderKind` raw value: only users with such an identity.
    var provider: String?
    /// The user's id in the customer's own system.
    package var externalID: String?
    /// Values that indexed attributes must have, in the form of the index.
    package var attributes: [(name: String, value: String)] = []
    /// The earliest time of the creation, inclusive.
    package var createdSince: Timestamp?
    /// The latest time of the creation, exclusive.
    package var createdUntil: Timestamp?
    /// The earliest time of the last sign-in, inclusive.
    package var signedInSince: Timestamp?
    /// The latest time of the last sign-in, exclusive.
    package var signedInUntil: Timestamp?
    /// Whether to include only users who have never signed in.
    package var neverSignedIn = false
    /// Whether to include only people who asked to join and wait for an operator's approval.
    package var awaitingApproval = false

    /// Sets these filters; the others admit all users.
    package init(
        text: String? = nil, status: User.Status? = nil, role: UserRole? = nil,
        provider: String? = nil
    ) {
        self.text = text
        self.status = status
        self.role = role
        self.provider = provider
    }

    /// Whether the filters admit most users. The text and the other filters that are searched
    /// before the list is read are not considered.
    fileprivate var isWide: Bool {
        status == nil && role == nil && createdSince == nil && createdUntil == nil
            && signedInSince == nil && signedInUntil == nil && !neverSignedIn && !awaitingApproval
    }

    /// The conditions on the columns of `users`. Filters that are searched before the list is read,
    /// such as the text and the provider, are not included.
    fileprivate func condition(in tenant: UUID) -> SQL {
        var sql: SQL = "tenant_id = \(tenant)"
        if let status {
            sql += " AND status = \(status)"
        } else if ids == nil {
            sql += " AND status <> 'deleted'"
        }
        if let role { sql += " AND role = \(role)" }
        if let createdSince { sql += " AND created_at >= \(createdSince)" }
        if let createdUntil { sql += " AND created_at < \(createdUntil)" }
        if let signedInSince { sql += " AND last_sign_in_at >= \(signedInSince)" }
        if let signedInUntil { sql += " AND last_sign_in_at < \(signedInUntil)" }
        if neverSignedIn { sql += " AND last_sign_in_at IS NULL" }
        if awaitingApproval { sql += " AND status = 'pending' AND source = 'approval'" }
        return sql
    }
}

/// Lists of users. They are designed for a million users per tenant: every list walks an index in
/// the order of the list.
extension TenantScope {
    /// One page of users. `most` replaces the usual number of rows that are scanned for a text that
    /// many users match.
    package func users(
        _ list: ListQuery, _ filter: UserFilter, walking most: Int? = nil
    ) async throws(PostgresError) -> ListPage<UserRow> {
        try await page(
            of: userList(filter), try await search(filter), list, walking: most
        ) { rows throws(PostgresError) in try UserRow.list(rows) }
    }

    /// The user, even if deleted; `nil` if the tenant has no such user.
    package func user(_ id: UUID) async throws(PostgresError) -> UserRow? {
        let rows = try await read(
            "SELECT \(UserRow.columns(of: tenant)) FROM users WHERE tenant_id = \(tenant) AND id = \(id)"
        )
        return try rows.first.map(UserRow.init)
    }

    /// Selects the users of the page, then one row for each identity of theirs, in the page's
    /// order. Aggregating the identities into one document per user would cost the database more
    /// than everything else. OFFSET 0 forces a look-up of the identities for each user: PostgreSQL
    /// considers a join with all identities of a tenant cheap, which is wrong for a million users.
    func userList(_ filter: UserFilter) -> SearchedList {
        let tenant = tenant
        // Use a collation that ignores case in every script only if the text is not ASCII, since
        // that collation is slower. The database's own locale may ignore case only in ASCII.
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
        // If few users can match, the total is counted exactly, so the sample is dropped.
        if !search.ids.isEmpty, search.frequent == nil { search.some = nil }
        return search
    }

    /// The users with this external id: the one who is not deleted, if there is one, and the newest
    /// deleted ones.
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
        // As a value inside a CASE, the subquery stays a look-up for each scanned user. PostgreSQL
        // may turn EXISTS into a join with all identities.
        search.conditions.append(
            """
             AND CASE WHEN (SELECT true FROM identities i WHERE i.tenant_id = \(tenant)
                AND i.user_id = users.id AND i.provider = \(provider) LIMIT 1)
                THEN true ELSE false END
            """)
    }
}
