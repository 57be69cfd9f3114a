import Domain
import Postgres
import Text

/// The actor of a change: an operator, a key, a user, a hook or the system itself.
package struct Actor: Sendable {
    /// The actor's type: `operator`, `key`, `user`, `hook` or `system`.
    package var type: String
    /// The actor's id as text.
    package var id: String
    /// The actor's name at the time of the change. It is stored with each audit event, and later
    /// renames do not change it.
    package var name: String
    var requestID: String
    /// The caller's address; `nil` if no request caused the change.
    var ip: String?
    /// The id of the decision that makes this change, or that led to it; `nil` if there is none.
    var decisionID: UUID?
    /// Why the actor makes the change, in the actor's words; stored with each audit event.
    package var reason: String?

    package init(type: String, id: String, name: String, requestID: String, ip: String?) {
        self.type = type
        self.id = id
        self.name = name
        self.requestID = requestID
        self.ip = ip
    }

    /// The service itself, as the actor of changes without a caller, such as housekeeping.
    package static let system = Actor(
        type: "system", id: "gatehouse", name: "Gatehouse", requestID: "", ip: nil)
}

/// One transaction that changes the rows of one tenant.
package struct Change: Sendable {
    let database: Database
    /// The tenant whose rows the transaction sees.
    package let tenant: UUID
    internal(set) var actor: Actor
    /// The time of the change: all its rows are written, and all its rules checked, with this time.
    package let now: Timestamp
    /// The transaction; it is open until the body of `TenantScope.change` returns.
    package let transaction: Transaction
    let invalidations: InvalidationPublisher
    /// Whether the change locks rows. False if the change only computes a decision: it stores
    /// nothing and must not block others.
    var locksRows = true
    /// The audit events and the state that a decision collects until they are written; `nil` in
    /// every other change.
    var decision: DecisionState?

    /// Returns the locking clause, or empty SQL if this change locks no rows.
    func locking(_ clause: SQL) -> SQL { locksRows ? clause : "" }

    /// Runs one statement in the transaction. After an error the transaction can only be rolled
    /// back.
    @discardableResult
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await transaction.query(sql)
    }

    /// Queues a statement whose answer is not needed. It is sent with the next statement or with
    /// COMMIT.
    func queryLater(_ sql: SQL) { transaction.queryLater(sql) }

    /// Queues a statement whose answer is read later. It is sent with the next statement, in the
    /// same round trip.
    func ask(_ sql: SQL) -> AskedRows { transaction.ask(sql) }
}

extension Change {
    /// Returns this change for another tenant, in the same transaction. From now on only that
    /// tenant's rows are visible.
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
