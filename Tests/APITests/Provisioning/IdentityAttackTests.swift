import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

#if canImport(Glibc)
    import Glibc
#endif

/// Random orders of what a pool, its people and two callers send. Whatever the order: no person
/// ever becomes a user whose address is another's, no two people are one user, and a caller changes
/// nothing of what another caller's events lead to. No token, grant or operator links anybody here.
/// A failure prints its seed; `GATEHOUSE_IDENTITY_TRACES` runs more of them.
@Suite(.cleansUp) struct IdentityAttackTests {
    /// The traces of the platform's pool with upstreams that nothing is known of; a third as many
    /// are played with each other pool.
    private static let traces = UInt64(
        getenv("GATEHOUSE_IDENTITY_TRACES").flatMap { UInt64(String(cString: $0)) } ?? 120)

    @Test(arguments: AttackedPool.allCases)
    func `no order of events merges two people, or gives a caller another's claim`(
        pool: AttackedPool
    ) async throws {
        let fixture = try await PoolFixture.make(
            victim: #"{"invite_email_must_match":false}"#,
            evil: #"{"sign_up":"open","invite_email_must_match":false}"#,
            pool: pool.settings, owner: pool.owner
        )
        try await Self.fillShownUpstreams(fixture)
        let traces = pool == .ofThePlatform ? Self.traces : max(1, Self.traces / 3)
        for seed in 0..<traces {
            let plan = IdentityPlan(seed: seed)
            var among = IdentityRun(plan, pool, world: "a\(seed)", fixture)
            let all = try await among.play(withEvil: true)
            var undisturbed = IdentityRun(plan, pool, world: "b\(seed)", fixture)
            let alone = try await undisturbed.play(withEvil: false)
            let comment = Comment(rawValue: "\(pool) seed \(seed): \(plan)")
            #expect(all.faults + alone.faults == [], comment)
            #expect(all.seen == alone.seen, comment)
        }
    }
}

extension IdentityAttackTests {
    /// With no room for one more, no name is refused by its look: the keys alone hold people apart.
    private static func fillShownUpstreams(_ fixture: PoolFixture) async throws {
        let names = (0..<50).map { "shown\($0)" }
        try await fixture.service.storage.scope(.platform).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO shown_upstreams (provider_id, tenant_id, names)
                SELECT id, \(UUID.platform), \(names) FROM providers WHERE kind = 'cognito'
                """)
        }
    }
}

/// A Cognito pool, and what is known of its upstreams.
enum AttackedPool: String, Sendable, CaseIterable {
    case ofThePlatform, ofTheTenant
    /// Its one upstream is another provider's word, by that provider's issuer.
    case mapped
    /// Upstreams that are not listed are refused.
    case strict

    var owner: PoolFixture.Caller { self == .ofTheTenant ? .victim : .platform }

    /// The name of the one upstream; nil where each world has one of its own.
    var upstream: String? {
        switch self {
        case .ofThePlatform, .ofTheTenant: nil
        case .mapped, .strict: "Corp"
        }
    }

    var settings: String {
        switch self {
        case .ofThePlatform, .ofTheTenant: ""
        case .mapped:
            #","upstreams":[{"name":"Corp","kind":"oidc","issuer":"https://corp.example","#
                + #""email_trust":"verified_claim"}]"#
        case .strict:
            #","strict_upstreams":true,"upstreams":[{"name":"Corp","#
                + #""email_trust":"verified_claim"}]"#
        }
    }
}

/// A person of the pool. Everything of them is true, but what they claim or choose.
struct PoolPerson: Sendable {
    /// nil: the pool's own user.
    var upstream: String?
    /// The upstream's subject, or the name that the person chose.
    var name: String
    var sub: String
    var email: String
}

/// One trace: who there is, and what is sent in which order.
struct IdentityPlan: Sendable, CustomStringConvertible {
    /// What native name the attacker chooses.
    enum Disguise: String, CaseIterable {
        case plain, upstream, upstreamInCapitals, own, sub
    }

    enum Event: Equatable {
        case signUp(Int, claims: Int)
        case adminCreate(Int)
        case confirm(Int, claims: Int, verified: Bool)
        case external(Int, verified: Bool)
        case token(Int, asked: Bool)
        case generic(Int, verified: Bool)
        case dryRun(Int)
        /// The pool removes the first person's user and gives the name to the second.
        case givenAnew(from: Int, to: Int)
        case evilSignUp(named: Int)
        case evilConfirm(named: Int, sub: Int, verified: Bool)
        case evilExternal(Int)
    }

    let disguise: Disguise
    /// The victim came from an upstream; else she is the pool's own user.
    let isFederated: Bool
    let events: [Event]
    /// In which order they come with their own tokens in the end.
    let atLast: [Int]

    init(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        disguise = random.pick(Disguise.allCases + [.upstream, .upstream])
        isFederated = random.chance(2)
        var events: [Event] = []
        for _ in 0..<(3 + Int(random.next() % 4)) { events.append(Self.event(&random)) }
        self.events = events
        atLast = random.chance(2) ? [0, 1, 2] : [2, 1, 0]
    }

    /// 0: the victim, 1: the attacker, 2: another invited person.
    private static func event(_ random: inout SeededNumbers) -> Event {
        let who = Int(random.next() % 3)
        let other = Int(random.next() % 3)
        switch random.next() % 14 {
        case 0, 1: return .signUp(who, claims: random.chance(2) ? who : 0)
        case 2: return .adminCreate(who)
        case 3: return .confirm(who, claims: random.chance(2) ? who : 0, verified: false)
        case 4: return .confirm(who, claims: who, verified: true)
        case 5, 13: return .external(random.chance(2) ? who : 0, verified: random.chance(2))
        case 6, 7, 12: return .token(who, asked: random.chance(2))
        case 8: return random.chance(2) ? .generic(who, verified: random.chance(2)) : .dryRun(who)
        case 9: return .givenAnew(from: 0, to: 1)
        case 10: return random.chance(2) ? .evilSignUp(named: other) : .evilExternal(other)
        default: return .evilConfirm(named: other, sub: 1, verified: random.chance(2))
        }
    }

    var description: String {
        "\(disguise), \(isFederated ? "federated" : "native") victim, \(events), "
            + "at last \(atLast)"
    }
}
