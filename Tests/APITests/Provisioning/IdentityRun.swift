import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Plays one plan in a world of its own: names and addresses that no other trace has.
struct IdentityRun {
    /// What a trace came to.
    struct Seen {
        /// What the platform's events and the people's tokens were answered, without the world's name.
        var seen: [String] = []
        /// A person was taken for another one.
        var faults: [String] = []
    }

    private let plan: IdentityPlan
    private let pool: AttackedPool
    private let world: String
    private let fixture: PoolFixture
    private var people: [PoolPerson]
    /// Whom the pool has under a native name now, by the name.
    private var holders: [String: Int] = [:]
    private var result = Seen()
    /// Which person each user turned out to be.
    private var users: [String: Int] = [:]

    init(_ plan: IdentityPlan, _ pool: AttackedPool, world: String, _ fixture: PoolFixture) {
        self.plan = plan
        self.pool = pool
        self.world = world
        self.fixture = fixture
        let upstream = pool.upstream ?? "Up\(world)"
        let boss = "boss-\(world)"
        let victim = PoolPerson(
            upstream: plan.isFederated ? upstream : nil,
            name: plan.isFederated ? "\(boss)@corp.example" : boss, sub: "s0-\(world)",
            email: "\(boss)@corp.example")
        let name =
            switch plan.disguise {
            case .plain: "mal-\(world)"
            case .upstream: "\(upstream.lowercased())_\(victim.name)"
            case .upstreamInCapitals: "\(upstream)_\(victim.name)"
            case .own: "\(victim.name)_"
            case .sub: "s1-\(world)"
            }
        people = [
            victim,
            PoolPerson(name: name, sub: "s1-\(world)", email: "mal-\(world)@evil.example"),
            PoolPerson(
                name: "carol-\(world)", sub: "s2-\(world)", email: "carol-\(world)@corp.example"),
        ]
    }

    mutating func play(withEvil: Bool) async throws -> Seen {
        for person in [people[0], people[2]] {
            try await fixture.invite(person.email, role: "manager")
        }
        for event in plan.events {
            switch event {
            case .evilSignUp, .evilConfirm, .evilExternal:
                if withEvil { try await evil(event) }
            case .token(let who, let asked): try await signIn(who, asked: asked)
            case .external, .generic, .dryRun: try await named(event)
            default: try await native(event)
            }
        }
        // Each one's own genuine token: this is who they are.
        for who in plan.atLast {
            for asked in [false, true] { try await signIn(who, asked: asked) }
        }
        return result
    }

    // MARK: the pool

    /// What the pool tells the platform of its own users. A name is one user's at a time.
    private mutating func native(_ event: IdentityPlan.Event) async throws {
        switch event {
        case .signUp(let who, let claims):
            let person = people[who]
            guard person.upstream == nil, isFree(person.name, for: who) else { return }
            let answer = try await fixture.signUp(person.name, people[claims].email)
            if answer.status == 200 { holders[person.name] = who }
            saw("sign-up \(who) \(answer.status)")
        case .adminCreate(let who):
            let person = people[who]
            guard person.upstream == nil, isFree(person.name, for: who) else { return }
            let answer = try await fixture.hook(
                PoolFixture.event("PreSignUp_AdminCreateUser", person.name, person.email))
            if answer.status == 200 { holders[person.name] = who }
            saw("made \(who) \(answer.status)")
        case .confirm(let who, let claims, let verified):
            let person = people[who]
            guard person.upstream == nil, holders[person.name] == who else { return }
            try await fixture.confirm(
                person.name, people[claims].email, sub: person.sub, verified: verified)
        case .givenAnew(let from, let to):
            guard people[from].upstream == nil, people[to].upstream == nil else { return }
            let name = people[from].name
            // Who had it comes by another name from now on, as another user of the pool.
            people[from].name += "-again"
            people[from].sub += "-again"
            people[to].name = name
            holders[name] = to
            saw("given anew")
        default: break
        }
    }

    private func isFree(_ name: String, for who: Int) -> Bool {
        holders[name] == nil || holders[name] == who
    }

    private mutating func named(_ event: IdentityPlan.Event) async throws {
        switch event {
        case .external(let who, let verified):
            guard let upstream = people[who].upstream else { return }
            let answer = try await fixture.hook(
                PoolFixture.event(
                    "PreSignUp_ExternalProvider", "\(upstream)_\(people[who].name)",
                    people[who].email, verified: verified))
            saw("external \(who) \(answer.status)")
        case .generic(let who, let verified):
            // It names no `sub`: of a native name the first token would say whose it is.
            // One that is mapped comes by its own issuer there.
            guard people[who].upstream != nil, pool != .mapped else { return }
            enforce(try await attempt(who, verified, at: "hooks/pre-signup"), who, "generic")
        case .dryRun(let who):
            enforce(try await attempt(who, true, at: "provisioning/evaluate"), who, "dry run")
        default: break
        }
    }

    private func attempt(
        _ who: Int, _ verified: Bool, at path: String
    ) async throws -> TestAnswer {
        let person = people[who]
        let issuer = PoolFixture.pool + (person.upstream.map { "/\($0)" } ?? "")
        fixture.clock.advance(seconds: 1)
        return try await fixture.service.send(
            .post, "/v1/\(path)",
            json: #"{"provider":"cognito","issuer":"\#(issuer)","subject":"\#(person.name)","#
                + #""email":"\#(person.email)","email_verified":\#(verified)}"#,
            as: fixture.credential(fixture.owner))
    }

    // MARK: people

    private mutating func signIn(_ who: Int, asked: Bool) async throws {
        let person = people[who]
        let answer = try await fixture.signIn(
            fixture.token(
                person.name, sub: person.sub, person.email, upstream: person.upstream),
            asked ? #"{"tenant":"victim"}"# : "{}")
        enforce(answer, who, "token")
        // The pool has whom it signs in.
        if person.upstream == nil { holders[person.name] = who }
    }

    /// No person is admitted as the user of another's address, and no user is two people.
    private mutating func enforce(_ answer: TestAnswer, _ who: Int, _ what: String) {
        saw("\(what) \(who) \(answer.outcome) \(answer.json["tenant"]?["slug"]?.string ?? "-")")
        guard answer.json["outcome"]?.string != "refused",
            let email = answer.json["user"]?["email"]?.string,
            let user = answer.json["user"]?["id"]?.string
        else { return }
        // A dry run names no `sub` either: it is judged by the name, and admits no person.
        guard what != "dry run" else { return }
        if email != people[who].email {
            result.faults.append("\(what): person \(who) is \(email)")
        }
        if let other = users[user], other != who {
            result.faults.append("\(what): persons \(who) and \(other) are one user")
        }
        users[user] = who
    }

    // MARK: another caller

    /// A tenant's credentials name anybody of the platform's pool, with addresses and `sub`s of their
    /// own: what they say of them is not true.
    private func evil(_ event: IdentityPlan.Event) async throws {
        let lie = "whatever-\(world)@evil.example"
        switch event {
        case .evilSignUp(let who):
            _ = try await fixture.signUp(people[who].name, lie, by: .evil)
        case .evilConfirm(let who, let sub, let verified):
            try await fixture.confirm(
                people[who].name, lie, sub: people[sub].sub, verified: verified, by: .evil)
        case .evilExternal(let who):
            _ = try await fixture.hook(
                PoolFixture.event(
                    "PreSignUp_ExternalProvider",
                    "\(people[who].upstream ?? "Evil")_\(people[who].name)", lie, verified: true),
                by: .evil)
        default: break
        }
    }

    private mutating func saw(_ text: String) {
        result.seen.append(text.replacing(world, with: ""))
    }
}
