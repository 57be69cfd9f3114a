import Postgres
import Text

/// The words of a search as patterns for LIKE; a text is met by each word, in any order.
struct SearchedText: Sendable {
    /// What is looked up: of each word of three characters or more that it stands anywhere, or, where there
    /// is none, of the first word that it begins the text or a word in it.
    let patterns: [String]
    /// Of each other word the same beginnings.
    private let others: [[String]]
    private let isAll: Bool

    init(_ text: String) {
        let words = Database.words(of: text)
        let long = words.filter { $0.unicodeScalars.count > 2 }
        let short = words.filter { $0.unicodeScalars.count < 3 }.map(Database.escapeLike)
            .map { [$0 + "%", "% " + $0 + "%"] }
        isAll = !long.isEmpty
        patterns = isAll ? long.map { "%\(Database.escapeLike($0))%" } : short[0]
        others = isAll ? short : Array(short.dropFirst())
    }

    /// Whether `content` matches.
    func condition(on content: SQL) -> SQL {
        Self.condition(patterns, isAll ? "ALL" : "ANY", on: content) + further(on: content)
    }

    /// Whether `content` matches by the words that are not looked up.
    func further(on content: SQL) -> SQL {
        others.map { Self.condition($0, "ANY", on: content) }.reduce("", +)
    }

    /// Behind row-level security the planner takes any LIKE for rare; a CASE it takes for even odds, and
    /// walks the index.
    private static func condition(_ patterns: [String], _ which: SQL, on content: SQL) -> SQL {
        " AND CASE WHEN \(content) LIKE \(which) (\(patterns)) THEN true ELSE false END"
    }
}

extension Database {
    /// At most eight words, in lower case; a text of white space alone is one.
    static func words(of text: String) -> [String] {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).prefix(8)
        return words.isEmpty ? [text.lowercased()] : words.map(String.init)
    }

    /// For LIKE ALL or ILIKE ALL: each word stands somewhere in the text.
    static func patterns(of text: String) -> [String] {
        words(of: text).map { "%\(escapeLike($0))%" }
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
    var tenant: UUID
    /// The lower-case text of a row that is searched.
    var content: SQL
    /// The columns that it is made of.
    var searched: SQL
    /// The list's filters besides a search: the tenant first.
    var condition: SQL
    /// Whether the tenant alone, or what most of its rows have, is the condition.
    var isWide = false
    /// The values of one column that pass, if the list is of several: disjoint conditions, each with its
    /// AND, of which each has an index in the list's order.
    var ways: [SQL] = []
    /// The whole statement, around the page's rows and the column `counted` (or nothing).
    var statement: @Sendable (_ page: SQL, _ counting: SQL, _ list: ListQuery) -> SQL

    private var rows: SQL { "\(raw: name.rawValue) WHERE \(condition)" }

    /// `walking`: how many rows are scanned for a frequent text, instead of the usual number.
    func sql(_ search: ListSearch, _ list: ListQuery, walking most: Int? = nil) -> SQL {
        let walked = search.aged(list)
        var source = walked.map { $0 + " WHERE \(condition)" } ?? rows
        // The rows first, then what else they must pass: nothing is left to the planner.
        let few = search.fewIDs
        if let few {
            source = """
                (SELECT * FROM \(raw: name.rawValue) WHERE tenant_id = \(tenant) AND id = ANY (\(few))
                    OFFSET 0) AS \(raw: name.rawValue) WHERE \(condition)
                """
        }
        if walked == nil, let aged = search.byAge { source += aged.condition }
        for condition in search.conditions { source += condition }
        let further = search.text?.further(on: content) ?? ""
        if search.frequent == nil { source += further }
        let counted = search.some.map { rows + " AND id = ANY (\($0))\(further)" } ?? source
        var counting = ListStatement(columns: "", source: counted).counting(list)
        var page: SQL =
            "SELECT * FROM \(source)\(isWide && walked == nil ? list.everyTime : "")\(list.tail)"
        if ways.count > 1 {
            let parts = ways.map { "(SELECT * FROM \(source)\($0)\(list.tail))" as SQL }
            page = """
                SELECT * FROM (\(SQL.joined(parts, separator: " UNION ALL "))) AS parts
                \(list.order(of: "")) LIMIT \(raw: "\(list.fetched)")
                """
        }
        if few != nil {
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
    init(
        _ name: Name, of tenant: UUID, in column: SQL, of columns: SQL, where condition: SQL,
        isWide: Bool = false,
        ways: [SQL] = []
    ) {
        let table: SQL = "\(raw: name.rawValue)"
        self.init(
            name: name, tenant: tenant, content: column, searched: column, condition: condition,
            isWide: isWide, ways: ways
        ) {
            page, counting, list in
            """
            SELECT \(columns)\(counting) FROM (\(page)) AS \(table)\(list.order(of: table + "."))
            """
        }
    }
}
