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

    fileprivate func condition(in tenant: UUID) -> SQL {
        var sql: SQL = "tenant_id = \(tenant)"
        if let status {
            sql += " AND status = \(status)"
        } else {
            sql += " AND status <> 'deleted'"
        }
        if let role { sql += " AND role = \(role)" }
        if let provider {
            sql += """
                 AND id IN (SELECT i.user_id FROM identities i
                WHERE i.tenant_id = \(tenant) AND i.provider = \(provider))
                """
        }
        if let signedInSince { sql += " AND last_sign_in_at >= \(signedInSince)" }
        if let signedInUntil { sql += " AND last_sign_in_at < \(signedInUntil)" }
        if neverSignedIn { sql += " AND last_sign_in_at IS NULL" }
        return sql
    }
}

/// How a text is searched: few matches are fetched by the trigrams and then ordered; many are met
/// soon enough by walking the list's own order.
enum TextSearch: Sendable {
    case none
    case narrow([UUID])
    /// With some of the matches: their count is the least that the list has.
    case broad(String, some: [UUID])
}

/// A million users in a tenant: every list walks an index of the order it is asked for.
extension TenantScope {
    package func users(
        _ list: ListQuery, _ filter: UserFilter
    ) async throws(PostgresError) -> ListPage<UserRow> {
        let search = try await search(filter.text)
        let rows = try await read(userList(filter, search, list))
        var found: [UserRow] = []
        for row in rows {
            if let last = found.indices.last, try row.get(0) == found[last].id {
                if let identity = try IdentityRow(row) { found[last].identities.append(identity) }
            } else {
                found.append(try UserRow(row, identity: IdentityRow(row)))
            }
        }
        var total = try rows.total(list)
        if case .broad = search, list.total == nil { total.exact = false }
        return ListPage(found, list, total: total)
    }

    package func user(_ id: UUID) async throws(PostgresError) -> UserRow? {
        let rows = try await read(
            "SELECT \(UserRow.columns) FROM users WHERE tenant_id = \(tenant) AND id = \(id)")
        return try rows.first.map(UserRow.init)
    }

    /// The page first, then its users' sign-ins, one row each: a document of sign-ins for every
    /// user costs the database more than all the rest.
    func userList(_ filter: UserFilter, _ search: TextSearch, _ list: ListQuery) -> SQL {
        let condition = filter.condition(in: tenant)
        var source: SQL = "users WHERE \(condition)"
        var counted = source
        switch search {
        case .none: break
        case .narrow(let ids):
            source += " AND id = ANY (\(ids))"
            counted = source
        case .broad(let text, let some):
            // Behind row-level security the planner takes any LIKE for rare; a CASE it takes for
            // even odds, and walks the index.
            source += " AND CASE WHEN \(Self.matches(text)) THEN true ELSE false END"
            counted += " AND id = ANY (\(some))"
        }
        let counting = ListStatement(columns: "", source: counted).counting(list)
        return """
            SELECT \(UserRow.ownColumns), \(IdentityRow.columns)\(counting)
            FROM (SELECT * FROM \(source)\(list.tail)) AS users
            LEFT JOIN identities i ON i.tenant_id = \(tenant) AND i.user_id = users.id
            \(list.order(of: "users.")), i.created_at, i.id
            """
    }

    private static func matches(_ text: String) -> SQL {
        let (start, word, part) = (text + "%", "% " + text + "%", "%" + text + "%")
        if text.unicodeScalars.count < 3 {
            return "(email_key LIKE \(start) OR ' ' || lower(name) LIKE \(word))"
        }
        return "email_key || ' ' || lower(coalesce(name, '')) LIKE \(part)"
    }

    /// Asks the database for so many matches that it either gives all or the text is broad. At
    /// this number both ways of making a page cost the same at a million users.
    func search(_ text: String?) async throws(PostgresError) -> TextSearch {
        guard let lower = text?.lowercased() else { return .none }
        let most = 4000
        let escaped = Database.escapeLike(lower)
        let isPrefix = lower.unicodeScalars.count < 3
        let patterns = isPrefix ? [escaped + "%", "% " + escaped + "%"] : ["%" + escaped + "%"]
        let rows = try await read(
            "SELECT user_search_matches(\(tenant), \(patterns), \(most + 1)::integer)")
        var ids: [UUID] = []
        ids.reserveCapacity(rows.count)
        for row in rows { ids.append(try row.get(0)) }
        return ids.count > most ? .broad(escaped, some: ids) : .narrow(ids)
    }
}
