import Postgres
import Text

/// How a filtered list is searched: few matches are fetched by id and then ordered; many matches
/// are soon found by walking the list in its own order.
struct ListSearch: Sendable {
    /// For each condition that few rows meet, the ids of those rows.
    var ids: [[UUID]] = []
    /// Conditions that many rows meet, each beginning with AND.
    var conditions: [SQL] = []
    /// The text that is searched for. Unless many rows match it, `ids` contains the matches of its
    /// `patterns`.
    var text: SearchedText?
    /// The same text, if many rows match it.
    var frequent: SearchedText?
    /// Some of the many matches: the list has at least those of them that pass its filters.
    var some: [UUID]?
    /// Many rows that an index of another table has in order of age.
    var byAge: AgedRows?

    /// The rows that are in every list of `ids`; `nil` if there is no list.
    var fewIDs: [UUID]? {
        guard let first = ids.first else { return nil }
        return ids.dropFirst().reduce(first) { found, other in
            let other = Set(other)
            return found.filter(other.contains)
        }
    }

    /// The table expression to use in place of the list's table, if it is read by that index.
    func aged(_ list: ListQuery) -> SQL? {
        guard list.sort == .createdAt, frequent == nil, ids.isEmpty else { return nil }
        return byAge?.table
    }
}

/// Rows in order of age: a table expression with the name and the columns of the list's table, and
/// a condition, beginning with AND, that the same rows of the list's table meet.
struct AgedRows: Sendable {
    var table: SQL
    var condition: SQL
}

extension TenantScope {
    /// The search for a text in a list; without a text every row passes.
    func search(
        _ text: String?, in name: SearchedList.Name
    ) async throws(PostgresError) -> ListSearch {
        var search = ListSearch()
        if let text { try await look(for: SearchedText(text), in: name, &search) }
        return search
    }

    /// More rows than this are many: in a table of a million rows, both ways of making a page then
    /// cost about the same.
    static let few = 4000
    /// How many matches of a frequent text are fetched at once.
    private static let most = 2000

    /// A frequent text is found soon by walking the list, unless all its matches were inserted
    /// together, far away. Then they are fetched by the text, in the list's order. If a filter
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
            // The first matches by age or by text are not the first ones in any other order.
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

    /// Looks up the matching rows, or some of them if there are many.
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

    /// The first matches in the list's order, from the page's position on.
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

/// The words of a search as patterns for LIKE. A text matches if it has every word, in any order.
struct SearchedText: Sendable {
    /// The patterns that are looked up. If words have three characters or more, the text must
    /// contain each of these. Otherwise the text, or a word in it, must begin with the first word.
    let patterns: [String]
    /// For each further word: the patterns of which the text must match one.
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

    /// Whether `content` matches the words that are not looked up.
    func further(on content: SQL) -> SQL {
        others.map { Self.condition($0, "ANY", on: content) }.reduce("", +)
    }

    /// Under row-level security the planner assumes that any LIKE is rare. For a CASE it assumes
    /// even odds, and walks the index.
    private static func condition(_ patterns: [String], _ which: SQL, on content: SQL) -> SQL {
        " AND CASE WHEN \(content) LIKE \(which) (\(patterns)) THEN true ELSE false END"
    }
}

extension Database {
    /// At most eight words, in lower case. A text of only white space counts as one word.
    static func words(of text: String) -> [String] {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).prefix(8)
        return words.isEmpty ? [text.lowercased()] : words.map(String.init)
    }

    /// Patterns for LIKE ALL or ILIKE ALL: the text must contain each word.
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
    /// The text of a row, in lower case, that is searched.
    var content: SQL
    /// The columns that it is made from.
    var searched: SQL
    /// The list's filters besides a search, beginning with the tenant.
    var condition: SQL
    /// Whether the condition is the tenant alone, or one that most of its rows meet.
    var isWide = false
    /// If the filter passes several values of one column: disjoint conditions, each beginning with
    /// AND and each with an index in the list's order.
    var ways: [SQL] = []
    /// Makes the whole statement around the page's rows and the column `counted` (or nothing).
    var statement: @Sendable (_ page: SQL, _ counting: SQL, _ list: ListQuery) -> SQL

    private var rows: SQL { "\(raw: name.rawValue) WHERE \(condition)" }

    /// `walking` sets how many rows are scanned for a frequent text, instead of the usual number.
    func sql(_ search: ListSearch, _ list: ListQuery, walking most: Int? = nil) -> SQL {
        let walked = search.aged(list)
        var source = walked.map { $0 + " WHERE \(condition)" } ?? rows
        // First the rows by id, then the other conditions: the order is not left to the planner.
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
            // There are few, and ordering the page reads all of them anyway, so they are counted on
            // the way. OFFSET 0 keeps the planner from walking the order instead: it assumes an
            // even spread, but they may all be at the far end.
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
            // Selects only what the text needs, so that an index-only scan is possible.
            page = """
                SELECT * FROM \(rows) AND id = ANY (ARRAY(
                    SELECT id FROM (SELECT id, \(searched) FROM \(source)\(walk.tail)) AS walked
                    WHERE true\(text.condition(on: content)) LIMIT \(raw: "\(list.fetched)")))
                """
        }
        return statement(page, counting, list)
    }

    /// By age the rows are stored in the order of the scan. In any other order only an index is
    /// scanned, and the matches may be far apart.
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

/// A text as it is stored, in UTF-8. One inside the database's response is not copied into a string.
package struct StoredText: Sendable {
    private enum Source {
        case column(Row, Int)
        case string(String)
    }

    private let source: Source

    /// `nil` if the column is NULL.
    init?(_ row: Row, _ column: Int) {
        guard row.bytes(column) != nil else { return nil }
        source = .column(row, column)
    }

    init(_ text: String) { source = .string(text) }

    /// Passes the bytes, which are valid only during the call.
    package func withUTF8(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        switch source {
        case .column(let row, let column):
            let bytes = row.bytes(column)?.bindMemory(to: UInt8.self)
            withExtendedLifetime(row) { body(bytes ?? UnsafeBufferPointer(start: nil, count: 0)) }
        case .string(var text): text.withUTF8(body)
        }
    }

    package var string: String {
        if case .string(let text) = source { return text }
        var text = ""
        withUTF8 { text = String(decoding: $0, as: UTF8.self) }
        return text
    }
}

extension SQL {
    /// A condition, beginning with AND, that every id meets, for a walk that starts at one id. See
    /// `ListQuery.everyTime`.
    static let everyID: SQL = " AND id <= 'ffffffff-ffff-ffff-ffff-ffffffffffff'"

    /// The value of a text column, written so that no index serves a condition on it. It is for a
    /// condition beside another one whose index finds few rows. If a table has no statistics,
    /// PostgreSQL considers all indexes for the two conditions equally good, even the one of all
    /// rows with a frequent status.
    static func unindexed(_ column: StaticString) -> SQL { "(\(raw: "\(column)") || '')" }
}

extension Database {
    /// A list with at least this many rows checks the statistics of the tables that it writes to.
    package static let largeWrite = 100

    /// Analyzes tables that earlier large writes have grown. It only affects the speed of
    /// statements, so a failure (such as a concurrent ANALYZE) is ignored.
    package func analyzeGrownTables() async {
        _ = try? await app.query("SELECT analyze_grown_tables()")
    }
}
