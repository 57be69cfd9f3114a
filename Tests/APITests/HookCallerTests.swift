import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing

/// What one caller's events reserve, bind and use up is nobody else's.
@Suite(.cleansUp) struct HookCallerTests {
    private static let alice = "alice@corp.example"

    /// A tenant's key told of a sign-up at the platform's pool before the person came.
    private static func plant(_ stage: PoolStage) async throws {
        let planted = try await stage.signUp("alice", "whatever@evil.example", by: .evil)
        #expect(planted.status == 200, "\(planted.text)")
    }

    @Test(arguments: ["open", "closed"])
    func `what a tenant's key reserved neither captures nor denies the platform's sign-up`(
        later: String
    ) async throws {
        let stage = try await PoolStage.make(evil: #"{"sign_up":"open"}"#)
        try await stage.invite(Self.alice)
        try await Self.plant(stage)
        if later == "closed" {
            let answer = try await stage.service.send(
                .put, "/v1/tenants/evil/policy", json: #"{"sign_up":"closed"}"#,
                as: .platformOwner, fields: [Field("if-match", "*")])
            #expect(answer.status == 200, "\(answer.text)")
        }
        #expect(try await stage.signUp("alice", Self.alice).status == 200)
        try await stage.confirm("alice", Self.alice, sub: "alice-1", verified: true)
        #expect(
            try await stage.count(
                "users WHERE email_key = \(Self.alice) AND status = 'active'") == 1)
        #expect(try await stage.count("users", in: stage.evil) == 0)
        let answer = try await stage.signIn(stage.token("alice", sub: "alice-1", Self.alice))
        #expect(answer.json["tenant"]?["slug"]?.string == "victim", "\(answer.text)")
    }

    @Test func `another caller's confirmation binds nothing of this one's`() async throws {
        let stage = try await PoolStage.make(victim: #"{"invite_email_must_match":false}"#)
        try await stage.invite(Self.alice)
        #expect(try await stage.signUp("alice", Self.alice).status == 200)
        try await stage.confirm(
            "alice", "mal@evil.example", sub: "mal-1", verified: false, by: .evil)
        #expect(try await stage.count("reservations WHERE alias IS NOT NULL") == 0)
        let mal = try await stage.signIn(stage.token("mal-1", sub: "mal-1", "mal@evil.example"))
        #expect(mal.json["outcome"]?.string == "refused", "\(mal.text)")
        #expect(try await stage.count("users WHERE status = 'active'") == 0)
    }

    @Test func `a second confirmation with another sub binds nothing and is recorded`()
        async throws
    {
        let stage = try await PoolStage.make()
        try await stage.invite(Self.alice)
        #expect(try await stage.signUp("alice", Self.alice).status == 200)
        try await stage.confirm("alice", Self.alice, sub: "alice-1", verified: false)
        for verified in [false, true] {
            let second = try await stage.confirm(
                "alice", "mal@evil.example", sub: "mal-1", verified: verified)
            #expect(second.status == 200 && second.json["triggerSource"] != nil)
            let decision = try await stage.lastDecision()
            #expect(decision["outcome"]?.string == "refused")
            #expect(decision["reason"]?.string == "identity_conflict")
        }
        let proved = try await stage.signIn(
            stage.token("alice-1", sub: "alice-1", Self.alice))
        #expect(proved.outcome == "linked", "\(proved.text)")
    }

    @Test func `a token completes what the owner reserved, and the asked tenant's own`()
        async throws
    {
        let stage = try await PoolStage.make(
            victim: #"{"invite_email_must_match":false}"#,
            evil: #"{"invite_email_must_match":false}"#
        )
        for (caller, tenant) in [(PoolStage.Caller.platform, "victim"), (.evil, "evil")] {
            let name = "n-\(tenant)"
            let token = try await stage.invite("\(name)@corp.example", to: tenant)
            let more = #","validationData":{"invite_token":"\#(token)"}"#
            let reserved = try await stage.signUp(
                name, "\(name)@other.example", by: caller, more: more)
            #expect(reserved.status == 200, "\(reserved.text)")
            let proof = stage.token(name, sub: "\(name)-1", "\(name)@other.example")
            if caller == .evil {
                // Where the tenant is not asked for, what its key reserved does not count.
                let unasked = try await stage.signIn(proof)
                #expect(unasked.json["outcome"]?.string == "refused", "\(unasked.text)")
            }
            let asked = caller == .evil ? #"{"tenant":"evil"}"# : "{}"
            let answer = try await stage.signIn(proof, asked)
            #expect(answer.outcome == "linked", "\(answer.text)")
            #expect(answer.json["tenant"]?["slug"]?.string == tenant)
        }
        #expect(try await stage.count("reservations") == 0)
    }

    @Test func `a token with another sub than the one that was bound completes nothing`()
        async throws
    {
        let stage = try await PoolStage.make(victim: #"{"invite_email_must_match":false}"#)
        let invite = try await stage.invite(Self.alice)
        let more = #","validationData":{"invite_token":"\#(invite)"}"#
        #expect(try await stage.signUp("alice", Self.alice, more: more).status == 200)
        try await stage.confirm("alice", Self.alice, sub: "alice-1", verified: false)
        let mal = try await stage.signIn(
            stage.token("alice", sub: "mal-1", "mal@evil.example"))
        #expect(mal.json["outcome"]?.string == "refused", "\(mal.text)")
        let own = try await stage.signIn(stage.token("alice", sub: "alice-1", Self.alice))
        #expect(own.outcome == "linked", "\(own.text)")
    }

    @Test func `an invite that was found by the address alone is no token for another address`()
        async throws
    {
        let stage = try await PoolStage.make(victim: #"{"invite_email_must_match":false}"#)
        try await stage.invite("boss@corp.example")
        #expect(try await stage.signUp("mal", "boss@corp.example").status == 200)
        try await stage.confirm("mal", "boss@corp.example", sub: "mal-1", verified: false)
        let answer = try await stage.signIn(
            stage.token("mal", sub: "mal-1", "mal@evil.example"))
        #expect(answer.json["outcome"]?.string == "refused", "\(answer.text)")
        #expect(try await stage.count("invites WHERE status = 'accepted'") == 0)
        #expect(try await stage.count("users WHERE status = 'active'") == 0)
    }

    @Test func `a sign-up asks by itself: an earlier one of the name does not speak for it`()
        async throws
    {
        let stage = try await PoolStage.make(evil: #"{"sign_up":"open"}"#)
        try await stage.invite(Self.alice)
        let metadata = #","clientMetadata":{"tenant":"evil"}"#
        let first = try await stage.signUp("alice", "mal@evil.example", more: metadata)
        #expect(first.status == 200, "\(first.text)")
        #expect(try await stage.signUp("alice", Self.alice).status == 200)
        try await stage.confirm("alice", Self.alice, sub: "alice-1", verified: true)
        #expect(try await stage.count("users WHERE status = 'active'") == 1)
    }

    @Test func `another caller's recorded answer is not this one's`() async throws {
        let stage = try await PoolStage.make()
        func reference(_ caller: PoolStage.Caller) async throws -> String? {
            let answer = try await stage.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"cognito","issuer":"\#(PoolStage.pool)/x","subject":"1","#
                    + #""email":"\#(Self.alice)","email_verified":true}"#,
                as: stage.credential(caller))
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
        let stage = try await PoolStage.make()
        stage.clock.startMinute()
        try await stage.invite(Self.alice)
        for number in 0..<32 {
            _ = try await stage.hook(
                PoolStage.event("PreSignUp_SignUp", "g\(number)", Self.alice), by: .evil)
        }
        let stranger = try await stage.signIn(
            stage.token("zed", sub: "z", "zed@corp.example", upstream: "AzureAD"))
        #expect(stranger.outcome == "refused no_tenant", "\(stranger.text)")
        let twice = try await stage.hook(
            PoolStage.event(
                "PreSignUp_ExternalProvider", "AzureAD_2", Self.alice, verified: false))
        #expect(twice.json["code"]?.string == "email_unverified", "\(twice.text)")
        #expect(try await stage.signUp("alice", Self.alice).status == 200)
    }
}
