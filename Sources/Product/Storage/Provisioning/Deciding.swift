import Domain
import Postgres
import Synchronization
import Text

/// The state of a transaction that decides: the tenant whose rows it currently sees, and the audit
/// rows that are to be written together with the decision.
final class DecisionState: Sendable {
    private struct State {
        var tenant: UUID?
        var events: [AuditEvent] = []
    }

    private let actor: Actor
    private let state = Mutex(State())

    init(by actor: Actor) { self.actor = actor }

    /// Records that the transaction switches to this tenant. Returns false if the transaction was
    /// in this tenant already.
    func enter(_ tenant: UUID) -> Bool {
        state.withLock { state in
            defer { state.tenant = tenant }
            return state.tenant != tenant
        }
    }

    /// Keeps the audit row to be written later. Returns false if the transaction is in another
    /// tenant, or the decision has another actor.
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

    /// The statement that inserts the audit rows kept so far, which are then no longer kept; `nil`
    /// if there are none.
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

/// The user of a decision, with the columns that only decisions read.
struct DecidedUser: Sendable {
    /// The columns that `init` reads.
    static func columns(of tenant: UUID) -> SQL {
        "\(UserRow.columns(of: tenant)), users.signed_out_at"
    }

    /// The number of columns; what is selected after `columns` begins at this index.
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

    /// Runs `body` with the id of a new decision, which its audit rows will name. These rows are
    /// written together with the decision, or at the latest when the transaction switches to
    /// another tenant or `body` returns.
    func deciding<Result>(_ body: (Change) async throws -> Result) async throws -> Result {
        var change = self
        change.actor.decisionID = UUID.ordered(at: now)
        change.decision = DecisionState(by: change.actor)
        let result = try await body(change)
        change.writeGatheredEvents()
        return result
    }

    /// Writes the audit rows kept so far. Must be called before the transaction switches to another
    /// tenant, since the rows belong to the current one.
    func writeGatheredEvents() {
        guard let events = decision?.takeInsertion(by: self) else { return }
        queryLater(events)
    }
}

/// Why a tenant may read a part of a decision that belongs to no tenant.
enum DecisionPart: String, Sendable {
    /// The tenant has verified the address's domain, or the decision is about a user of the tenant
    /// who has signed in. The tenant may read everything about itself.
    case domain, user
    /// The tenant only has an invite to the address. The tenant may read the time, the outcome, and
    /// that this invite did not help.
    case invite
}

extension Change {
    /// If the decision belongs to no tenant, writes a record for each tenant that the decision
    /// concerns. The record has the part of the decision that the tenant may read. If the decision
    /// belongs to a tenant, does nothing.
    func recordParts(
        of result: ProvisioningResult, _ reading: FactsReading
    ) async throws(PostgresError) {
        guard result.verdict.tenantID == nil, let id = result.decisionID else { return }
        let about = result.verdict.trace.flatMap(\.about)
        let tenants = Set(about.compactMap(\.tenantID)).intersection(reading.facts.tenants.keys)
        for tenant in tenants.sorted() {
            let tenantChange = try await switching(to: tenant)
            let own = Set(about.filter { $0.tenantID == tenant })
            guard let part = try await tenantChange.part(own, reading.facts.tenants[tenant]) else {
                continue
            }
            try await tenantChange.record(part, id, result, reading)
        }
        _ = try await switching(to: self.tenant)
    }

    private func part(
        _ about: Set<TraceReference>, _ facts: TenantFacts?
    ) async throws(PostgresError) -> DecisionPart? {
        if let domain = facts?.domain, about.contains(.domain(domain)) { return .domain }
        let users = about.filter { $0.kind == .user }.map(\.id)
        if !users.isEmpty {
            let signedIn = try await query(
                """
                SELECT 1 FROM users WHERE tenant_id = \(tenant) AND id = ANY(\(users))
                    AND last_sign_in_at IS NOT NULL LIMIT 1
                """)
            if !signedIn.isEmpty { return .user }
        }
        return about.contains { $0.kind == .invite } ? .invite : nil
    }

    private func record(
        _ part: DecisionPart, _ id: UUID, _ result: ProvisioningResult, _ reading: FactsReading
    ) async throws(PostgresError) {
        let (verdict, attempt) = (result.verdict, reading.attempt)
        let publicReason =
            verdict.outcome == .refused && reading.call.isInPerson
            ? result.publicReason : verdict.reason
        var steps = verdict.trace.filter { step in
            step.about.contains { $0.tenantID == tenant }
                && step.about.allSatisfy { $0.tenantID == tenant }
        }
        if part == .invite { steps = steps.filter { $0.about.contains { $0.kind == .invite } } }
        let isWhole = part != .invite
        let email = isWhole ? attempt.email : nil
        let own = verdict.trace.flatMap(\.about).filter { $0.tenantID == tenant }
        let user = isWhole ? own.first { $0.kind == .user }?.id : nil
        try await query(
            """
            INSERT INTO decisions (tenant_id, id, created_at, outcome, reason, reference, email,
                email_key, provider, issuer, subject, user_id, invite_id, trace, duration_ms, part)
            VALUES (\(tenant), \(id), \(now), \(verdict.outcome.rawValue),
                \(isWhole ? publicReason?.rawValue : nil), \(isWhole ? result.reference : ""),
                \(email?.display), \(email?.key),
                \(isWhole ? attempt.identity.provider.rawValue : ""), '', '', \(user),
                \(own.first { $0.kind == .invite }?.id), \(JSONB(steps.document)), 0,
                \(part.rawValue))
            """)
    }
}
