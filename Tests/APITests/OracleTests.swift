import Domain
import Glibc
import HTTP
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The engine against an oracle that was written from the tables of rules alone: random worlds in a
/// real PostgreSQL, each attempt first as a dry run, then for real. `GATEHOUSE_ORACLE_STATES` asks
/// for more than 2,000 states, `GATEHOUSE_ORACLE_SEED` for another seed than 7; both are printed
/// with each difference, and one state is made again by its seed and number alone.
struct OracleTests {
    private static func number(_ name: String, _ fallback: Int) -> Int {
        getenv(name).flatMap { Int(String(cString: $0)) } ?? fallback
    }

    private static let seed = UInt64(number("GATEHOUSE_ORACLE_SEED", 7))
    private static let count = number("GATEHOUSE_ORACLE_STATES", 2000)
    private static let side = 4

    @Test func `random worlds come to what the tables of rules say, tried and for real`()
        async throws
    {
        let service = try await TestService.make()
        let storage = Self.unlimited(service.storage)
        let states = (0..<Self.count).map { OracleState(number: $0, seed: Self.seed) }
        var rows = OracleRows(storage)
        for state in states { rows.add(state) }
        let administrator = service.database.client(as: service.database.administrator) {
            $0.statementTimeout = 60_000
        }
        try await rows.write(as: administrator)
        _ = try await service.send(
            .post, "/v1/providers",
            json: #"{"kind":"cognito","name":"Pool","issuer":"\#(OracleRows.pool)"}"#,
            as: .platformOwner)

        let before = try await Self.content(administrator)
        let dry = try await Self.all(states) { try await Self.run($0, storage, dryRun: true) }
        #expect(try await Self.content(administrator) == before, "a dry run has written")
        let real = try await Self.all(states) { try await Self.run($0, storage, dryRun: false) }
        let world = try await OracleWorld(administrator)
        var seen: [String: Int] = [:]
        for state in states {
            let due = Oracle(state: state).answer
            let story: Comment = "seed \(Self.seed), \(state)"
            let (tried, done) = (dry[state.number], real[state.number])
            #expect(tried?.says(due) == true, "tried: \(Self.text(tried)), due \(due)")
            #expect(done?.says(due) == true, "done: \(Self.text(done)), due \(due)")
            if tried?.says(due) != true || done?.says(due) != true { Issue.record(story) }
            #expect(world.differences(from: due, in: state) == [], story)
            let name = due.outcome.rawValue + " " + (due.reason?.rawValue ?? "")
            seen[name, default: 0] += 1
        }
        // What the worlds never come to is not held by them.
        #expect(seen.count >= 20, "\(seen)")
        await administrator.close()
        await service.stop()
    }

    private static func unlimited(_ database: Database) -> Database {
        var database = database
        database.limits.perProvider = 1_000_000
        return database
    }

    private static func text(_ result: OracleResult?) -> String {
        result?.description ?? "nothing"
    }

    /// Rows of everything that a sign-in may write.
    private static func content(_ administrator: Postgres) async throws -> [Int] {
        let tables = [
            "users", "identities", "invites", "decisions", "audit_events", "reservations",
            "pending_choices", "barred_identities", "provisioning_retries",
        ]
        var counts: [Int] = []
        for table in tables {
            let rows = try await administrator.read("SELECT count(*) FROM \(raw: table)")
            counts.append(try rows.first?.get(0, as: Int.self) ?? -1)
        }
        return counts
    }

    private static func all(
        _ states: [OracleState],
        _ body: @escaping @Sendable (OracleState) async throws -> OracleResult
    ) async throws -> [Int: OracleResult] {
        try await withThrowingTaskGroup(of: [(Int, OracleResult)].self) { group in
            for lane in 0..<side {
                group.addTask {
                    var results: [(Int, OracleResult)] = []
                    for state in states where state.number % side == lane {
                        results.append((state.number, try await body(state)))
                    }
                    return results
                }
            }
            var all: [Int: OracleResult] = [:]
            for try await results in group {
                for (number, result) in results { all[number] = result }
            }
            return all
        }
    }

    private static func run(
        _ state: OracleState, _ storage: Database, dryRun: Bool
    ) async throws -> OracleResult {
        var call =
            state.isNative
            ? ProvisioningCall(
                provider: .pool(OracleRows.pool, .signUp, userName: state.subject),
                trigger: .nativeSignUp)
            : ProvisioningCall(
                provider: .attempt(
                    OracleRows.providerID(state).description, issuer: nil,
                    subject: state.subject))
        switch state.address {
        case .there: call.email = state.email
        case .missing: break
        case .malformed: call.email = "ann@@\(state.domain)"
        }
        call.emailVerified = state.claimed
        call.hostedDomain = state.isHosted ? state.domain : nil
        switch state.asked {
        case .none: break
        case .unknown: call.tenant = UUID(high: 0x4000, low: 1 << 63).description
        case .tenant(let index): call.tenant = state.tenants[index].id.description
        }
        switch state.token {
        case .none: break
        case .unknown: call.inviteToken = "inv_000000unknown"
        case .own(let index): call.inviteToken = OracleRows.token(state, index)
        }
        let result = try await storage.provision(call, dryRun: dryRun, by: .system) { _ in "" }
        return try OracleResult(#require(result).verdict, in: state)
    }
}

/// A verdict in the oracle's words.
struct OracleResult: Sendable, CustomStringConvertible {
    var outcome: Outcome
    var reason: Reason?
    var tenant: Int?
    var choices: Set<Int>

    init(_ verdict: Verdict, in state: OracleState) {
        func index(_ id: UUID) -> Int { state.tenants.firstIndex { $0.id == id } ?? -1 }
        outcome = verdict.outcome
        reason = verdict.reason
        tenant = verdict.tenantID.map(index)
        choices = Set(verdict.choices.map(index))
    }

    func says(_ due: Oracle.Answer) -> Bool {
        outcome == due.outcome && reason == due.reason && tenant == due.tenant
            && choices == due.choices
    }

    var description: String {
        "\(outcome) \(reason?.rawValue ?? "") \(tenant.map(String.init) ?? "-") \(choices.sorted())"
    }
}

/// Users, sign-ins and invites of every tenant, as the runs left them.
struct OracleWorld {
    /// `status role` by user, by tenant.
    private var users: [UUID: [UUID: String]] = [:]
    /// The user of a tenant's sign-in of a subject.
    private var holders: [UUID: [String: UUID]] = [:]
    private var invites: [UUID: String] = [:]

    init(_ administrator: Postgres) async throws {
        for row in try await administrator.read("SELECT tenant_id, id, status, role FROM users") {
            let words = "\(try row.get(2, as: String.self)) \(try row.get(3, as: String.self))"
            let (tenant, id): (UUID, UUID) = (try row.get(0), try row.get(1))
            users[tenant, default: [:]][id] = words
        }
        let held = try await administrator.read(
            "SELECT tenant_id, subject, user_id FROM identities")
        for row in held {
            let (tenant, subject): (UUID, String) = (try row.get(0), try row.get(1))
            holders[tenant, default: [:]][subject] = try row.get(2, as: UUID.self)
        }
        for row in try await administrator.read("SELECT id, status FROM invites") {
            let id: UUID = try row.get(0)
            invites[id] = try row.get(1, as: String.self)
        }
    }

    /// Where this world is not what the answer leaves behind.
    func differences(from due: Oracle.Answer, in state: OracleState) -> [String] {
        state.tenants.indices.flatMap { index in
            differences(
                state.tenants[index], index == due.tenant ? due.change : .none,
                accepts: index == due.tenant && due.acceptsInvite, state)
        }
    }

    private func differences(
        _ tenant: OracleTenant, _ change: Oracle.Change, accepts: Bool, _ state: OracleState
    ) -> [String] {
        var wrong: [String] = []
        let holder = holders[tenant.id]?[state.subject]
        let words = users[tenant.id]?[tenant.rowID]
        switch change {
        case .none:
            if holder != tenant.knownID { wrong.append("the sign-in is another's") }
            if words != Self.words(tenant) { wrong.append("the row is \(words ?? "gone")") }
        case .activated(let role):
            if holder != tenant.rowID { wrong.append("the sign-in is not the row's") }
            if words != "active \(role.rawValue)" { wrong.append("the row is \(words ?? "gone")") }
        case .joined:
            if holder != tenant.rowID { wrong.append("the sign-in is not the row's") }
            if words != Self.words(tenant) { wrong.append("the row is \(words ?? "gone")") }
        case .created(let role, let waits):
            let made = holder.flatMap { users[tenant.id]?[$0] }
            if made != "\(waits ? "pending" : "active") \(role.rawValue)" {
                wrong.append("the new user is \(made ?? "not there")")
            }
            if holder == tenant.rowID { wrong.append("the row was taken") }
            if tenant.row == .byInvite, words != nil { wrong.append("the dead row stays") }
        }
        let status = invites[tenant.inviteID]
        let was = tenant.invited == .revoked ? "revoked" : "pending"
        if tenant.invited != .none, status != (accepts ? "accepted" : was) {
            wrong.append("the invite is \(status ?? "gone")")
        }
        return wrong
    }

    private static func words(_ tenant: OracleTenant) -> String? {
        let role = tenant.rowRole.rawValue
        return switch tenant.row {
        case .none: nil
        case .byOperator, .byImport, .byInvite, .awaits: "pending \(role)"
        case .active, .activeUnproved: "active \(role)"
        case .suspended: "suspended \(role)"
        case .deletedLately, .deletedLongAgo: "deleted \(role)"
        }
    }
}
