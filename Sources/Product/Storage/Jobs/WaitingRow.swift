import JSON
import Postgres
import Text

/// A row that waits, as it was asked for.
package struct WaitingRow: Sendable {
    package var row: Int
    /// What it is to be done to, if that exists already.
    package var targetID: UUID?
    package var input: JSONValue

    init(_ found: Row) throws(PostgresError) {
        (row, targetID, input) = (try found.get(0), try found.get(1), try found.json(2))
    }
}
