import Postgres
import Text

/// The number of rows in a list: the exact number or a lower bound.
package struct ListTotal: Sendable, Equatable {
    /// The largest total that is counted exactly. Counting stops above this number, since a larger
    /// exact number is of little use and would require reading the whole table.
    package static let most = 10_000

    package var value: Int
    package var exact: Bool

    package init(_ value: Int, exact: Bool) {
        self.value = value
        self.exact = exact
    }

    /// Creates a total from the result of a query that stops counting at `most` + 1 rows. If the
    /// query reached that number, the total is `most`, as a lower bound.
    init(counted: Int) { self.init(min(counted, Self.most), exact: counted <= Self.most) }
}

/// One page of a list: its rows, the position of the next page, and the list's total.
package struct ListPage<Row: Sendable>: Sendable {
    package var rows: [Row]
    /// The sort value and the id of this page's last row, after which the next page begins; `nil`
    /// if there is no next page.
    package var next: (value: String, id: UUID)?
    package var total: ListTotal

    init(rows: [Row], next: (value: String, id: UUID)? = nil, total: ListTotal) {
        self.rows = rows
        self.next = next
        self.total = total
    }

    /// Creates a page that contains the whole list.
    package init(whole rows: [Row]) {
        self.init(rows: rows, total: ListTotal(rows.count, exact: true))
    }
}

/// A row of a list that is divided into pages.
package protocol ListedRow: Sendable {
    var id: UUID { get }
    var createdAt: Timestamp { get }
    /// Returns the row's value in the column by which the list is sorted, in the form that a cursor
    /// contains.
    func value(of sort: ListQuery.Sort) -> String
}

extension ListedRow {
    package func value(of sort: ListQuery.Sort) -> String { "\(createdAt.microseconds)" }
}

extension ListPage where Row: ListedRow {
    /// Creates a page from the rows that the query's `tail` selects. Rows beyond the page's limit
    /// only show that a next page exists.
    init(_ fetched: consuming [Row], _ list: ListQuery, total: ListTotal) {
        var rows = fetched
        let further = rows.count - list.limit
        if further > 0 { rows.removeLast(further) }
        let last = further > 0 ? rows.last : nil
        self.init(rows: rows, next: last.map { ($0.value(of: list.sort), $0.id) }, total: total)
    }
}

extension Rows {
    /// Returns the page that consists of these rows, which a `ListStatement` selected.
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

    /// Returns the list's total: from the cursor, if the cursor has one, or else from the column
    /// `counted`. The total is 0 if the first page is empty.
    func total(_ list: ListQuery) throws(PostgresError) -> ListTotal {
        if let total = list.total { return total }
        return ListTotal(counted: try first?.get("counted", as: Int.self) ?? 0)
    }
}

/// The SQL of a list. One statement selects the page and the count, in one round trip and one
/// transaction.
struct ListStatement {
    var columns: SQL
    /// The SQL after FROM: a table and a condition, such as `users WHERE tenant_id = …`.
    var source: SQL
    /// Whether nearly all of the tenant's rows meet the condition in `source`, and an index has
    /// these rows in order of age.
    var isWide = false

    func page(_ list: ListQuery) -> SQL {
        let everyTime = isWide ? list.everyTime : ""
        return "SELECT \(columns)\(counting(list)) FROM \(source)\(everyTime)\(list.tail)"
    }

    /// Returns the SQL of the column `counted`, which counts up to 10,001 rows; empty if the total
    /// is already known.
    func counting(_ list: ListQuery) -> SQL {
        guard list.total == nil else { return "" }
        let most = ListTotal.most + 1
        return """
            , (SELECT count(*) FROM (SELECT 1 FROM \(source) LIMIT \(raw: "\(most)")) AS capped)
                AS counted
            """
    }
}

/// Which page of a list to fetch, and in which order. The page is found by the values of the
/// previous page's last row, so late pages cost no more than the first.
package struct ListQuery: Sendable {
    package enum Sort: Sendable {
        case createdAt
        /// Sorts by the time of an event. Only for lists of events.
        case occurredAt
        /// Sorts by the address. Only for lists whose rows have an address.
        case email
        /// Sorts by the name, ignoring case. Only for lists whose rows have a name.
        case name
        /// Sorts by the time of the last sign-in, as if users who have never signed in did so
        /// before all others. Only for lists of users.
        case lastSignIn
    }

    package var limit: Int
    package var sort: Sort
    var descending: Bool
    /// The sort value and the id of the previous page's last row; `nil` for the first page.
    package var after: (value: String, id: UUID)?
    /// The list's total from the cursor; `nil` for the first page, whose statement counts the rows.
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

    /// The number of rows to fetch: more than the page has, to see whether there is a next page.
    /// Only a few values are used, because each value is a literal in the SQL and so needs its own
    /// prepared statement. With a parameter instead, PostgreSQL would plan the statement again at
    /// every call.
    var fetched: Int { [2, 11, 21, 51, 101].first { $0 > limit } ?? max(201, limit + 1) }

    /// The SQL to append to a WHERE clause: the condition on the previous page's last row, the
    /// order and the limit.
    var tail: SQL { "\(keyset)\(order(of: "")) LIMIT \(raw: "\(fetched)")" }

    /// Returns the ORDER BY clause of the list. `table` is the prefix of each column's name and
    /// includes the dot.
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
        // This uses CASE, since a condition on `coalesce` would use no index under row-level
        // security.
        case .lastSignIn:
            """
            CASE WHEN \(table)last_sign_in_at IS NULL THEN '-infinity' ELSE \(table)last_sign_in_at END
            """
        }
    }

    /// A cursor's value for a user who has never signed in.
    static let never = "never"

    /// Returns a condition, beginning with AND, that is true for every value of a time column. If a
    /// list has no other condition than its tenant, this condition makes PostgreSQL read the list
    /// in the order of the index. Without it, in a table that has no statistics, PostgreSQL would
    /// assume that there are few rows, and would sort all of them for each page.
    static func everyTime(_ column: SQL) -> SQL {
        " AND \(column) BETWEEN '-infinity' AND 'infinity'"
    }

    /// The condition `everyTime(_:)` on the column by which the list is sorted; empty if that
    /// column is not a time.
    var everyTime: SQL {
        switch sort {
        case .createdAt, .occurredAt, .lastSignIn: Self.everyTime(column)
        case .email, .name: ""
        }
    }

    /// The condition, beginning with AND, for the rows after the previous page; empty for the first
    /// page.
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
