import Postgres
import Text

/// One page by keyset: page n costs what page 1 costs.
package struct ListQuery: Sendable {
    package enum Sort: Sendable {
        case createdAt
        /// Only for lists of events.
        case occurredAt
        /// Only for lists that have an address.
        case email
        /// Only for lists that have a name; without case.
        case name
        /// Only for lists of users; who never signed in comes before all who did.
        case lastSignIn
    }

    package var limit: Int
    package var sort: Sort
    package var descending: Bool
    /// The sort value and the id of the last row of the page before.
    package var after: (value: String, id: UUID)?
    /// The count of the first page, carried on by the cursor: only the first page counts.
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

    /// How many rows are asked for: one more than the page, to know if there is a next one. One of
    /// a few literals, for two reasons: each text is a prepared statement, and a limit that the
    /// planner does not know is planned anew at every call.
    var fetched: Int { [2, 11, 21, 51, 101].first { $0 > limit } ?? max(201, limit + 1) }

    /// The keyset condition, the order and the limit, to be appended to a WHERE with a condition.
    var tail: SQL { "\(keyset)\(order(of: "")) LIMIT \(raw: "\(fetched)")" }

    /// ` ORDER BY` with the list's order, of the columns of `table` (with its dot).
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
        // Row-level security lets no index serve a condition on coalesce.
        case .lastSignIn:
            """
            CASE WHEN \(table)last_sign_in_at IS NULL THEN '-infinity' ELSE \(table)last_sign_in_at END
            """
        }
    }

    /// As the value of a cursor: never.
    static let never = "never"

    /// A condition, with its AND, that every time passes: for a list that nothing but the tenant narrows. In a
    /// table that PostgreSQL has not counted it makes the index of that order the one to read by;
    /// otherwise the rows of a tenant seem so few that all of them are read and sorted for one page.
    static func everyTime(_ column: SQL) -> SQL {
        " AND \(column) BETWEEN '-infinity' AND 'infinity'"
    }

    /// The same of the column that the list is ordered by; nothing if that is no time.
    var everyTime: SQL {
        switch sort {
        case .createdAt, .occurredAt, .lastSignIn: Self.everyTime(column)
        case .email, .name: ""
        }
    }

    /// The keyset condition of the rows after the previous page, with its AND.
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
