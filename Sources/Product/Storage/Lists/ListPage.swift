import Postgres
import Text

/// How many rows a list has, or a lower bound.
package struct ListTotal: Sendable, Equatable {
    /// Counting stops here: a larger number is of no use, and counting further would read the
    /// table.
    package static let most = 10_000

    package var value: Int
    package var exact: Bool

    package init(_ value: Int, exact: Bool) {
        self.value = value
        self.exact = exact
    }

    /// Makes a total from a count that stopped beyond `most`.
    init(counted: Int) { self.init(min(counted, Self.most), exact: counted <= Self.most) }
}

/// The rows of a page, the position where the next one begins, and the list's total.
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

/// A row that can be sorted in any order of its list.
package protocol ListedRow: Sendable {
    var id: UUID { get }
    var createdAt: Timestamp { get }
    /// The value of the column by which the list is ordered.
    func value(of sort: ListQuery.Sort) -> String
}

extension ListedRow {
    package func value(of sort: ListQuery.Sort) -> String { "\(createdAt.microseconds)" }
}

extension ListPage where Row: ListedRow {
    /// `fetched` are the rows that the query's `tail` selects.
    init(_ fetched: consuming [Row], _ list: ListQuery, total: ListTotal) {
        var rows = fetched
        let further = rows.count - list.limit
        if further > 0 { rows.removeLast(further) }
        let last = further > 0 ? rows.last : nil
        self.init(rows: rows, next: last.map { ($0.value(of: list.sort), $0.id) }, total: total)
    }
}

extension Rows {
    /// A page from the rows of a `ListStatement`.
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

    /// After the first page the total is the one that the cursor carries. If the first page is
    /// empty, the total is 0.
    func total(_ list: ListQuery) throws(PostgresError) -> ListTotal {
        if let total = list.total { return total }
        return ListTotal(counted: try first?.get("counted", as: Int.self) ?? 0)
    }
}

/// A list as SQL: which columns of which rows. Page and count are one statement, which takes one
/// round trip and one transaction; the planner runs the count once, before the page.
struct ListStatement {
    var columns: SQL
    /// A table and a condition, such as `users WHERE tenant_id = …`.
    var source: SQL
    /// Whether the condition is the tenant alone, or one that most of its rows meet, and an index
    /// by age exists.
    var isWide = false

    func page(_ list: ListQuery) -> SQL {
        let everyTime = isWide ? list.everyTime : ""
        return "SELECT \(columns)\(counting(list)) FROM \(source)\(everyTime)\(list.tail)"
    }

    /// The column `counted`, up to 10,001; nothing if the total is already known.
    func counting(_ list: ListQuery) -> SQL {
        guard list.total == nil else { return "" }
        let most = ListTotal.most + 1
        return """
            , (SELECT count(*) FROM (SELECT 1 FROM \(source) LIMIT \(raw: "\(most)")) AS capped)
                AS counted
            """
    }
}

/// One page by keyset: page n costs as much as page 1.
package struct ListQuery: Sendable {
    package enum Sort: Sendable {
        case createdAt
        /// Only for lists of events.
        case occurredAt
        /// Only for lists that have an address.
        case email
        /// Only for lists that have a name; ignores case.
        case name
        /// Only for lists of users. Users who have never signed in come before all who have.
        case lastSignIn
    }

    package var limit: Int
    package var sort: Sort
    package var descending: Bool
    /// The sort value and the id of the last row of the previous page.
    package var after: (value: String, id: UUID)?
    /// The total from the first page, which the cursor carries: only the first page counts.
    package var total: ListTotal?

    package init(
        limit: Int = 50, sort: Sort = .createdAt, descending: Bool = true,
        after: (value: String, id: UUID)? = nil, total: ListTotal? = nil
    ) {
        self.limit = limit
        self.sort = sort
        self.descending = descending
        self.after = after
        self.total = total
    }

    /// How many rows are fetched: one more than the page, to see whether there is a next page. It
    /// is one of a few literals for two reasons: each text is a prepared statement, and a statement
    /// with a limit that the planner does not know is planned again at every call.
    var fetched: Int { [2, 11, 21, 51, 101].first { $0 > limit } ?? max(201, limit + 1) }

    /// The keyset condition, the order and the limit, for appending to a WHERE clause with a
    /// condition.
    var tail: SQL { "\(keyset)\(order(of: "")) LIMIT \(raw: "\(fetched)")" }

    /// ` ORDER BY` in the list's order, for the columns of `table` (which includes its dot).
    func order(of table: SQL) -> SQL {
        let direction: SQL = descending ? "DESC" : "ASC"
        return " ORDER BY \(column(of: table)) \(direction), \(table)id \(direction)"
    }

    private var column: SQL { column(of: "") }

    private func column(of table: SQL) -> SQL {
        switch sort {
        case .createdAt: table + "created_at"
        case .occurredAt: table + "occurred_at"
        case .email: table + "email_key"
        case .name: table + "name_key"
        // Under row-level security no index serves a condition on coalesce.
        case .lastSignIn:
            """
            CASE WHEN \(table)last_sign_in_at IS NULL THEN '-infinity' ELSE \(table)last_sign_in_at END
            """
        }
    }

    /// The cursor's value for a user who has never signed in.
    static let never = "never"

    /// A condition, beginning with AND, that every time meets, for a list that only the tenant
    /// narrows. If a table has no statistics, it makes PostgreSQL read by the index of that order.
    /// Otherwise the tenant's rows are estimated as so few that all of them are read and sorted for
    /// one page.
    static func everyTime(_ column: SQL) -> SQL {
        " AND \(column) BETWEEN '-infinity' AND 'infinity'"
    }

    /// The same for the column by which the list is ordered; nothing if that is not a time.
    var everyTime: SQL {
        switch sort {
        case .createdAt, .occurredAt, .lastSignIn: Self.everyTime(column)
        case .email, .name: ""
        }
    }

    /// The keyset condition for the rows after the previous page; it begins with AND.
    var keyset: SQL {
        guard let after else { return "" }
        let comparison: SQL = descending ? "<" : ">"
        switch sort {
        case .lastSignIn where sameBytes(after.value, Self.never):
            return " AND (\(column), id) \(comparison) ('-infinity', \(after.id))"
        case .createdAt, .occurredAt, .lastSignIn:
            let at = Timestamp(microseconds: Int64(after.value) ?? 0)
            return " AND (\(column), id) \(comparison) (\(at), \(after.id))"
        case .email, .name:
            return " AND (\(column), id) \(comparison) (\(after.value), \(after.id))"
        }
    }
}
