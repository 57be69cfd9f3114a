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
