import Domain
import Glibc
import HTTP
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The engine against an oracle that was written from the tables of rules alone: random worlds in a
/// real PostgreSQL, each attempt first as a dry run, then for real, then as a retry; what native
/// sign-ups reserve is completed at last. `GATEHOUSE_ORACLE_STATES` asks
/// for more than 2,200 states, `GATEHOUSE_ORACLE_SEED` for another seed than 7; both are printed
/// with each difference, and `GATEHOUSE_ORACLE_ONLY` runs the state of that number alone.
@Suite(.cleansUp) struct OracleTests {
    private static func number(_ name: String) -> Int? {
        getenv(name).flatMap { Int(String(cString: $0)) }
    }

    private static let seed = UInt64(number("GATEHOUSE_ORACLE_SEED") ?? 7)
    private static let numbers =
        number("GATEHOUSE_ORACLE_ONLY").map { $0..<($0 + 1) }
        ?? 0..<(number("GATEHOUSE_ORACLE_STATES") ?? 2200)
    private static let side = 4

    @Test func `random facts are decided as the rule tables say, in dry and real runs`()
        async throws
    {
        let service = try await TestService.make()
        let storage = Self.unlimited(service.storage)
        let states = Self.numbers.map { OracleState(number: $0, seed: Self.seed) }
        var rows = OracleRows(storage)
        for state in states { rows.add(state) }
        let administrator = service.database.client(as: service.database.administrator) {
            $0.statementTimeout = 60_000
        }
        try await rows.write(as: administrator)
        for (pool, word) in zip(OracleRows.pools, ["deny", "allow"]) {
            let json =
                #"{"kind":"cognito","name":"Pool","issuer":"\#(pool)","admin_create":"\#(word)"}"#
            let made = try await service.send(
                .post, "/v1/providers", json: json, as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
        }

        let before = try await OracleWorld.content(administrator)
        var seen: [String: Int] = [:]
        let tried = try await Self.all(states) { try await Self.run($0, storage, dryRun: true) }
        let written = try await OracleWorld.content(administrator)
        #expect(written == before, "a dry run has written")
        let done = try await Self.all(states) { try await Self.run($0, storage) }
        let world = try await OracleWorld(administrator)
        for state in states {
            guard let dry = tried[state.number], let real = done[state.number] else { continue }
            let oracle = Oracle(state: state)
            let due = oracle.answer
            Self.record(
                oracle.differences(dry, real, due: due)
                    + world.differences(from: due, real, state), state, due, [dry, real])
            let name = "\(due.rule) \(due.outcome.rawValue) \(due.reason?.rawValue ?? "")"
            seen[name, default: 0] += 1
        }
        try await Self.repeated(states, done, storage, administrator)
        try await Self.proved(states, storage, administrator)
        // What the worlds never come to is not held by them.
        if states.count >= 2000 { #expect(seen.count >= 42, "\(seen.count): \(seen)") }
    }

    /// A retry is answered with the same bytes, and nothing is written a second time.
    private static func repeated(
        _ states: [OracleState], _ done: [Int: ProvisioningResult], _ storage: Database,
        _ administrator: Postgres
    ) async throws {
        let before = try await OracleWorld.content(administrator)
        let again = try await all(states) { try await run($0, storage) }
        #expect(try await OracleWorld.content(administrator) == before, "a retry has written")
        for state in states {
            guard let first = done[state.number], let second = again[state.number],
                second.answer != first.answer || second.decisionID != first.decisionID
            else { continue }
            let due = Oracle(state: state).answer
            record(["the retry has another answer"], state, due, [first, second])
        }
    }

    /// What native sign-ups reserved, once the pool has proved their addresses.
    private static func proved(
        _ states: [OracleState], _ storage: Database, _ administrator: Postgres
    ) async throws {
        var due: [Int: Oracle.Answer] = [:]
        for state in states where state.native == .signUp {
            let oracle = Oracle(state: state)
            guard oracle.answer.outcome == .reserved, let tenant = oracle.answer.tenant else {
                continue
            }
            due[state.number] = oracle.proved(in: tenant)
        }
        let waiting = states.filter { due[$0.number] != nil }
        let proved = try await all(waiting) { state in
            var call = ProvisioningCall(
                provider: .pool(OracleRows.pool(state), .confirmSignUp, userName: state.subject),
                trigger: .nativeProved)
            call.email = state.email
            call.emailVerified = true
            call.needsReservation = true
            return try await run(state, storage, call)
        }
        let world = try await OracleWorld(administrator)
        for state in waiting {
            guard let due = due[state.number], let result = proved[state.number] else { continue }
            record(
                Oracle(state: state).differences(result, due: due)
                    + world.differences(from: due, result, state), state, due, [result])
        }
    }

    private static func record(
        _ wrong: [String], _ state: OracleState, _ due: Oracle.Answer,
        _ results: [ProvisioningResult]
    ) {
        guard !wrong.isEmpty else { return }
        let came = results.map { "came to \($0.verdict)" }.joined(separator: "\n")
        Issue.record(
            """
            GATEHOUSE_ORACLE_SEED=\(seed) GATEHOUSE_ORACLE_ONLY=\(state.number)
            \(wrong.joined(separator: "; "))
            due \(due)
            \(came)
            \(state)
            """)
    }

    private static func unlimited(_ database: Database) -> Database {
        database.with { $0.limits.perProvider = 1_000_000 }
    }

    private static func all(
        _ states: [OracleState],
        _ body: @escaping @Sendable (OracleState) async throws -> ProvisioningResult
    ) async throws -> [Int: ProvisioningResult] {
        try await withThrowingTaskGroup(of: [(Int, ProvisioningResult)].self) { group in
            for lane in 0..<side {
                group.addTask {
                    var results: [(Int, ProvisioningResult)] = []
                    for state in states where state.number % side == lane {
                        results.append((state.number, try await body(state)))
                    }
                    return results
                }
            }
            var all: [Int: ProvisioningResult] = [:]
            for try await results in group {
                for (number, result) in results { all[number] = result }
            }
            return all
        }
    }

    private static func run(
        _ state: OracleState, _ storage: Database, _ call: ProvisioningCall? = nil,
        dryRun: Bool = false
    ) async throws -> ProvisioningResult {
        let result = try await storage.provision(
            call ?? OracleRows.call(state), dryRun: dryRun, by: .system
        ) { _ in UUID.random().description }
        return try #require(result)
    }
}

extension OracleRows {
    /// The attempt as a caller would make it.
    static func call(_ state: OracleState) -> ProvisioningCall {
        var call: ProvisioningCall
        switch state.native {
        case .none:
            call = ProvisioningCall(
                provider: .attempt(
                    providerID(state).description, issuer: nil, subject: state.subject))
        case .signUp:
            call = ProvisioningCall(
                provider: .pool(pool(state), .signUp, userName: state.subject),
                trigger: .nativeSignUp)
        case .made, .madeAllowed:
            call = ProvisioningCall(
                provider: .pool(pool(state), .adminCreateUser, userName: state.subject),
                trigger: .nativeAdminCreate)
        }
        switch state.address {
        case .there: call.email = state.email
        case .missing: break
        case .malformed: call.email = "ann@@\(state.domain)"
        }
        call.emailVerified = state.claimed
        call.hostedDomain = state.isHosted ? state.domain : nil
        if state.isTenantsCall { call.caller = state.tenants[0].id }
        switch state.asked {
        case .none: break
        case .unknown: call.tenant = UUID(high: 0x4000, low: 1 << 63).description
        case .tenant(let index): call.tenant = state.tenants[index].id.description
        }
        switch state.token {
        case .none: break
        case .unknown: call.inviteToken = "inv_000000unknown"
        case .of(let index): call.inviteToken = token(state, index)
        }
        switch state.joining {
        case .none: break
        case .unknown: call.joinToken = "000000unknown"
        case .of(let index): call.joinToken = joinToken(state, index)
        }
        if state.granted != nil { call.linkGrant = grant(state) }
        return call
    }
}
