import Postgres
import Text

/// How a filtered list is searched: few matches are fetched by id and then ordered; many matches
/// are met soon enough by walking the list in its own order.
struct ListSearch: Sendable {
    /// The rows of each kind, if they are few.
    var ids: [[UUID]] = []
    /// Conditions that many rows meet, each with its AND.
    var conditions: [SQL] = []
    /// What is searched for. `ids` have what of it is looked up, unless many rows do.
    var text: SearchedText?
    /// The same, if many rows do.
    var frequent: SearchedText?
    /// Some of the many: the list has at least those of them that pass its filters.
    var some: [UUID]?
    /// Many rows that an index of another table has in the order of their age.
    var byAge: AgedRows?

    /// The rows that each kind has; nil if there is no kind of few rows.
    var fewIDs: [UUID]? {
        guard let first = ids.first else { return nil }
        return ids.dropFirst().reduce(first) { found, other in
            let other = Set(other)
            return found.filter(other.contains)
        }
    }

    /// What stands for the list's table if it is read by that index.
    func aged(_ list: ListQuery) -> SQL? {
        guard list.sort == .createdAt, frequent == nil, ids.isEmpty else { return nil }
        return byAge?.table
    }
}

/// Rows in the order of their age: a table expression under the list's own name with its columns,
/// and the condition on the list's table that is met by the same rows, with its AND.
struct AgedRows: Sendable {
    var table: SQL
    var condition: SQL
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
        var rows = try await readLagging(listed.sql(search, list, walking: most))
        var found = try decode(rows)
        if let text = search.frequent, found.count < list.fetched {
            var other = search
            other.frequent = nil
            let together = try await matches(of: text, in: listed.name, list, Self.most)
            other.ids.append(together)
            rows = try await readLagging(listed.sql(other, list))
            found = try decode(rows)
            // Those first by age or text are not those first by another order.
            let isOther = list.sort == .lastSignIn
            if isOther || found.count < list.fetched, together.count == Self.most {
                other.ids.removeLast()
                other.conditions.append(text.condition(on: listed.content))
                rows = try await readLagging(listed.sql(other, list))
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
        let rows = try await readLagging(
            """
            SELECT search_matches(\(name.rawValue), \(tenant), \(text.patterns),
                \(Self.few)::integer)
            """)
        var ids: [UUID] = []
        ids.reserveCapacity(rows.count)
        search.text = text
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
        let isOther = list.sort == .lastSignIn
        let by = isOther ? "" : (list.descending ? "-" : "") + (isByAge ? "created_at" : "text")
        let at = isByAge ? list.after.flatMap { Int64($0.value) } : nil
        let rows = try await readLagging(
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

/// A text inside the database's response, in UTF-8: a value that a list shows unchanged is not
/// copied into a string on its way.
package struct StoredText: Sendable {
    private let row: Row
    private let column: Int

    /// Nil for NULL.
    init?(_ row: Row, _ column: Int) {
        guard row.bytes(column) != nil else { return nil }
        self.init(of: row, column)
    }

    /// Of a column that is never NULL.
    init(of row: Row, _ column: Int) {
        self.row = row
        self.column = column
    }

    /// Lends the bytes.
    package func withUTF8(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        let bytes = row.bytes(column)?.bindMemory(to: UInt8.self)
        withExtendedLifetime(row) { body(bytes ?? UnsafeBufferPointer(start: nil, count: 0)) }
    }

    package var string: String {
        var text = ""
        withUTF8 { text = String(decoding: $0, as: UTF8.self) }
        return text
    }
}

extension SQL {
    /// A condition, with its AND, that every id passes, for a walk from one id on: as `ListQuery.everyTime`.
    static let everyID: SQL = " AND id <= 'ffffffff-ffff-ffff-ffff-ffffffffffff'"

    /// The value of a column of text, so that no index serves a condition on it: for one that stands beside a
    /// condition whose own index finds few rows. In a table that PostgreSQL has not counted it takes each
    /// index that serves two conditions for equally good, also the one of all rows with a frequent status.
    static func unindexed(_ column: StaticString) -> SQL { "(\(raw: "\(column)") || '')" }
}

extension Database {
    /// A list of at least this many rows checks the statistics of the tables that it writes to.
    package static let largeWrite = 100

    /// Analyzes tables that earlier large writes have grown. It changes only how fast statements
    /// are, so a failure (a concurrent ANALYZE) is ignored.
    package func analyzeGrownTables() async {
        _ = try? await app.query("SELECT analyze_grown_tables()")
    }
}
