import Postgres
import Text

/// Which users a list is asked for; nil members do not filter.
package struct UserFilter: Sendable {
    /// Part of the address or the name; under three characters a beginning.
    package var text: String?
    /// Nil: all but the deleted.
    package var status: String?
    package var role: String?
    package var provider: String?
    /// The last sign-in: not before, and before.
    package var signedInSince: Timestamp?
    package var signedInUntil: Timestamp?
    /// True: those who never signed in.
    package var neverSignedIn = false

    package init(
        text: String? = nil, status: String? = nil, role: String? = nil, provider: String? = nil
    ) {
        self.text = text
        self.status = status
        self.role = role
        self.provider = provider
    }

    /// What the users' own columns say; the text and the provider are `UserSearch`'s.
    fileprivate func condition(in tenant: UUID) -> SQL {
        var sql: SQL = "tenant_id = \(tenant)"
        if let status {
            sql += " AND status = \(status)"
        } else {
            sql += " AND status <> 'deleted'"
        }
        if let role { sql += " AND role = \(role)" }
        if let signedInSince { sql += " AND last_sign_in_at >= \(signedInSince)" }
        if let signedInUntil { sql += " AND last_sign_in_at < \(signedInUntil)" }
        if neverSignedIn { sql += " AND last_sign_in_at IS NULL" }
        return sql
    }
}

/// A million users in a tenant: every list walks an index of the order it is asked for.
extension TenantScope {
    /// How many matches of a frequent text are fetched at once.
    private static let most = 2000

    /// A frequent text is met soon by walking the list, unless all who have it came in together,
    /// far off: then they are fetched by their text, in the list's order. A filter that leaves few
    /// of those takes the walk to its end.
    package func users(
        _ list: ListQuery, _ filter: UserFilter, walking most: Int = 20_000
    ) async throws(PostgresError) -> ListPage<UserRow> {
        let search = try await search(filter)
        var rows = try await read(userList(filter, search, list, walking: most))
        var found = try Self.users(rows)
        if let text = search.frequent, found.count < list.fetched {
            var other = search
            other.frequent = nil
            let together = try await matches(of: text, in: list, Self.most)
            other.ids.append(together)
            rows = try await read(userList(filter, other, list))
            found = try Self.users(rows)
            if found.count < list.fetched, together.count == Self.most {
                other.ids.removeLast()
                other.conditions.append(text.condition)
                rows = try await read(userList(filter, other, list))
                found = try Self.users(rows)
            }
        }
        var total = try rows.total(list)
        if search.some != nil, list.total == nil { total.exact = false }
        return ListPage(found, list, total: total)
    }

    package func user(_ id: UUID) async throws(PostgresError) -> UserRow? {
        let rows = try await read(
            "SELECT \(UserRow.columns) FROM users WHERE tenant_id = \(tenant) AND id = \(id)")
        return try rows.first.map(UserRow.init)
    }

    /// The page first, then its users' sign-ins, one row each: a document of sign-ins for every
    /// user costs the database more than all the rest.
    func userList(
        _ filter: UserFilter, _ search: UserSearch, _ list: ListQuery, walking most: Int = 20_000
    ) -> SQL {
        let own: SQL = "users WHERE \(filter.condition(in: tenant))"
        var source = own
        for ids in search.ids { source += " AND id = ANY (\(ids))" }
        for condition in search.conditions { source += condition }
        let counted = search.some.map { own + " AND id = ANY (\($0))" } ?? source
        let counting = ListStatement(columns: "", source: counted).counting(list)
        var page: SQL = "SELECT * FROM \(source)\(list.tail)"
        if let text = search.frequent {
            var walk = list
            walk.limit = most
            page = """
                SELECT * FROM (SELECT * FROM \(source)\(walk.tail)) AS users
                WHERE true\(text.condition) LIMIT \(raw: "\(list.fetched)")
                """
        }
        return """
            SELECT \(UserRow.ownColumns), \(IdentityRow.columns)\(counting)
            FROM (\(page)) AS users
            LEFT JOIN identities i ON i.tenant_id = \(tenant) AND i.user_id = users.id
            \(list.order(of: "users.")), i.created_at, i.id
            """
    }

    /// Out of `userList`: a user stands in as many rows as there are sign-ins.
    private static func users(_ rows: Rows) throws(PostgresError) -> [UserRow] {
        var found: [UserRow] = []
        for row in rows {
            if let last = found.indices.last, try row.get(0) == found[last].id {
                if let identity = try IdentityRow(row) { found[last].identities.append(identity) }
            } else {
                found.append(try UserRow(row, identity: IdentityRow(row)))
            }
        }
        return found
    }
}
