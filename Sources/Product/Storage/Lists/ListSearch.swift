import Postgres
import Text

/// How the rows of a searched list are found. If few rows match, they are fetched by their ids and
/// then sorted. If many match, reading the list in its own order soon finds enough of them.
struct ListSearch: Sendable {
    /// For each condition that few rows meet, the ids of these rows.
    var ids: [[UUID]] = []
    /// The conditions that many rows meet, each beginning with AND.
    var conditions: [SQL] = []
    /// The text to search for; `nil` if there is none. If few rows match the text's `patterns`, the
    /// ids of these rows are in `ids`.
    var text: SearchedText?
    /// The text to search for, if many rows match it; otherwise nil.
    var frequent: SearchedText?
    /// The ids of some of the matching rows, if many rows match; otherwise nil. The number of these
    /// rows that pass the list's filters is a lower bound of the list's total.
    var some: [UUID]?
    /// If many rows meet a condition, and the index of another table has these rows in order of
    /// age, says how to read them from that index; otherwise nil.
    var byAge: AgedRows?

    /// The ids that are in every list of `ids`; `nil` if `ids` is empty.
    var fewIDs: [UUID]? {
        guard let first = ids.first else { return nil }
        return ids.dropFirst().reduce(first) { found, other in
            let other = Set(other)
            return found.filter(other.contains)
        }
    }

    /// Returns the table expression of `byAge`, if this list can be read from it instead of from
    /// its own table.
    func aged(_ list: ListQuery) -> SQL? {
        guard list.sort == .createdAt, frequent == nil, ids.isEmpty else { return nil }
        return byAge?.table
    }
}

/// Rows in order of age. `table` is a table expression with the name and the columns of the list's
/// table. `condition`, which begins with AND, selects the same rows from the list's table.
struct AgedRows: Sendable {
    var table: SQL
    var condition: SQL
}

extension TenantScope {
    /// Returns how to search a list for a text. If the text is nil, every row passes.
    func search(
        _ text: String?, in name: SearchedList.Name
    ) async throws(PostgresError) -> ListSearch {
        var search = ListSearch()
        if let text { try await look(for: SearchedText(text), in: name, &search) }
        return search
    }

    /// The largest number of matches that counts as few. At this number, in a table of a million
    /// rows, fetching the matches by their ids costs about as much as reading the list in its own
    /// order.
    static let few = 4000
    /// How many matches of a frequent text are fetched at a time.
    private static let most = 2000

    /// Returns one page. If many rows match the text, a limited number of rows is scanned first, in
    /// the order of the list. If this scan finds too few matches, matches are looked up by the
    /// text, in the same order. If the filters leave too few of these matches, the whole list is
    /// scanned.
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
            // In a list that is sorted by last sign-in, the matches that were looked up are not the
            // first in the list's order. So they are enough only if there are no further matches.
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

    /// Looks up the rows that match the text, and adds their ids to the search. If many rows match,
    /// adds only some of the ids.
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
        // A NULL among the ids means that there are more matches than ids.
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

    /// Returns the ids of the first matches after the previous page, in the order of the list.
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

/// A searched text as patterns for LIKE. A row matches if its text contains every word, in any
/// order.
struct SearchedText: Sendable {
    /// The patterns that are looked up first. If any word has three characters or more, there is
    /// one pattern for each such word, and a row must match all patterns. Otherwise a row must
    /// match one of two patterns: its text, or a word in its text, begins with the first searched
    /// word.
    let patterns: [String]
    /// The patterns of the words that are not looked up: one list of patterns for each word. A row
    /// must match at least one pattern of every list.
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

    /// Returns the condition, beginning with AND, that `content` matches all words.
    func condition(on content: SQL) -> SQL {
        Self.condition(patterns, isAll ? "ALL" : "ANY", on: content) + further(on: content)
    }

    /// Returns the condition, beginning with AND, that `content` matches the words that are not
    /// looked up.
    func further(on content: SQL) -> SQL {
        others.map { Self.condition($0, "ANY", on: content) }.reduce("", +)
    }

    /// Returns a condition with the LIKE inside a CASE. The planner then assumes that half of the
    /// rows meet the condition, and reads in the order of the index. Without the CASE, under
    /// row-level security, the planner would assume that few rows meet the condition.
    private static func condition(_ patterns: [String], _ which: SQL, on content: SQL) -> SQL {
        " AND CASE WHEN \(content) LIKE \(which) (\(patterns)) THEN true ELSE false END"
    }
}

extension Database {
    /// Returns the first eight words, in lower case. A text of only white space counts as one word.
    static func words(of text: String) -> [String] {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).prefix(8)
        return words.isEmpty ? [text.lowercased()] : words.map(String.init)
    }

    /// Returns patterns for LIKE ALL or ILIKE ALL. A text matches them if it contains each word.
    static func patterns(of text: String) -> [String] {
        words(of: text).map { "%\(escapeLike($0))%" }
    }
}

/// A list whose rows can be searched for a text.
struct SearchedList: Sendable {
    enum Name: String, Sendable {
        case users
        case apiKeys = "api_keys"
        case invites
    }

    var name: Name
    var tenant: UUID
    /// The SQL of the text, in lower case, that is searched in each row.
    var content: SQL
    /// The columns from which `content` is computed.
    var searched: SQL
    /// The condition of the list's filters, without the search. It begins with the tenant.
    var condition: SQL
    /// Whether nearly all of the tenant's rows meet the condition.
    var isWide = false
    /// If the filter allows several values of one column, this has one condition for each value;
    /// otherwise it is empty. Each condition begins with AND. A database index has the rows of each
    /// condition in the list's order.
    var ways: [SQL] = []
    /// Returns the whole statement. `page` is the SQL of the page's rows; `counting` is the SQL of
    /// the column `counted`, or empty.
    var statement: @Sendable (_ page: SQL, _ counting: SQL, _ list: ListQuery) -> SQL

    private var rows: SQL { "\(raw: name.rawValue) WHERE \(condition)" }

    /// Returns the statement for one page. If many rows match the text, `walking` overrides how
    /// many rows are scanned.
    func sql(_ search: ListSearch, _ list: ListQuery, walking most: Int? = nil) -> SQL {
        let walked = search.aged(list)
        var source = walked.map { $0 + " WHERE \(condition)" } ?? rows
        // Makes PostgreSQL first select the rows by id and then apply the other conditions, even if
        // its planner prefers the opposite order.
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
            // The rows are few, and sorting the page reads all of them anyway, so the same pass
            // counts them. OFFSET 0 keeps the planner from reading in the order of the index
            // instead. The planner assumes that these rows are spread evenly over the index, but
            // all of them may be at its end.
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
            // The inner query selects only the columns that the text needs, so that an index-only
            // scan is possible.
            page = """
                SELECT * FROM \(rows) AND id = ANY (ARRAY(
                    SELECT id FROM (SELECT id, \(searched) FROM \(source)\(walk.tail)) AS walked
                    WHERE true\(text.condition(on: content)) LIMIT \(raw: "\(list.fetched)")))
                """
        }
        return statement(page, counting, list)
    }

    /// Returns how many rows are scanned for a frequent text. Rows are stored roughly by age, so a
    /// scan by age reads adjacent rows. In any other order the scan reads only an index, in which
    /// matches may be far apart.
    private static func walked(_ list: ListQuery) -> Int {
        list.sort == .createdAt ? 10_000 : 40_000
    }
}

extension SearchedList {
    /// Creates a list that shows rows of one table and searches one column of that table.
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

/// A stored text in UTF-8. A text from a row of the database is not copied until it is needed as a
/// string.
package struct StoredText: Sendable {
    private enum Source {
        case column(ColumnBytes)
        case string(String)
    }

    private let source: Source

    /// Creates the text of a column; `nil` if the column is NULL.
    init?(_ row: Row, _ column: Int) {
        guard let bytes = ColumnBytes(row, column) else { return nil }
        source = .column(bytes)
    }

    init(_ text: String) { source = .string(text) }

    /// Calls `body` with the bytes, which are valid only during the call.
    package func withUTF8(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        switch source {
        case .column(let bytes): bytes.withBytes { body($0.bindMemory(to: UInt8.self)) }
        case .string(var text): text.withUTF8(body)
        }
    }

    var string: String {
        if case .string(let text) = source { return text }
        var text = ""
        withUTF8 { text = String(decoding: $0, as: UTF8.self) }
        return text
    }
}

extension SQL {
    /// A condition, beginning with AND, that is true for every id. It makes PostgreSQL read a list
    /// that is sorted by id in the order of the index. `ListQuery.everyTime` does the same for a
    /// list that is sorted by a time.
    static let everyID: SQL = " AND id <= 'ffffffff-ffff-ffff-ffff-ffffffffffff'"

    /// Returns the SQL of a text column's value in a form for which PostgreSQL uses no index. A
    /// statement needs this form if the index of another of its conditions finds few rows. With the
    /// plain column, in a table that has no statistics, PostgreSQL might choose the index of this
    /// column, even if that index finds nearly all rows.
    static func unindexed(_ column: StaticString) -> SQL { "(\(raw: "\(column)") || '')" }
}

extension Database {
    /// A request that creates at least this many invites first updates the statistics of the tables
    /// that it writes to.
    package static let largeWrite = 100

    /// Updates the statistics of tables that have grown through large writes. Statistics affect
    /// only the speed of other statements, so a failure (for example because of a concurrent
    /// ANALYZE) is ignored.
    package func analyzeGrownTables() async {
        _ = try? await app.query("SELECT analyze_grown_tables()")
    }
}
