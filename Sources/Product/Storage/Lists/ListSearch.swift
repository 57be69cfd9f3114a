import Postgres
import Text

/// How a filtered list is searched: few matches are fetched by id and then ordered; many matches
/// are met soon enough by walking the list in its own order.
struct ListSearch: Sendable {
    /// The rows of each kind, if they are few.
    var ids: [[UUID]] = []
    /// Conditions that many rows meet, each with its AND.
    var conditions: [SQL] = []
    /// A text that many rows contain.
    var frequent: SearchedText?
    /// Some of the many: the list has at least those of them that pass its filters.
    var some: [UUID]?
}

/// The words of a search as patterns for LIKE.
struct SearchedText: Sendable {
    let patterns: [String]

    /// Under three characters the beginning of the text or of a word in it.
    init(_ text: String) {
        let escaped = Database.escapeLike(text.lowercased())
        let isPrefix = text.unicodeScalars.count < 3
        patterns = isPrefix ? [escaped + "%", "% " + escaped + "%"] : ["%" + escaped + "%"]
    }

    /// Whether `content` matches. Behind row-level security the planner takes any LIKE for rare; a
    /// CASE it takes for even odds, and walks the index.
    func condition(on content: SQL) -> SQL {
        " AND CASE WHEN \(content) LIKE ANY (\(patterns)) THEN true ELSE false END"
    }
}

/// A list whose rows may be searched by a text.
struct SearchedList: Sendable {
    enum Name: String, Sendable {
        case users
        case apiKeys = "api_keys"
        case invites
    }

    var name: Name
    /// The lower-case text of a row that is searched.
    var content: SQL
    /// The columns that it is made of.
    var searched: SQL
    /// The list's filters besides a search: the tenant first.
    var condition: SQL
    /// The whole statement, around the page's rows and the column `counted` (or nothing).
    var statement: @Sendable (_ page: SQL, _ counting: SQL, _ list: ListQuery) -> SQL

    private var rows: SQL { "\(raw: name.rawValue) WHERE \(condition)" }

    /// `walking`: how many rows are scanned for a frequent text, instead of the usual number.
    func sql(_ search: ListSearch, _ list: ListQuery, walking most: Int? = nil) -> SQL {
        var source = rows
        for ids in search.ids { source += " AND id = ANY (\(ids))" }
        for condition in search.conditions { source += condition }
        let counted = search.some.map { rows + " AND id = ANY (\($0))" } ?? source
        var counting = ListStatement(columns: "", source: counted).counting(list)
        var page: SQL = "SELECT * FROM \(source)\(list.tail)"
        if !search.ids.isEmpty {
            // They are few, and the page's order reads all of them anyway, so they are counted on
            // the way. OFFSET 0 keeps the planner from walking the order to them instead: it
            // assumes an even spread, while they may all lie at its far end.
            let isWhole = list.total == nil && list.after == nil && search.some == nil
            if isWhole { counting = ", counted" }
            page = """
                SELECT * FROM (SELECT *\(isWhole ? ", count(*) OVER () AS counted" : "" as SQL)
                    FROM \(source)\(list.keyset) OFFSET 0) AS few
                \(list.order(of: "")) LIMIT \(raw: "\(list.fetched)")
                """
        }
        if let text = search.frequent {
            var walk = list
            walk.limit = most ?? Self.walked(list)
            // Only what the text needs, so that an index-only scan is possible.
            page = """
                SELECT * FROM \(rows) AND id = ANY (ARRAY(
                    SELECT id FROM (SELECT id, \(searched) FROM \(source)\(walk.tail)) AS walked
                    WHERE true\(text.condition(on: content)) LIMIT \(raw: "\(list.fetched)")))
                """
        }
        return statement(page, counting, list)
    }

    /// By age the rows lie in the order of the scan; in any other order only an index is scanned,
    /// and the matches may lie far apart.
    private static func walked(_ list: ListQuery) -> Int {
        list.sort == .createdAt ? 10_000 : 40_000
    }
}

extension SearchedList {
    /// A list of one table's rows that are searched in one column.
    init(_ name: Name, in column: SQL, of columns: SQL, where condition: SQL) {
        let table: SQL = "\(raw: name.rawValue)"
        self.init(name: name, content: column, searched: column, condition: condition) {
            page, counting, list in
            """
            SELECT \(columns)\(counting) FROM (\(page)) AS \(table)\(list.order(of: table + "."))
            """
        }
    }
}

extension TenantScope {
    /// What a text leaves of a list; all rows if there is no text.
    func search(
        _ text: String?, in name: SearchedList.Name
    ) async throws(PostgresError) -> ListSearch {
        var search = ListSearch()
        if let text { try await look(for: SearchedText(text), in: name, &search) }
        return search
    }

    /// More rows than this are many: at a million both ways of making a page then cost about the
    /// same.
    static let few = 4000
    /// How many matches of a frequent text are fetched at once.
    private static let most = 2000

    /// A frequent text is met soon by walking the list, unless all its matches were inserted
    /// together, far off: then they are fetched by the text, in the list's order. If a filter
    /// leaves few of those, the scan runs to its end.
    func page<Found: ListedRow>(
        of listed: SearchedList, _ search: ListSearch, _ list: ListQuery,
        walking most: Int? = nil,
        _ decode: (Rows) throws(PostgresError) -> [Found]
    ) async throws(PostgresError) -> ListPage<Found> {
        var rows = try await read(listed.sql(search, list, walking: most))
        var found = try decode(rows)
        if let text = search.frequent, found.count < list.fetched {
            var other = search
            other.frequent = nil
            let together = try await matches(of: text, in: listed.name, list, Self.most)
            other.ids.append(together)
            rows = try await read(listed.sql(other, list))
            found = try decode(rows)
            if found.count < list.fetched, together.count == Self.most {
                other.ids.removeLast()
                other.conditions.append(text.condition(on: listed.content))
                rows = try await read(listed.sql(other, list))
                found = try decode(rows)
            }
        }
        var total = try rows.total(list)
        if search.some != nil, list.total == nil { total.exact = false }
        return ListPage(found, list, total: total)
    }

    /// The matching rows, or some of them if they are many.
    private func look(
        for text: SearchedText, in name: SearchedList.Name, _ search: inout ListSearch
    ) async throws(PostgresError) {
        let rows = try await read(
            """
            SELECT search_matches(\(name.rawValue), \(tenant), \(text.patterns),
                \(Self.few)::integer)
            """)
        var ids: [UUID] = []
        ids.reserveCapacity(rows.count)
        // A NULL among the matches means that there are more.
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

    /// The first matches in the list's order, after the position where it begins.
    private func matches(
        of text: SearchedText, in name: SearchedList.Name, _ list: ListQuery, _ most: Int
    ) async throws(PostgresError) -> [UUID] {
        let isByAge = list.sort == .createdAt
        let by = (list.descending ? "-" : "") + (isByAge ? "created_at" : "text")
        let at = isByAge ? list.after.flatMap { Int64($0.value) } : nil
        let rows = try await read(
            """
            SELECT search_fetch(\(name.rawValue), \(tenant), \(text.patterns), \(by),
                \(at.map { Timestamp(microseconds: $0) }), \(isByAge ? nil : list.after?.value),
                \(list.after?.id), \(most)::integer)
            """)
        var ids: [UUID] = []
        for row in rows { ids.append(try row.get(0)) }
        return ids
    }
}
