import Domain
import Postgres
import Text

/// The actor of a change: an operator, a key, a user, a hook or the system itself.
package struct Actor: Sendable {
    /// `operator`, `key`, `user`, `hook` or `system`.
    package var type: String
    /// The actor's id as text.
    package var id: String
    /// Stored with each audit event; later renames do not change it.
    package var name: String
    package var requestID: String
    /// The caller's address; `nil` if no request caused the change.
    package var ip: String?
    /// The decision that makes this change, or that led to it.
    package var decisionID: UUID?
    /// Why the actor makes the change, in the actor's words; stored with each audit event.
    package var reason: String?

    package init(type: String, id: String, name: String, requestID: String, ip: String?) {
        self.type = type
        self.id = id
        self.name = name
        self.requestID = requestID
        self.ip = ip
    }

    /// For changes without a caller, such as housekeeping.
    package static let system = Actor(
        type: "system", id: "gatehouse", name: "Gatehouse", requestID: "", ip: nil)
}

/// One transaction in the scope of one tenant.
package struct Change: Sendable {
    package let database: Database
    /// The tenant whose rows the transaction sees.
    package let tenant: UUID
    package internal(set) var actor: Actor
    /// One time for all rows and rules of the change.
    package let now: Timestamp
    /// Open until the body of `TenantScope.change` returns.
    package let transaction: Transaction
    let invalidations: Invalidations
    /// False in a dry run, which blocks no other attempt and stores nothing.
    var locksRows = true
    /// What a decision gathers until it is written, under one actor; `nil` in every other change.
    var decision: DecisionState?

    /// The locking clause, or nothing if this change locks no rows.
    func locking(_ clause: SQL) -> SQL { locksRows ? clause : "" }

    /// Runs one statement of the change. After a failure the change can only be rolled back.
    @discardableResult
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await transaction.query(sql)
    }

    /// Sends a statement whose answer is not needed; it travels with the next one or with COMMIT.
    func queryLater(_ sql: SQL) { transaction.queryLater(sql) }

    /// Sends a statement whose answer is awaited later; it shares the round trip of the next one.
    func ask(_ sql: SQL) -> AskedRows { transaction.ask(sql) }
}

extension Change {
    /// Switches the same transaction to another tenant: only its rows are visible from now on.
    func switching(to tenant: UUID) async throws(PostgresError) -> Change {
        writeGatheredEvents()
        if decision?.enter(tenant) ?? true {
            transaction.setLater("app.tenant", tenant.description)
        }
        return Change(
            database: database, tenant: tenant, actor: actor, now: now, transaction: transaction,
            invalidations: invalidations, locksRows: locksRows, decision: decision)
    }
}
