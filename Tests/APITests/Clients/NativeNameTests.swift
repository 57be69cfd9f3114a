import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing

/// A native user name is its person's choice: it never stands for a person of an upstream, nor for
/// the person who had it before.
@Suite(.cleansUp) struct NativeNameTests {
    private static let boss = "admin@corp.example"

    @Test func `a native name that looks like a federated user is not that user`() async throws {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.boss)
        func real() -> String {
            fixture.token(Self.boss, sub: "s1", Self.boss, upstream: "AzureAD")
        }
        #expect(try await fixture.signIn(real()).outcome == "linked")
        // The name is not refused by its look here: the token comes without its sign-up.
        for name in ["azuread_\(Self.boss)", "AzureAD_\(Self.boss)"] {
            for (email, verified) in [("mal@evil.example", false), (Self.boss, false)] {
                let token = fixture.token(name, sub: "mal", email, verified: verified)
                let answer = try await fixture.signIn(token)
                #expect(answer.json["outcome"]?.string == "refused", "\(answer.text)")
                #expect(answer.json["user"]?.isNull == true, "\(answer.text)")
            }
        }
        let known = try await fixture.signIn(real())
        #expect(known.outcome == "existing", "\(known.text)")
        let identity = known.json["user"]?["identities"]?.array?.first
        #expect(identity?["issuer"]?.string == "\(PoolFixture.pool)/azuread")
        #expect(identity?["subject"]?.string == Self.boss)
        #expect(identity?["alias_count"]?.int == 1)
    }

    @Test func `a native user who takes a name first is not the later federated user`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        let name = "azuread_\(Self.boss)"
        try await fixture.invite("squat@evil.example")
        #expect(try await fixture.signUp(name, "squat@evil.example").status == 200)
        try await fixture.confirm(name, "squat@evil.example", sub: "squat", verified: true)
        try await fixture.invite(Self.boss)
        let later = try await fixture.signIn(
            fixture.token(Self.boss, sub: "s1", Self.boss, upstream: "AzureAD"))
        #expect(later.outcome == "linked", "\(later.text)")
        #expect(later.json["user"]?["email"]?.string == Self.boss)
    }

    @Test func `a sign-up under a name that begins with a listed or a shown upstream is refused`()
        async throws
    {
        let fixture = try await PoolFixture.make(pool: #","upstreams":[{"name":"Okta"}]"#)
        func signUp(_ name: String, by caller: PoolFixture.Caller = .platform) async throws
            -> String?
        {
            let email = "n\(name.prefix(3))-\(caller)@corp.example"
            try await fixture.invite(email, to: caller == .evil ? "evil" : "victim")
            let answer = try await fixture.signUp(name, email, by: caller)
            return answer.status == 200 ? nil : answer.json["code"]?.string
        }
        #expect(try await signUp("OKTA_x") == "identity_conflict")
        #expect(try await signUp("azuread_x") == nil)
        // What a tenant's credentials show counts for that tenant's calls alone.
        let shown = PoolFixture.event(
            "PreSignUp_ExternalProvider", "Saml_1", "a@corp.example", verified: true)
        _ = try await fixture.hook(shown, by: .evil)
        #expect(try await signUp("SAML_x") == nil)
        #expect(try await signUp("SAML_y", by: .evil) == "identity_conflict")
        // What the pool has signed counts for every caller.
        _ = try await fixture.signIn(
            fixture.token("1", sub: "s1", "b@corp.example", upstream: "AzureAD"))
        #expect(try await signUp("azuread_y") == "identity_conflict")
        #expect(try await signUp("AzureAD_z", by: .evil) == "identity_conflict")
        #expect(try await signUp("azuread") == nil)
    }

    @Test func `at most 50 shown upstreams are kept`() async throws {
        let fixture = try await PoolFixture.make()
        for number in 0..<53 {
            _ = try await fixture.hook(
                PoolFixture.event(
                    "PreSignUp_ExternalProvider", "U\(number)_1", "a\(number)@corp.example",
                    verified: true))
        }
        let rows = try await fixture.service.storage.app.read(
            "SELECT cardinality(names) FROM shown_upstreams")
        #expect(rows.count == 1)
        #expect(try rows[0].get(0, as: Int.self) == 50)
    }

    @Test func `a reassigned native name is refused, and the trace names it`()
        async throws
    {
        let fixture = try await PoolFixture.make(victim: #"{"sign_up":"open"}"#)
        try await fixture.invite(Self.boss)
        func bob() -> String { fixture.token("bob", sub: "bob-1", Self.boss) }
        #expect(try await fixture.signIn(bob()).outcome == "linked")
        let mallory = fixture.token("bob", sub: "mallory-1", "mallory@evil.example")
        for body in ["{}", #"{"tenant":"victim"}"#] {
            let answer = try await fixture.signIn(mallory, body)
            #expect(answer.outcome == "refused identity_conflict", "\(answer.text)")
            #expect(
                answer.json["user"]?.isNull == true && answer.json["tenant"]?.isNull == true)
        }
        let decision = try await fixture.lastDecision()
        #expect("\(decision["trace"] ?? .null)".contains("given anew"))
        #expect(
            try await fixture.count("audit_events WHERE action = 'identity.name_given_anew'")
                == 2)
        // An event is judged by the name and binds nothing; a second `sub` completes nothing.
        #expect(try await fixture.signUp("bob", "mallory@evil.example").status == 200)
        try await fixture.confirm("bob", "mallory@evil.example", sub: "mallory-1", verified: true)
        #expect(try await fixture.lastDecision()["reason"]?.string == "identity_conflict")
        #expect(try await fixture.signIn(bob()).outcome == "existing")
        #expect(try await fixture.signIn(mallory).outcome == "refused identity_conflict")
    }

    @Test(arguments: [true, false])
    func `a new invite or link admits the present user of a native name`(byInvite: Bool)
        async throws
    {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.boss)
        let bob = fixture.token("bob", sub: "bob-1", Self.boss)
        let user = try await fixture.signIn(bob).json["user"]
        let newcomer = fixture.token("bob", sub: "new-1", "new@corp.example")
        if byInvite {
            try await fixture.invite("new@corp.example", role: "member")
            let answer = try await fixture.signIn(newcomer)
            #expect(answer.outcome == "linked", "\(answer.text)")
            #expect(answer.json["user"]?["email"]?.string == "new@corp.example")
        } else {
            let path = "/v1/tenants/victim/users/\(user?["id"]?.string ?? "")/identities"
            let old = user?["identities"]?.array?.first?["id"]?.string ?? ""
            let gone = try await fixture.service.send(
                .delete, "\(path)/\(old)", as: .platformOwner)
            #expect(gone.status == 204)
            try await fixture.manage(
                .post, path,
                #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)","subject":"bob"}"#)
            #expect(try await fixture.signIn(newcomer).outcome == "existing")
        }
        #expect(try await fixture.signIn(bob).json["outcome"]?.string == "refused")
        #expect(try await fixture.count("identity_aliases WHERE alias = 'new-1'") == 1)
    }

    @Test func `a federated user's new sub is kept beside the old one, and both sign in`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.boss)
        for (number, sub) in ["s1", "s2", "s3", "s1"].enumerated() {
            let answer = try await fixture.signIn(
                fixture.token("77", sub: sub, Self.boss, upstream: "AzureAD"))
            #expect(answer.outcome == (number == 0 ? "linked" : "existing"), "\(answer.text)")
        }
        #expect(try await fixture.count("identity_aliases") == 3)
        // A token that names no upstream is known by its `sub` all the same.
        let bare = try await fixture.signIn(fixture.token("azuread_77", sub: "s2", Self.boss))
        #expect(bare.outcome == "existing", "\(bare.text)")
        #expect(bare.json["identity_id"]?.string != nil)
        for number in 0..<12 {
            _ = try await fixture.signIn(
                fixture.token("77", sub: "t\(number)", Self.boss, upstream: "AzureAD"))
        }
        #expect(try await fixture.count("identity_aliases") == 10)
    }

    @Test func `an attempt and a hand link name an upstream's person as the events do`()
        async throws
    {
        let fixture = try await PoolFixture.make()
        try await fixture.invite(Self.boss)
        let event = PoolFixture.event(
            "PreSignUp_ExternalProvider", "AzureAD_1_2", Self.boss, verified: true)
        #expect(try await fixture.hook(event).status == 200)
        func attempt(_ issuer: String) async throws -> String {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"cognito","issuer":"\#(issuer)","subject":"1_2"}"#,
                as: .platformOwner
            ).outcome
        }
        #expect(try await attempt("\(PoolFixture.pool)/AZUREAD") == "existing")
        #expect(try await attempt(PoolFixture.pool) == "refused email_missing")
        #expect(try await attempt("\(PoolFixture.pool)/") == "refused provider_unknown")
        #expect(try await attempt("other/AzureAD") == "refused provider_unknown")
        let users = try await fixture.service.send(
            .get, "/v1/tenants/victim/users?status=active", as: .platformOwner)
        let user = users.json["items"]?.array?.first?["id"]?.string ?? ""
        try await fixture.manage(
            .post, "/v1/tenants/victim/users/\(user)/identities",
            #"{"provider":"cognito","issuer":"\#(PoolFixture.pool)/Okta","subject":"9"}"#)
        let okta = try await fixture.signIn(
            fixture.token("9", sub: "o1", "else@corp.example", upstream: "OKTA"))
        #expect(okta.outcome == "existing", "\(okta.text)")
    }

    @Test func `a pool's id and an upstream's name hold nothing that splits them`() async throws {
        let fixture = try await PoolFixture.make()
        for json in [
            #"{"kind":"cognito","name":"P","issuer":"a/b"}"#,
            #"{"kind":"cognito","name":"P","issuer":"<userPoolId>"}"#,
            #"{"kind":"cognito","name":"P","issuer":"eu_2","upstreams":[{"name":"a_b"}]}"#,
        ] {
            let answer = try await fixture.service.send(
                .post, "/v1/providers", json: json, as: .platformOwner)
            #expect(answer.status == 422, "\(json): \(answer.text)")
        }
        let token = fixture.token("1", sub: "s", Self.boss, upstream: "a_b")
        #expect(try await fixture.signIn(token).outcome == "refused provider_unknown")
    }
}
