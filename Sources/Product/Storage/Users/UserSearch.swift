import Postgres
import Text

/// How a text and a provider are looked for: who is few is fetched by id and then ordered; who is
/// many is met soon enough by walking the list's own order.
struct UserSearch: Sendable {
    /// Everybody of each kind, where they are few.
    var ids: [[UUID]] = []
    /// Conditions that many fulfil, each with its AND.
    var conditions: [SQL] = []
    /// A text that many have.
    var frequent: SearchedText?
    /// Some of the many: the list has at least those of them whom the filter leaves.
    var some: [UUID]?
}

/// The words of a search as patterns for LIKE.
struct SearchedText: Sendable {
    let patterns: [String]

    /// Under three characters the beginning of the address or of a word of the name.
    init(_ text: String) {
        let escaped = Database.escapeLike(text.lowercased())
        let isPrefix = text.unicodeScalars.count < 3
        patterns = isPrefix ? [escaped + "%", "% " + escaped + "%"] : ["%" + escaped + "%"]
    }

    /// Behind row-level security the planner takes any LIKE for rare; a CASE it takes for even
    /// odds, and walks the index.
    var condition: SQL {
        let content: SQL = "email_key || ' ' || lower(coalesce(name, ''))"
        return " AND CASE WHEN \(content) LIKE ANY (\(patterns)) THEN true ELSE false END"
    }
}

extension TenantScope {
    /// Beyond so many a set of users is many: at a million users both ways of making a page then
    /// cost about the same.
    private static let few = 4000

    func search(_ filter: UserFilter) async throws(PostgresError) -> UserSearch {
        var search = UserSearch()
        if let text = filter.text { try await look(for: SearchedText(text), &search) }
        if let provider = filter.provider { try await look(forProvider: provider, &search) }
        return search
    }

    /// A NULL among the matches says that there are more.
    private func look(
        for text: SearchedText, _ search: inout UserSearch
    ) async throws(PostgresError) {
        let rows = try await read(
            "SELECT user_search_matches(\(tenant), \(text.patterns), \(Self.few)::integer)")
        var ids: [UUID] = []
        ids.reserveCapacity(rows.count)
        for row in rows {
            if let id = try row.get(0, as: UUID?.self) { ids.append(id) }
        }
        if ids.count == rows.count {
            search.ids.append(ids)
        } else {
            search.frequent = text
            search.some = ids
        }
    }

    private func look(
        forProvider provider: String, _ search: inout UserSearch
    ) async throws(PostgresError) {
        let rows = try await read(
            """
            SELECT user_id FROM identities WHERE tenant_id = \(tenant) AND provider = \(provider)
            LIMIT \(raw: "\(Self.few + 1)")
            """)
        var ids: [UUID] = []
        ids.reserveCapacity(rows.count)
        for row in rows { ids.append(try row.get(0)) }
        if ids.count <= Self.few { return search.ids.append(ids) }
        if search.some == nil { search.some = ids }
        // Inside a CASE it stays a look-up for each user walked, and no join of all with all.
        search.conditions.append(
            """
             AND CASE WHEN EXISTS (SELECT 1 FROM identities i WHERE i.tenant_id = \(tenant)
                AND i.user_id = users.id AND i.provider = \(provider)) THEN true ELSE false END
            """)
    }

    /// The first matches in the list's order, behind where it begins.
    func matches(
        of text: SearchedText, in list: ListQuery, _ most: Int
    ) async throws(PostgresError) -> [UUID] {
        let sign = list.descending ? "-" : ""
        let isByEmail = list.sort == .email
        let at = isByEmail ? nil : list.after.flatMap { Int64($0.value) }
        let rows = try await read(
            """
            SELECT user_search_fetch(\(tenant), \(text.patterns),
                \(sign + (isByEmail ? "email" : "created_at")),
                \(at.map { Timestamp(microseconds: $0) }), \(isByEmail ? list.after?.value : nil),
                \(list.after?.id), \(most)::integer)
            """)
        var ids: [UUID] = []
        for row in rows { ids.append(try row.get(0)) }
        return ids
    }
}
