import Postgres
import Text

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
        let walked = search.aged(list)
        var source = walked.map { $0 + " WHERE \(condition)" } ?? rows
        if walked == nil, let aged = search.byAge { source += aged.condition }
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
