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

    package init(
        text: String? = nil, status: String? = nil, role: String? = nil, provider: String? = nil
    ) {
        self.text = text
        self.status = status
        self.role = role
        self.provider = provider
    }
}

/// How the text is searched: few matches are fetched by the trigrams and then ordered; many are
/// met soon enough by walking the list's own order.
private enum TextSearch {
    case none
    case narrow([UUID])
    case broad(String)
}

/// A million users in a tenant: every list walks an index of the order it is asked for.
extension TenantScope {
    /// Beyond so many matches a search walks the list.
    private static let most = 2000

    /// One page, one row more than asked where there is a next one, and the count up to 10,001.
    package func users(
        _ list: ListQuery, _ filter: UserFilter
    ) async throws -> (rows: [UserRow], count: Int) {
        let condition = try await condition(filter)
        async let counted = read(
            "SELECT count(*) FROM (SELECT 1 FROM users \(condition) LIMIT 10001) AS capped")
        let found = try await read(Self.page(condition, list))
        let count = try await counted.only { row throws(PostgresError) in
            Int(try row.get(0, as: Int64.self))
        }
        return (try found.map { try UserRow($0) }, count)
    }

    /// The plan of the page's statement as PostgreSQL's JSON, for the tests of speed.
    package func explainUsers(_ list: ListQuery, _ filter: UserFilter) async throws -> String {
        let sql: SQL =
            "EXPLAIN (FORMAT JSON) \(Self.page(try await condition(filter), list))"
        return try await read(sql).only { row throws(PostgresError) in try row.get(0) }
    }

    package func user(_ id: UUID) async throws(PostgresError) -> UserRow? {
        let rows = try await read(
            "SELECT \(UserRow.columns) FROM users WHERE tenant_id = \(tenant) AND id = \(id)")
        return try rows.first.map(UserRow.init)
    }

    private static func page(_ condition: SQL, _ list: ListQuery) -> SQL {
        "SELECT \(UserRow.columns) FROM users \(condition)\(list.tail)"
    }

    private func condition(_ filter: UserFilter) async throws(PostgresError) -> SQL {
        var sql: SQL = "WHERE tenant_id = \(tenant)"
        if let status = filter.status {
            sql += " AND status = \(status)"
        } else {
            sql += " AND status <> 'deleted'"
        }
        if let role = filter.role { sql += " AND role = \(role)" }
        if let provider = filter.provider {
            sql += """
                 AND id IN (SELECT i.user_id FROM identities i
                WHERE i.tenant_id = \(tenant) AND i.provider = \(provider))
                """
        }
        switch try await search(filter.text) {
        case .none: break
        case .narrow(let ids): sql += " AND id = ANY (\(ids))"
        case .broad(let text):
            // Behind row-level security the planner takes any LIKE for rare; a CASE it takes for
            // even odds, and walks the index.
            sql += " AND CASE WHEN \(Self.matches(text)) THEN true ELSE false END"
        }
        return sql
    }

    private static func matches(_ text: String) -> SQL {
        let (start, word, part) = (text + "%", "% " + text + "%", "%" + text + "%")
        if text.unicodeScalars.count < 3 {
            return "(email_key LIKE \(start) OR ' ' || lower(name) LIKE \(word))"
        }
        return "email_key || ' ' || lower(coalesce(name, '')) LIKE \(part)"
    }

    private func search(_ text: String?) async throws(PostgresError) -> TextSearch {
        guard let lower = text?.lowercased() else { return .none }
        let escaped = Database.escapeLike(lower)
        let most = Self.most + 1
        let rows: Rows
        if lower.unicodeScalars.count < 3 {
            let (start, word) = (escaped + "%", "% " + escaped + "%")
            rows = try await read(
                """
                SELECT user_search_find(\(tenant), \(start), \(most)::integer)
                UNION SELECT user_search_find(\(tenant), \(word), \(most)::integer)
                """)
        } else {
            let part = "%" + escaped + "%"
            rows = try await read(
                "SELECT user_search_find(\(tenant), \(part), \(most)::integer)")
        }
        guard rows.count <= Self.most else { return .broad(escaped) }
        var ids: [UUID] = []
        for row in rows { ids.append(try row.get(0)) }
        return .narrow(ids)
    }
}
