import Domain
import Postgres
import Synchronization
import Text

/// What a decision's transaction knows of itself: the tenant that it is in, so that it is not set
/// again, and the audit rows that are written together with the decision.
final class DecisionState: Sendable {
    private struct State {
        var tenant: UUID?
        var events: [AuditEvent] = []
    }

    private let actor: Actor
    private let state = Mutex(State())

    init(by actor: Actor) { self.actor = actor }

    /// False if the transaction is in this tenant already.
    func enter(_ tenant: UUID) -> Bool {
        state.withLock { state in
            defer { state.tenant = tenant }
            return state.tenant != tenant
        }
    }

    /// False if the row is another tenant's or actor's than those that are gathered.
    func keep(_ event: AuditEvent, of tenant: UUID, by actor: Actor) -> Bool {
        guard sameBytes(actor.type, self.actor.type), sameBytes(actor.id, self.actor.id) else {
            return false
        }
        return state.withLock { state in
            guard state.tenant == tenant else { return false }
            state.events.append(event)
            return true
        }
    }

    /// The statement that inserts the rows that are not written yet; nil if there are none.
    func takeInsertion(by change: Change) -> SQL? {
        let (tenant, events) = state.withLock { state in
            defer { state.events = [] }
            return (state.tenant, state.events)
        }
        guard let tenant, !events.isEmpty else { return nil }
        var change = change
        change.actor = actor
        return change.insertion(of: events, in: tenant)
    }
}

/// The user of a decision.
struct DecidedUser: Sendable {
    /// The columns that `init` reads.
    static func columns(of tenant: UUID) -> SQL {
        "\(UserRow.columns(of: tenant)), users.signed_out_at"
    }

    /// How many there are: what is selected after `columns` begins here.
    static let end = UserRow.end + 1

    let row: UserRow
    /// When all of the user's sessions were last ended.
    let signedOutAt: Timestamp?

    init(_ row: Row) throws(PostgresError) {
        self.row = try UserRow(row)
        signedOutAt = try row.get(UserRow.end, as: Timestamp?.self)
    }
}

extension Change {
    func decidedUser(_ id: UUID) async throws(PostgresError) -> DecidedUser? {
        let rows = try await query(
            """
            SELECT \(DecidedUser.columns(of: tenant)) FROM users
            WHERE users.tenant_id = \(tenant) AND users.id = \(MergedUsers.survivor(of: id, in: tenant))
            """)
        return try rows.first.map(DecidedUser.init)
    }

    /// Runs `body` with a new decision that its audit rows name. They are written with the decision, or
    /// at the latest when the transaction leaves their tenant or `body` returns.
    func deciding<Result>(_ body: (Change) async throws -> Result) async throws -> Result {
        var change = self
        change.actor.decisionID = UUID.ordered(at: now)
        change.decision = DecisionState(by: change.actor)
        let result = try await body(change)
        change.writeGatheredEvents()
        return result
    }

    /// Called while the transaction is still in the tenant whose events these are.
    func writeGatheredEvents() {
        guard let events = decision?.takeInsertion(by: self) else { return }
        queryLater(events)
    }
}
