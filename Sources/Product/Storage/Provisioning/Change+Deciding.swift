import Cryptography
import Domain
import JSON
import Postgres
import Text

extension Change {
    /// The user of a decision, and when all of the user's sessions were last ended.
    func decidedUser(
        _ id: UUID
    ) async throws(PostgresError) -> (user: UserRow, signedOutAt: Timestamp?)? {
        let rows = try await query(
            """
            SELECT \(UserRow.columns), users.signed_out_at FROM users
            WHERE users.tenant_id = \(tenant) AND users.id = \(id)
            """)
        return try rows.first.map { row throws(PostgresError) in
            (try UserRow(row), try row.get(16))
        }
    }

    /// Switches the same transaction to another tenant: only its rows are visible from now on.
    func switching(to tenant: UUID) async throws(PostgresError) -> Change {
        try await query("SELECT set_config('app.tenant', \(tenant.description), true)")
        return Change(
            tenant: tenant, actor: actor, now: now, transaction: transaction,
            invalidations: invalidations, locksRows: locksRows)
    }

    /// A copy with a new decision that its audit rows will name.
    func deciding() -> Change {
        var change = self
        change.actor.decisionID = UUID.ordered(at: now)
        return change
    }
}
