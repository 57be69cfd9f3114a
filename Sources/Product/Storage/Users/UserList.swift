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
    ) async throws(PostgresError) -> ListPage<ListedUser> {
        try await page(
            of: userList(filter), try await search(filter), list, walking: most
        ) { rows throws(PostgresError) in try ListedUser.all(rows, of: tenant) }
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
    /// in the page's order. Most tenants have no merged users, which one look-up shows.
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
            SELECT \(ListedUser.columns), \(ListedIdentity.columns),
                CASE WHEN EXISTS (SELECT FROM merged_users WHERE tenant_id = \(tenant))
                    THEN \(MergedUsers.ids(in: tenant)) END,
                users.join_link_id, users.keep\(counting)
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

/// A user of a list, with identities from oldest to newest, read directly from the database's
/// response.
package struct ListedUser: ListedRow {
    private let rows: Rows
    /// The user's rows: one for each identity, and at least one.
    private let range: Range<Int>
    private let row: Row

    static let columns: SQL =
        """
        users.id, users.email, users.email_key, users.email_verified_at, users.name, users.role,
        users.status, users.source, users.created_at, users.updated_at, users.last_sign_in_at,
        users.external_id, users.public_attributes, users.private_attributes
        """

    /// The listing tenant; not read from the row.
    package let tenant: UUID
    package let id: UUID
    /// The address as the person wrote it; lists sort by its normalised key.
    package var email: StoredText { StoredText(of: row, 1) }
    package var emailVerifiedAt: Timestamp? { row.timestamp(3) }
    package var name: StoredText? { StoredText(row, 4) }
    package var role: StoredText { StoredText(of: row, 5) }
    package var status: StoredText { StoredText(of: row, 6) }
    /// A `User.Source` raw value: what created the row.
    package var source: StoredText { StoredText(of: row, 7) }
    /// Never NULL: `check` refuses such a result.
    package var createdAt: Timestamp { row.timestamp(8) ?? Timestamp(microseconds: 0) }
    /// Never NULL: `check` refuses such a result.
    package var updatedAt: Timestamp { row.timestamp(9) ?? Timestamp(microseconds: 0) }
    package var lastSignInAt: Timestamp? { row.timestamp(10) }
    /// The user's id in the customer's own system.
    package var externalID: StoredText? { StoredText(row, 11) }
    package var publicAttributes: StoredText { StoredText(of: row, 12) }
    package var privateAttributes: StoredText { StoredText(of: row, 13) }
    /// From oldest to newest; empty for a user without identities. Decoded on access.
    package var identities: LazyMapCollection<Range<Int>, ListedIdentity> {
        let isWithout = row.bytes(ListedIdentity.first) == nil
        return (isWithout ? range.upperBound..<range.upperBound : range)
            .lazy.map { ListedIdentity(rows[$0]) }
    }

    /// The ids of users who were merged into this one.
    package var mergedIDs: [UUID] {
        MergedUsers.list(StoredText(row, ListedIdentity.end)?.string)
    }

    /// The join link that admitted the user; `nil` if none did.
    package var joinLinkID: UUID? { row.uuid(ListedIdentity.end + 1) }

    /// Whether the inactivity rule leaves the user alone. Never NULL: `check` refuses such a
    /// result.
    package var isKept: Bool { (try? row.get(ListedIdentity.end + 2, as: Bool.self)) ?? false }

    /// The cursor's value: the email key, or the time in microseconds since 1970.
    package func value(of sort: ListQuery.Sort) -> String {
        switch sort {
        case .email: StoredText(of: row, 2).string
        case .lastSignIn: lastSignInAt.map { "\($0.microseconds)" } ?? ListQuery.never
        default: "\(createdAt.microseconds)"
        }
    }

    /// Decodes the rows of `TenantScope.userList`, where a user has as many rows as identities.
    static func all(_ rows: Rows, of tenant: UUID) throws(PostgresError) -> [ListedUser] {
        guard let first = rows.first else { return [] }
        // A column has one type in all rows, so what decodes in the first row decodes in each.
        try check(first)
        var users: [ListedUser] = []
        var row = first
        var id: UUID = try row.get(0)
        var start = 0
        for index in 1...rows.count {
            let next = index < rows.count ? rows[index] : nil
            let nextID = next?.uuid(0)
            if nextID == id { continue }
            users.append(
                ListedUser(rows: rows, range: start..<index, row: row, tenant: tenant, id: id))
            guard let next, let nextID else { break }
            (row, id, start) = (next, nextID, index)
        }
        return users
    }

    private static func check(_ row: Row) throws(PostgresError) {
        for column in [1, 2, 5, 6, 7, 12, 13] { _ = try row.get(column, as: String.self) }
        for column in [8, 9] { _ = try row.get(column, as: Timestamp.self) }
        for column in [3, 10] { _ = try row.get(column, as: Timestamp?.self) }
        for column in [4, 11] { _ = try row.get(column, as: String?.self) }
        try ListedIdentity.check(row)
        _ = try row.get(ListedIdentity.end + 2, as: Bool.self)
    }
}

/// An identity of a listed user.
package struct ListedIdentity: Sendable {
    /// Their index after the user's columns; NULL if there is no identity.
    static let first = 14
    /// The index after these columns, where the ids of merged users, the join link's id and `keep`
    /// follow.
    static let end = 25
    private let row: Row

    static let columns: SQL =
        """
        i.id AS i1, i.provider, i.issuer, i.subject, i.email AS i2, i.created_at AS i3,
        i.last_used_at, i.email_vouched, i.alias_count, i.linked_by_type, i.linked_by_id
        """

    init(_ row: Row) { self.row = row }

    package var id: UUID { row.uuid(Self.first) ?? .platform }
    /// A `ProviderKind` raw value.
    package var provider: StoredText { StoredText(of: row, 15) }
    /// For a pool: its id, with `/upstream` for an unmapped upstream.
    package var issuer: StoredText { StoredText(of: row, 16) }
    package var subject: StoredText { StoredText(of: row, 17) }
    /// The address as the provider gave it, which may not be the user's; `nil` if there is none.
    package var email: StoredText? { StoredText(row, 18) }
    /// When it was linked to the user.
    package var createdAt: Timestamp { row.timestamp(19) ?? Timestamp(microseconds: 0) }
    package var lastUsedAt: Timestamp? { row.timestamp(20) }
    /// How many `sub`s of a pool are bound to the identity.
    package var aliasCount: Int { (try? row.get(22, as: Int?.self)) ?? 0 }
    /// The type of the actor who linked it; `nil` if a rule or the user did.
    package var linkedByType: StoredText? { StoredText(row, 23) }
    /// The id of the actor who linked it; `nil` if a rule or the user did.
    package var linkedByID: StoredText? { StoredText(row, 24) }

    /// Whether the provider was trusted for the address when it was linked.
    package var isEmailTrusted: Bool { (try? row.get(21, as: Bool?.self)) ?? false }

    fileprivate static func check(_ row: Row) throws(PostgresError) {
        _ = try row.get(first, as: UUID?.self)
        for column in 15...18 { _ = try row.get(column, as: String?.self) }
        for column in 23...24 { _ = try row.get(column, as: String?.self) }
        for column in 19...20 { _ = try row.get(column, as: Timestamp?.self) }
        _ = try row.get(22, as: Int?.self)
    }
}
