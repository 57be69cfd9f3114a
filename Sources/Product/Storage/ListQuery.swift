import Postgres
import Text

/// One page by keyset: page n costs what page 1 costs.
package struct ListQuery: Sendable {
    package enum Sort: Sendable {
        case createdAt
        /// Only for lists that have an address.
        case email
    }

    package var limit: Int
    package var sort: Sort
    package var descending: Bool
    /// The sort value and the id of the last row of the page before.
    package var after: (value: String, id: UUID)?

    package init(
        limit: Int = 50, sort: Sort = .createdAt, descending: Bool = true,
        after: (value: String, id: UUID)? = nil
    ) {
        self.limit = limit
        self.sort = sort
        self.descending = descending
        self.after = after
    }

    /// The condition on the keyset, the order and the limit: to stand behind a WHERE with a
    /// condition. One row more than the page is asked for: it tells that there is a next page.
    var tail: SQL {
        let comparison: SQL = descending ? "<" : ">"
        let direction: SQL = descending ? "DESC" : "ASC"
        let column: SQL = sort == .createdAt ? "created_at" : "email_key"
        var condition: SQL = ""
        if let after {
            switch sort {
            case .createdAt:
                let at = Timestamp(microseconds: Int64(after.value) ?? 0)
                condition = " AND (created_at, id) \(comparison) (\(at), \(after.id))"
            case .email:
                condition = " AND (email_key, id) \(comparison) (\(after.value), \(after.id))"
            }
        }
        return
            "\(condition) ORDER BY \(column) \(direction), id \(direction) LIMIT \(limit + 1)"
    }
}
