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
        return " ORDER BY \(table)\(column) \(direction), \(table)id \(direction)"
    }

    private var column: SQL {
        switch sort {
        case .createdAt: "created_at"
        case .occurredAt: "occurred_at"
        case .email: "email_key"
        case .name: "name_key"
        }
    }

    /// The keyset condition of the rows after the previous page, with its AND.
    var keyset: SQL {
        guard let after else { return "" }
        let comparison: SQL = descending ? "<" : ">"
        switch sort {
        case .createdAt, .occurredAt:
            let at = Timestamp(microseconds: Int64(after.value) ?? 0)
            return " AND (\(column), id) \(comparison) (\(at), \(after.id))"
        case .email, .name:
            return " AND (\(column), id) \(comparison) (\(after.value), \(after.id))"
        }
    }
}
