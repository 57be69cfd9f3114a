import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Limits hold back refusals alone, dry runs hold up no sign-in, and what waits has bounds.
@Suite(.cleansUp) struct HookLimitTests {
    private static let ann = "ann@corp.example"

    private static func evaluate(
        _ fixture: PoolFixture, _ number: Int, as who: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "/v1/provisioning/evaluate",
            json:
                #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)/x","subject":"\#(number)","#
                + #""email":"\#(ann)","email_verified":true}"#, as: who)
    }

    @Test func `a dry run waits for no person lock and no row lock`() async throws {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.ann)
        let storage = fixture.service.storage
        try await storage.scope(fixture.victim.id).change(by: .system) { change in
            // Everything of the person is held, as a real run would.
            for table in ["tenants", "users", "invites"] {
                try await change.lockRows(of: table)
            }
            let key = [0x65] + storage.personKey(emailKey: Self.ann)
            try await change.query(
                "INSERT INTO provisioning_locks (key) VALUES (\(key))")
            let answer = try await Self.evaluate(fixture, 1)
            #expect(answer.outcome == "linked", "\(answer.text)")
        }
    }

    @Test func `a dry run does not stand in the person's line`() async throws {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.ann)
        let storage = fixture.service.storage
        try await storage.scope(fixture.victim.id).change(by: .system) { change in
            let key = [0x65] + storage.personKey(emailKey: Self.ann)
            try await change.query(
                """
                INSERT INTO provisioning_locks (key) VALUES (\(key))
                ON CONFLICT (key) DO UPDATE SET key = excluded.key
                """)
            // It is in the line, and waits for the row there.
            async let first = fixture.hook(
                PoolFixture.event("PreSignUp_ExternalProvider", "X_2", Self.ann, verified: true))
            while try await !fixture.service.database.waitsForLock() { await Task.yield() }
            let answer = try await Self.evaluate(fixture, 1)
            #expect(answer.outcome == "linked", "\(answer.text)")
            #expect(
                try await fixture.service.database.waitsForLock(),
                "the dry run was answered too late")
            _ = try await first
        }
    }

    @Test func `a caller has 60 dry runs a minute, another has their own`() async throws {
        let fixture = try await PoolFixture.make()
        fixture.clock.startMinute()
        for number in 0..<60 {
            #expect(try await Self.evaluate(fixture, number).status == 200)
        }
        let over = try await Self.evaluate(fixture, 60)
        #expect(over.status == 429 && over.first("retry-after") != nil, "\(over.text)")
        #expect(
            try await Self.evaluate(fixture, 61, as: .tenantAdmin(fixture.evil)).status == 200)
        fixture.clock.advance(seconds: 60)
        #expect(try await Self.evaluate(fixture, 62).status == 200)
    }

    @Test func `tenants that contradict each other are refused without a look at their rows`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        let storage = fixture.service.storage
        _ = try await Self.evaluate(fixture, 0, as: .tenantAdmin(fixture.evil))
        try await storage.scope(fixture.victim.id).change(by: .system) { change in
            try await change.lockRows(of: "tenants")
            let answer = try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"cognito","subject":"1","email":"\#(Self.ann)","#
                    + #""email_verified":true,"tenant":"victim"}"#,
                as: .tenantAdmin(fixture.evil))
            #expect(answer.outcome == "refused no_tenant", "\(answer.text)")
        }
    }

    @Test func `an unproved claim of a domain does not delay the refusal of its addresses`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        try await fixture.manage(
            .post, "/v1/tenants/victim/domains", #"{"domain":"corp.example"}"#)
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let storage = fixture.service.storage
        try await storage.scope(fixture.victim.id).change(by: .system) { change in
            try await change.lockRows(of: "tenants")
            let answer = try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)/x","subject":"1","#
                    + #""email":"\#(Self.ann)","email_verified":true}"#, as: .platformOwner)
            #expect(answer.outcome == "refused no_tenant", "\(answer.text)")
        }
        #expect("\(try await fixture.lastDecision())".contains("domain_unproved"))
    }

    @Test func `a reserved, deferred or approval-pending sign-in does not count as a failure`()
        async throws
    {
        let fixture = try await PoolFixture.make(victim: #"{"sign_up":"approval"}"#)
        fixture.clock.startMinute()
        try await fixture.invite(Self.ann)
        for number in 0..<33 {
            let answer = try await fixture.service.send(
                .post, "/v1/hooks/pre-signup/cognito",
                json: PoolFixture.event("PreSignUp_SignUp", "n\(number)", Self.ann),
                as: .platformOwner)
            #expect(answer.status == 200, "\(number): \(answer.text)")
        }
        // The newest ten of them are kept.
        #expect(try await fixture.count("reservations") == 10)
        #expect(try await fixture.count("reservations WHERE subject = 'n32'") == 1)
        let first = try await fixture.hook(
            PoolFixture.event("PreSignUp_ExternalProvider", "X_1", Self.ann))
        #expect(first.json["code"]?.string == "email_unverified", "\(first.text)")
    }

    @Test func `over the limit only what the rules would refuse is held back`() async throws {
        let fixture = try await PoolFixture.make()
        fixture.clock.startMinute()
        func refused(_ number: Int) async throws -> String? {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup/cognito",
                json: PoolFixture.event("PreSignUp_ExternalProvider", "X_\(number)", Self.ann),
                as: .platformOwner
            ).json["code"]?.string
        }
        for number in 0..<30 {
            let code = try await refused(number)
            #expect(code == "no_tenant", "\(number)")
        }
        for number in 30..<34 {
            let code = try await refused(number)
            #expect(code == "rate_limited", "\(number)")
        }
        try await fixture.invite(Self.ann)
        #expect(try await refused(34) == "rate_limited")
        let signUp = try await fixture.signUp("ann", Self.ann)
        #expect(signUp.status == 200, "\(signUp.text)")
        try await fixture.confirm("ann", Self.ann, sub: "a-1", verified: true)
        #expect(try await fixture.count("users WHERE status = 'active'") == 1)
    }

    @Test func `the oldest reservations of a pool make way`() async throws {
        let fixture = try await PoolFixture.make()
        let storage = fixture.service.storage.with { $0.limits.reservationsPerPool = 5 }
        for number in 0..<8 {
            let email = "n\(number)@corp.example"
            try await fixture.invite(email)
            fixture.clock.advance(seconds: 1)
            var call = ProvisioningCall(
                provider: .pool(PoolFixture.pool, .signUp, userName: "n\(number)"),
                trigger: .nativeSignUp)
            call.email = email
            let result = try await storage.provision(call, by: .system) { _ in "" }
            #expect(result.verdict.outcome == .reserved)
        }
        #expect(try await fixture.count("reservations") == 5)
        #expect(try await fixture.count("reservations WHERE subject = 'n7'") == 1)
        #expect(try await fixture.count("reservations WHERE subject = 'n2'") == 0)
    }

    @Test func `a thousand racing claims of one address: one wins, and the others hear at once`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        fixture.clock.startMinute()
        try await fixture.invite(Self.ann)
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    try await fixture.service.send(
                        .post, "/v1/hooks/pre-signup",
                        json: #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)/x","#
                            + #""subject":"\#(number)","email":"\#(Self.ann)","#
                            + #""email_verified":true}"#, as: .platformOwner)
                }
            }
            return try await group.reduce(into: [TestAnswer]()) { $0.append($1) }
        }
        #expect(answers.count { $0.status != 200 } == 0)
        #expect(answers.count { $0.outcome == "linked" } == 1)
        #expect(answers.count { $0.outcome == "refused identity_link_required" } == 30)
        #expect(answers.count { $0.outcome == "refused rate_limited" } == 969)
        #expect(try await fixture.count("users") == 1)
    }

    @Test func `a caller over the limit is refused while the person is locked`() async throws {
        let fixture = try await PoolFixture.make()
        fixture.clock.startMinute()
        try await fixture.invite(Self.ann)
        func claim(_ number: Int) async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)/x","#
                    + #""subject":"\#(number)","email":"\#(Self.ann)","#
                    + #""email_verified":true}"#, as: .platformOwner)
        }
        for number in 0...30 { _ = try await claim(number) }
        #expect(try await claim(31).outcome == "refused rate_limited")
        let storage = fixture.service.storage
        try await storage.scope(fixture.victim.id).change(by: .system) { change in
            for table in ["users", "invites"] {
                try await change.lockRows(of: table)
            }
            let key = [0x65] + storage.personKey(emailKey: Self.ann)
            try await change.query(
                """
                INSERT INTO provisioning_locks (key) VALUES (\(key))
                ON CONFLICT (key) DO UPDATE SET key = excluded.key
                """)
            let held = try await claim(32)
            #expect(held.outcome == "refused rate_limited", "\(held.text)")
        }
    }

    @Test func `a long name does not prevent a sign-in`() async throws {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.ann)
        let long = String(repeating: "x", count: 3000)
        func hook(_ name: String) async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)/x","subject":"1","#
                    + #""email":"\#(Self.ann)","email_verified":true,"name":"\#(name)"}"#,
                as: .platformOwner)
        }
        let refused = try await hook(long)
        #expect(refused.status == 422)
        #expect(refused.json["errors"]?.array?.first?["pointer"]?.string == "/name")
        let taken = try await hook(String(long.prefix(2048)))
        #expect(taken.outcome == "linked", "\(taken.text)")
        try await fixture.invite("bob@corp.example")
        let event = PoolFixture.event(
            "PreSignUp_ExternalProvider", "X_2", "bob@corp.example\",\"name\":\"\(long)",
            verified: true)
        #expect(try await fixture.hook(event).status == 200)
        #expect(
            try await fixture.count("users WHERE length(name) = 2048 AND status = 'active'") == 2)
    }
}
