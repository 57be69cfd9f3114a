import Postgres
import Text

/// How many rows a list has, or a lower bound.
package struct ListTotal: Sendable, Equatable {
    /// A larger number is of no use, and counting further would read the table.
    package static let most = 10_000

    package var value: Int
    package var exact: Bool

    package init(_ value: Int, exact: Bool) {
        self.value = value
        self.exact = exact
    }

    /// From a count that stopped beyond `most`.
    init(counted: Int) { self.init(min(counted, Self.most), exact: counted <= Self.most) }
}

/// The rows of a page, where the next one begins, and the list's total.
package struct ListPage<Row: Sendable>: Sendable {
    package var rows: [Row]
    /// The sort value and the id of the last row, if more follow.
    package var next: (value: String, id: UUID)?
    package var total: ListTotal

    package init(rows: [Row], next: (value: String, id: UUID)? = nil, total: ListTotal) {
        self.rows = rows
        self.next = next
        self.total = total
    }

    /// All rows in one page.
    package init(whole rows: [Row]) {
        self.init(rows: rows, total: ListTotal(rows.count, exact: true))
    }
}

/// A row that can be sorted in the orders of its list.
package protocol ListedRow: Sendable {
    var id: UUID { get }
    var createdAt: Timestamp { get }
    /// The value of the column that the list is ordered by.
    func value(of sort: ListQuery.Sort) -> String
}

extension ListedRow {
    package func value(of sort: ListQuery.Sort) -> String { "\(createdAt.microseconds)" }
}

extension ListPage where Row: ListedRow {
    /// `fetched`: the rows of the query's `tail`; `counted`: the count, if the query counted.
    init(_ fetched: consuming [Row], _ list: ListQuery, total: ListTotal) {
        var rows = fetched
        let further = rows.count - list.limit
        if further > 0 { rows.removeLast(further) }
        let last = further > 0 ? rows.last : nil
        self.init(rows: rows, next: last.map { ($0.value(of: list.sort), $0.id) }, total: total)
    }
}

extension Rows {
    /// The rows of a statement of `ListStatement`.
    func page<T: ListedRow>(
        _ list: ListQuery, _ decode: (Row) throws(PostgresError) -> T
    ) throws(PostgresError) -> ListPage<T> {
        ListPage(try all(decode), list, total: try total(list))
    }

    func all<T>(_ decode: (Row) throws(PostgresError) -> T) throws(PostgresError) -> [T] {
        var found: [T] = []
        found.reserveCapacity(count)
        for row in self { found.append(try decode(row)) }
        return found
    }

    /// After the first page the total is the carried one; a first page without a row has none.
    func total(_ list: ListQuery) throws(PostgresError) -> ListTotal {
        if let total = list.total { return total }
        return ListTotal(counted: try first?.get("counted", as: Int.self) ?? 0)
    }
}

/// A list as SQL: which columns of which rows. Page and count go in one statement, one round trip
/// and one transaction; the planner runs the count once, before the page.
struct ListStatement {
    var columns: SQL
    /// A table and a condition: `users WHERE tenant_id = …`.
    var source: SQL
    /// Whether the tenant alone, or what most of its rows have, is the condition, and an index by age is there.
    var isWide = false

    func page(_ list: ListQuery) -> SQL {
        let everyTime = isWide ? list.everyTime : ""
        return "SELECT \(columns)\(counting(list)) FROM \(source)\(everyTime)\(list.tail)"
    }

    /// The column `counted`, up to 10,001, or nothing if the total is known.
    func counting(_ list: ListQuery) -> SQL {
        guard list.total == nil else { return "" }
        let most = ListTotal.most + 1
        return """
            , (SELECT count(*) FROM (SELECT 1 FROM \(source) LIMIT \(raw: "\(most)")) AS capped)
                AS counted
            """
    }
}
