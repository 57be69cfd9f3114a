import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing

/// What one caller's events reserve, bind and use up does not reach another caller.
@Suite(.cleansUp) struct HookCallerTests {
    private static let alice = "alice@corp.example"

    /// A tenant's key reported a sign-up at the platform's pool before the person came.
    private static func plant(_ fixture: PoolFixture) async throws {
        let planted = try await fixture.signUp("alice", "whatever@evil.example", by: .evil)
        #expect(planted.status == 200, "\(planted.text)")
    }

    @Test(arguments: ["open", "closed"])
    func `a tenant's key reserves without capturing or blocking the platform's sign-up`(
        later: String
    ) async throws {
        let fixture = try await PoolFixture.make(evil: #"{"sign_up":"open"}"#)
        try await fixture.invite(Self.alice)
        try await Self.plant(fixture)
        if later == "closed" {
            let answer = try await fixture.service.send(
                .put, "/v1/tenants/evil/policy", json: #"{"sign_up":"closed"}"#,
                as: .platformOwner, fields: [Field("if-match", "*")])
            #expect(answer.status == 200, "\(answer.text)")
        }
        #expect(try await fixture.signUp("alice", Self.alice).status == 200)
        try await fixture.confirm("alice", Self.alice, sub: "alice-1", verified: true)
        #expect(
            try await fixture.count(
                "users WHERE email_key = \(Self.alice) AND status = 'active'") == 1)
        #expect(try await fixture.count("users", in: fixture.evil) == 0)
        let answer = try await fixture.signIn(fixture.token("alice", sub: "alice-1", Self.alice))
        #expect(answer.json["tenant"]?["slug"]?.string == "victim", "\(answer.text)")
    }

    @Test func `another caller's confirmation does not bind this caller's sub`() async throws {
        let fixture = try await PoolFixture.make(victim: #"{"invite_email_must_match":false}"#)
        try await fixture.invite(Self.alice)
        #expect(try await fixture.signUp("alice", Self.alice).status == 200)
        try await fixture.confirm(
            "alice", "mal@evil.example", sub: "mal-1", verified: false, by: .evil)
        #expect(try await fixture.count("reservations WHERE alias IS NOT NULL") == 0)
        let mal = try await fixture.signIn(fixture.token("mal-1", sub: "mal-1", "mal@evil.example"))
        #expect(mal.json["outcome"]?.string == "refused", "\(mal.text)")
        #expect(try await fixture.count("users WHERE status = 'active'") == 0)
    }

    @Test func `a second confirmation with another sub binds nothing and is recorded`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.alice)
        #expect(try await fixture.signUp("alice", Self.alice).status == 200)
        try await fixture.confirm("alice", Self.alice, sub: "alice-1", verified: false)
        for verified in [false, true] {
            let second = try await fixture.confirm(
                "alice", "mal@evil.example", sub: "mal-1", verified: verified)
            #expect(second.status == 200 && second.json["triggerSource"] != nil)
            let decision = try await fixture.lastDecision()
            #expect(decision["outcome"]?.string == "refused")
            #expect(decision["reason"]?.string == "identity_conflict")
        }
        let proved = try await fixture.signIn(
            fixture.token("alice-1", sub: "alice-1", Self.alice))
        #expect(proved.outcome == "linked", "\(proved.text)")
    }

    @Test func `a token completes what the owner reserved, and the asked tenant's own`()
        async throws
    {
        let fixture = try await PoolFixture.make(
            victim: #"{"invite_email_must_match":false}"#,
            evil: #"{"invite_email_must_match":false}"#
        )
        for (caller, tenant) in [(PoolFixture.Caller.platform, "victim"), (.evil, "evil")] {
            let name = "n-\(tenant)"
            let token = try await fixture.invite("\(name)@corp.example", to: tenant)
            let more = #","validationData":{"invite_token":"\#(token)"}"#
            let reserved = try await fixture.signUp(
                name, "\(name)@other.example", by: caller, more: more)
            #expect(reserved.status == 200, "\(reserved.text)")
            let proof = fixture.token(name, sub: "\(name)-1", "\(name)@other.example")
            if caller == .evil {
                // Where the tenant is not asked for, what its key reserved does not count.
                let unasked = try await fixture.signIn(proof)
                #expect(unasked.json["outcome"]?.string == "refused", "\(unasked.text)")
            }
            let asked = caller == .evil ? #"{"tenant":"evil"}"# : "{}"
            let answer = try await fixture.signIn(proof, asked)
            #expect(answer.outcome == "linked", "\(answer.text)")
            #expect(answer.json["tenant"]?["slug"]?.string == tenant)
        }
        #expect(try await fixture.count("reservations") == 0)
    }

    @Test func `a token with another sub than the one that was bound completes nothing`()
        async throws
    {
        let fixture = try await PoolFixture.make(victim: #"{"invite_email_must_match":false}"#)
        let invite = try await fixture.invite(Self.alice)
        let more = #","validationData":{"invite_token":"\#(invite)"}"#
        #expect(try await fixture.signUp("alice", Self.alice, more: more).status == 200)
        try await fixture.confirm("alice", Self.alice, sub: "alice-1", verified: false)
        let mal = try await fixture.signIn(
            fixture.token("alice", sub: "mal-1", "mal@evil.example"))
        #expect(mal.json["outcome"]?.string == "refused", "\(mal.text)")
        let own = try await fixture.signIn(fixture.token("alice", sub: "alice-1", Self.alice))
        #expect(own.outcome == "linked", "\(own.text)")
    }

    @Test func `an invite that was found by the address alone is no token for another address`()
        async throws
    {
        let fixture = try await PoolFixture.make(victim: #"{"invite_email_must_match":false}"#)
        try await fixture.invite("boss@corp.example")
        #expect(try await fixture.signUp("mal", "boss@corp.example").status == 200)
        try await fixture.confirm("mal", "boss@corp.example", sub: "mal-1", verified: false)
        let answer = try await fixture.signIn(
            fixture.token("mal", sub: "mal-1", "mal@evil.example"))
        #expect(answer.json["outcome"]?.string == "refused", "\(answer.text)")
        #expect(try await fixture.count("invites WHERE status = 'accepted'") == 0)
        #expect(try await fixture.count("users WHERE status = 'active'") == 0)
    }

    @Test func `an earlier sign-up with the same name does not decide for a new one`()
        async throws
    {
        let fixture = try await PoolFixture.make(evil: #"{"sign_up":"open"}"#)
        try await fixture.invite(Self.alice)
        let metadata = #","clientMetadata":{"tenant":"evil"}"#
        let first = try await fixture.signUp("alice", "mal@evil.example", more: metadata)
        #expect(first.status == 200, "\(first.text)")
        #expect(try await fixture.signUp("alice", Self.alice).status == 200)
        try await fixture.confirm("alice", Self.alice, sub: "alice-1", verified: true)
        #expect(try await fixture.count("users WHERE status = 'active'") == 1)
    }

    @Test func `another caller's recorded answer is not this one's`() async throws {
        let fixture = try await PoolFixture.make()
        func reference(_ caller: PoolFixture.Caller) async throws -> String? {
            let answer = try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)/x","subject":"1","#
                    + #""email":"\#(Self.alice)","email_verified":true}"#,
                as: fixture.credential(caller))
            #expect(answer.outcome == "refused no_tenant", "\(answer.text)")
            return answer.json["reference"]?.string
        }
        let theirs = try await reference(.evil)
        let ours = try await reference(.platform)
        #expect(ours != nil && ours != theirs)
        // A retry by either reads what it read before.
        let again = [try await reference(.evil), try await reference(.platform)]
        #expect(again == [theirs, ours])
    }

    @Test func `a tenant's failures do not use up an address at the platform`() async throws {
        let fixture = try await PoolFixture.make()
        fixture.clock.startMinute()
        try await fixture.invite(Self.alice)
        for number in 0..<32 {
            _ = try await fixture.hook(
                PoolFixture.event("PreSignUp_SignUp", "g\(number)", Self.alice), by: .evil)
        }
        let stranger = try await fixture.signIn(
            fixture.token("zed", sub: "z", "zed@corp.example", upstream: "AzureAD"))
        #expect(stranger.outcome == "refused no_tenant", "\(stranger.text)")
        let twice = try await fixture.hook(
            PoolFixture.event(
                "PreSignUp_ExternalProvider", "AzureAD_2", Self.alice, verified: false))
        #expect(twice.json["code"]?.string == "email_unverified", "\(twice.text)")
        #expect(try await fixture.signUp("alice", Self.alice).status == 200)
    }
}
