import Domain
import Postgres
import Text

extension Change {
    /// The user of a decision, and when all of the user's sessions were last ended.
    func decidedUser(
        _ id: UUID
    ) async throws(PostgresError) -> (user: UserRow, signedOutAt: Timestamp?)? {
        let rows = try await query(
            """
            SELECT \(UserRow.columns(of: tenant)), users.signed_out_at FROM users
            WHERE users.tenant_id = \(tenant) AND users.id = \(MergedUsers.survivor(of: id, in: tenant))
            """)
        return try rows.first.map { row throws(PostgresError) in
            (try UserRow(row), try row.get(UserRow.end))
        }
    }

    /// A copy with a new decision that its audit rows will name.
    func deciding() -> Change {
        var change = self
        change.actor.decisionID = UUID.ordered(at: now)
        return change
    }
}
