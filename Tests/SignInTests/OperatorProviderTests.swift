import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Operators who sign in to the console at a provider of the platform.
@Suite(.cleansUp) struct OperatorProviderTests {
    private typealias Fixture = OperatorProviderFixture
    private typealias Jar = HostedFixture.Jar

    @Test func `the first sign-in binds the account to its operator, and no other comes in then`()
        async throws
    {
        let fixture = try await Fixture.make()
        let ways = try await fixture.send(.get, "/v1/session/ways", nil, Jar()).json
        #expect(ways["provider"]?["name"]?.string == "Door")
        let jar = try await fixture.signedIn()
        let session = try await fixture.session(jar)
        #expect(session["operator"]?["email"]?.string == Fixture.email)
        #expect(session["operator"]?["factors"]?["provider"] == .bool(true))
        #expect(session["methods"] == .array([.string("password"), .string("provider")]))
        #expect(session["step_up_until"]?.string != nil)
        let actions = try await fixture.actions()
        #expect(actions.contains("operator.sign_in_bound"), "\(actions)")
        // Another account there with the same address is another person.
        let other = try await fixture.passThrough(Jar(), claims: ["sub": "\"another\""])
        #expect(other.first("location") == "/console/sign-in#fault=unknown", "\(other.text)")
        #expect(other.first("set-cookie").map { $0.contains("gatehouse=") } != true)
        // The account is the operator's, whatever its address is now.
        let renamed = try await fixture.signedIn(claims: ["email": "\"x@elsewhere.example\""])
        #expect(
            try await fixture.session(renamed)["operator"]?["email"]?.string == Fixture.email)
        #expect(try await fixture.bound() == 1)
    }

    @Test(arguments: [
        ["email": "\"nobody@door.example\""], ["email": "\"owner@other.example\""],
        ["email_verified": "false"], ["email": "\"tenant@door.example\""],
        ["email": "\"owner\""], ["email": "null"],
    ])
    func `who is no operator by an address that the provider owns binds nothing`(
        _ claims: [String: String]
    ) async throws {
        let fixture = try await Fixture.make()
        // A tenant's own claim about an address of the domain.
        let tenant = try await fixture.service.makeTenant("acme")
        let made = try await fixture.service.send(
            .post, "/v1/operators",
            json: #"{"email":"tenant@door.example","role":"owner","scope":{"tenant":"acme"}}"#,
            as: .tenantAdmin(tenant))
        #expect(made.status == 201, "\(made.text)")
        let jar = Jar()
        let done = try await fixture.passThrough(jar, claims: claims)
        #expect(done.first("location") == "/console/sign-in#fault=unknown", "\(done.text)")
        #expect(jar.cookies["gatehouse"] == nil)
        #expect(try await fixture.bound() == 0)
    }

    @Test func `a suspended operator does not come in`() async throws {
        let fixture = try await Fixture.make()
        _ = try await fixture.signedIn()
        try await fixture.service.manage(
            .patch, "/v1/operators/\(fixture.owner.id)", #"{"status":"suspended"}"#)
        let done = try await fixture.passThrough(Jar())
        #expect(done.first("location") == "/console/sign-in#fault=unknown", "\(done.text)")
    }

    @Test func `the provider must be the platform's and authoritative for the domains`()
        async throws
    {
        let claim = try await Fixture.make(
            trust: #","email_trust":"verified_claim""#, isSetUp: false)
        let path = "/v1/operator-sign-in"
        let unset = try await claim.service.send(.get, path, as: .platformOwner)
        #expect(unset.status == 200 && unset.json["provider"]?.isNull == true, "\(unset.text)")
        let refused = try await claim.service.send(
            .put, path, json: claim.body(), as: .platformOwner)
        #expect(refused.status == 422, "\(refused.text)")
        #expect(refused.json["errors"]?.array?.first?["pointer"]?.string == "/domains/0")
        #expect(try await claim.send(.get, "/v1/session/provider", nil, Jar()).status == 409)

        let fixture = try await Fixture.make(isSetUp: false)
        let tenant = try await fixture.service.makeTenant("acme")
        for body in [
            fixture.body(domain: "strange.example"), #"{"provider":"\#(fixture.id)","domains":[]}"#,
        ] {
            let answer = try await fixture.service.send(
                .put, path, json: body, as: .platformOwner)
            #expect(answer.status == 422, "\(answer.text)")
        }
        let unknown = try await fixture.service.send(
            .put, path, json: #"{"provider":"\#(UUID.random())","domains":["door.example"]}"#,
            as: .platformOwner)
        #expect(unknown.status == 404, "\(unknown.text)")
        let own = try await fixture.service.send(
            .put, path, json: fixture.body(), as: .tenantAdmin(tenant))
        #expect(own.status == 403, "\(own.text)")
        let support = try await fixture.service.session(role: .admin, tenant: nil)
        let admin = try await fixture.service.send(
            .put, path, json: fixture.body(), as: .session(support))
        #expect(admin.status == 403, "\(admin.text)")
        let put = try await fixture.service.send(
            .put, path, json: fixture.body(), as: .platformOwner)
        #expect(put.status == 200, "\(put.text)")
        #expect(put.json["domains"]?.array?.first?.string == "door.example")
        // Old knowledge changes nothing.
        let stale = try await fixture.service.send(
            .put, path, json: fixture.body(), as: .platformOwner,
            fields: [Field("if-match", "\"99\"")])
        #expect(stale.status == 412, "\(stale.text)")
        for _ in 0..<2 {
            let gone = try await fixture.service.send(.delete, path, as: .platformOwner)
            #expect(gone.status == 204, "\(gone.text)")
        }
        #expect(try await fixture.send(.get, "/v1/session/provider", nil, Jar()).status == 409)
    }

    @Test func `it is required in a session that came through it, and a reset opens it again`()
        async throws
    {
        let fixture = try await Fixture.make()
        let required = fixture.body(#","required":true"#)
        let jar = Jar()
        #expect(try await fixture.signIn(jar).status == 201)
        let early = try await fixture.send(.put, "/v1/operator-sign-in", required, jar)
        #expect(early.status == 409, "\(early.text)")
        let through = try await fixture.signedIn()
        let put = try await fixture.send(.put, "/v1/operator-sign-in", required, through)
        #expect(put.status == 200 && put.json["required"] == .bool(true), "\(put.text)")
        // What a password began ends with it, and links lead to the provider.
        #expect(try await fixture.send(.get, "/v1/session", nil, jar).status == 401)
        #expect(try await fixture.send(.get, "/v1/session", nil, through).status == 200)
        let made = try await fixture.service.send(
            .post, "/v1/operators",
            json:
                #"{"email":"new@door.example","role":"auditor","delivery":"link","scope":{"platform":true}}"#,
            as: .platformOwner)
        let id = try #require(made.json["id"]?.string.flatMap(UUID.init))
        let factors = try await fixture.service.storage.operatorRow(id)?.factors
        #expect(factors?.mustUseProvider == true && factors?.canReturn == true)
        let link = made.json["sign_in_url"]?.string?.split(separator: "=").last ?? ""
        let past = try await fixture.send(.post, "/v1/session", #"{"token":"\#(link)"}"#, Jar())
        #expect(past.status == 401, "\(made.text) \(past.text)")
        #expect(past.json["detail"]?.string == "Operators of door.example sign in at Door.")
        // What is required stays so in other sessions, for no more domains than before.
        let kept = try await fixture.service.send(
            .put, "/v1/operator-sign-in", json: required, as: .platformOwner)
        #expect(kept.status == 200, "\(kept.text)")
        let more = try await fixture.service.send(
            .put, "/v1/operator-sign-in",
            json:
                #"{"provider":"\#(fixture.id)","domains":["door.example","other.example"],"required":true}"#,
            as: .platformOwner)
        #expect(more.status == 409, "\(more.text)")
        let refused = try await fixture.signIn(Jar())
        #expect(refused.status == 401)
        #expect(
            refused.json["detail"]?.string == "Operators of door.example sign in at Door.")
        let stranger = try await fixture.send(
            .post, "/v1/session", #"{"email":"nobody@door.example","password":"x"}"#, Jar())
        #expect(stranger.json["detail"] == refused.json["detail"])
        #expect(try await fixture.session(through)["methods"] == .array([.string("provider")]))

        let token = TokenSecret.make()
        _ = try await fixture.service.storage.offerOperatorReset(
            to: Fixture.email, tokenHash: TokenSecret.hash(token) ?? [], by: .system)
        let reset = try await fixture.send(
            .post, "/v1/password-resets/confirm",
            #"{"token":"\#(token)","password":"another horse battery staple"}"#, Jar())
        #expect(reset.status < 300, "\(reset.text)")
        #expect(try await fixture.bound() == 0)
        let again = try await fixture.send(
            .post, "/v1/session",
            #"{"email":"\#(Fixture.email)","password":"another horse battery staple"}"#, Jar())
        #expect(again.status == 201, "\(again.text)")
        #expect(try await fixture.actions().contains("operator_sign_in.changed"))
    }

    @Test func `a step-up there needs a proof that is newer than the question`() async throws {
        let fixture = try await Fixture.make()
        let jar = try await fixture.signedIn()
        fixture.clock.advance(seconds: 700)
        #expect(try await fixture.session(jar)["step_up_until"]?.isNull == true)
        let path = "/v1/session/step-up/provider"
        for claims in [
            fixture.authenticated(-500), fixture.authenticated(500_000), ["auth_time": "null"],
        ] {
            let asked = try await fixture.begin(jar, at: path)
            #expect(asked.first("max_age") == "0")
            let refused = try await fixture.end(asked, jar, claims: claims)
            #expect(
                refused.first("location") == "/console/sign-in#fault=not_anew", "\(refused.text)")
        }
        let other = try await fixture.begin(jar, at: path)
        var claims = fixture.authenticated(0)
        claims["sub"] = "\"another\""
        let stranger = try await fixture.end(other, jar, claims: claims)
        #expect(
            stranger.first("location") == "/console/sign-in#fault=other_person", "\(stranger.text)")
        #expect(try await fixture.session(jar)["step_up_until"]?.isNull == true)

        let before = jar.cookies["gatehouse"]
        let asked = try await fixture.begin(jar, at: path)
        let done = try await fixture.end(asked, jar, claims: fixture.authenticated(0))
        #expect(done.first("location") == "/console/sign-in#stepped-up", "\(done.text)")
        #expect(try await fixture.session(jar)["step_up_until"]?.string != nil)
        #expect(jar.cookies["gatehouse"] != before)
        let old = Jar()
        old.cookies["gatehouse"] = before
        #expect(try await fixture.send(.get, "/v1/session", nil, old).status == 401)
        // The state is used up.
        let twice = try await fixture.end(asked, jar, claims: fixture.authenticated(0))
        #expect(twice.first("location") == "/console/sign-in#fault=invalid_request")
    }

    @Test func `another browser ends no sign-in that was begun elsewhere`() async throws {
        let fixture = try await Fixture.make()
        let asked = try await fixture.begin(Jar())
        let thief = Jar()
        let done = try await fixture.end(asked, thief)
        #expect(done.first("location") == "/console/sign-in#fault=invalid_request", "\(done.text)")
        #expect(thief.cookies["gatehouse"] == nil)
        let denied = try await fixture.service.send(
            .get, "\(Fixture.callback)?error=access_denied&state=x")
        #expect(denied.first("location") == "/console/sign-in#fault=invalid_request")
    }

    @Test func `the own second factor is asked for unless the provider reports one`() async throws {
        let fixture = try await Fixture.make()
        let jar = try await fixture.signedIn()
        let offered = try await fixture.send(.post, "/v1/me/totp", "{}", jar)
        let seed = try #require(offered.json["seed"]?.string, "\(offered.text)")
        let app = try #require(TOTP(shown: seed))
        let code = { app.code(of: TOTP.step(at: fixture.clock.now.microseconds / 1_000_000)) }
        let confirmed = try await fixture.send(
            .post, "/v1/me/totp/confirm", #"{"code":"\#(code())"}"#, jar)
        #expect(confirmed.status == 204, "\(confirmed.text)")
        fixture.clock.advance(seconds: 60)

        let half = try await fixture.signedIn()
        let refused = try await fixture.send(.get, "/v1/tenants", nil, half)
        #expect(refused.status == 403, "\(refused.text)")
        #expect(refused.json["code"]?.string == "step_up_required")
        #expect(refused.json["methods"] == .array([.string("totp")]))
        #expect(try await fixture.send(.get, "/v1/me", nil, half).status == 200)
        for (method, path) in [
            (HTTP.Method.delete, "/v1/me/sessions"), (.get, "/v1/me/sessions"), (.patch, "/v1/me"),
            (.get, "/v1/me/sign-ins"),
        ] {
            let early = try await fixture.send(
                method, path, method == .patch ? #"{"name":"Other"}"# : nil, half)
            #expect(early.json["code"]?.string == "step_up_required", "\(path) \(early.text)")
        }
        let proved = try await fixture.send(
            .post, "/v1/session/step-up", #"{"totp":"\#(code())"}"#, half)
        #expect(proved.status == 200, "\(proved.text)")
        #expect(try await fixture.send(.get, "/v1/tenants", nil, half).status == 200)

        // Without the app a recovery code opens the session, once, and steps nothing up.
        let made = try await fixture.send(.post, "/v1/me/recovery-codes", "{}", half)
        let spare = try #require(made.json["codes"]?.array?.first?.string, "\(made.text)")
        let lost = try await fixture.signedIn()
        let asked = try await fixture.send(.get, "/v1/tenants", nil, lost)
        #expect(asked.json["methods"] == .array([.string("totp"), .string("recovery_code")]))
        let body = #"{"recovery_code":"\#(spare)"}"#
        #expect(try await fixture.send(.post, "/v1/session/step-up", body, half).status == 403)
        let opened = try await fixture.send(.post, "/v1/session/step-up", body, lost)
        #expect(opened.status == 200 && opened.json["step_up_until"]?.isNull == true)
        #expect(try await fixture.send(.get, "/v1/tenants", nil, lost).status == 200)
        let other = try await fixture.signedIn()
        #expect(try await fixture.send(.post, "/v1/session/step-up", body, other).status == 401)

        for claims in [
            ["amr": #"["pwd","mfa"]"#], ["amr": #"["pwd","otp"]"#], ["acr": #""phr""#],
        ] {
            let whole = try await fixture.signedIn(claims: claims)
            #expect(try await fixture.send(.get, "/v1/tenants", nil, whole).status == 200)
        }
        let alone = try await fixture.signedIn(claims: ["amr": #"["pwd"]"#])
        #expect(try await fixture.send(.get, "/v1/tenants", nil, alone).status == 403)
    }

    @Test func `where a second factor is due, the provider's counts`() async throws {
        let fixture = try await Fixture.make(secondFactorDays: 1)
        _ = try await fixture.signedIn()
        fixture.clock.advance(seconds: 2 * 86_400)
        let without = try await fixture.signedIn()
        let refused = try await fixture.send(.get, "/v1/tenants", nil, without)
        #expect(refused.json["code"]?.string == "second_factor_required", "\(refused.text)")
        let with = try await fixture.signedIn(claims: ["amr": #"["mfa"]"#])
        #expect(try await fixture.send(.get, "/v1/tenants", nil, with).status == 200)
    }

    @Test func `an old sign-in there is no recent one here`() async throws {
        let fixture = try await Fixture.make()
        let old = try await fixture.signedIn(claims: fixture.authenticated(-3600))
        #expect(try await fixture.session(old)["step_up_until"]?.isNull == true)
        let silent = try await fixture.signedIn(claims: ["auth_time": "null"])
        #expect(try await fixture.session(silent)["step_up_until"]?.isNull == true)
        #expect(try await fixture.begin(Jar()).first("max_age") == "600")
        let fresh = try await fixture.signedIn(claims: fixture.authenticated(-30))
        #expect(try await fixture.session(fresh)["step_up_until"]?.string != nil)
    }

    @Test func `a browser stays known, and another site begins no sign-in`() async throws {
        let fixture = try await Fixture.make()
        let jar = try await fixture.signedIn()
        _ = try await fixture.passThrough(jar)
        #expect(try await fixture.devices() == 1)
        let foreign = try await fixture.service.send(
            .get, "/v1/session/provider",
            fields: [Field("sec-fetch-site", "cross-site"), Field("sec-fetch-mode", "navigate")])
        #expect(foreign.first("location") == "/console/sign-in#fault=forbidden", "\(foreign.text)")
    }

    @Test func `an account that was disowned binds no operator again, the own one does`()
        async throws
    {
        let fixture = try await Fixture.make()
        _ = try await fixture.signedIn()
        try await fixture.service.storage.platformScope.change(by: .system) { change in
            try await change.disown(.provider, of: fixture.owner.id, addedBefore: change.now)
        }
        let thief = try await fixture.passThrough(Jar())
        #expect(thief.first("location") == "/console/sign-in#fault=unknown", "\(thief.text)")
        let own = try await fixture.signedIn(claims: ["sub": "\"own\""])
        let email = try await fixture.session(own)["operator"]?["email"]?.string
        #expect(email == Fixture.email)
        // Nor does it come back once the own one is unbound.
        let unbound = try await fixture.service.send(
            .delete, "/v1/operators/\(fixture.owner.id)/provider", as: .platformOwner)
        #expect(unbound.status == 204, "\(unbound.text)")
        let again = try await fixture.passThrough(Jar())
        #expect(again.first("location") == "/console/sign-in#fault=unknown", "\(again.text)")
    }

    @Test func `an operator's account at the provider is unbound, and another one binds`()
        async throws
    {
        let fixture = try await Fixture.make()
        let jar = try await fixture.signedIn()
        let path = "/v1/operators/\(fixture.owner.id)/provider"
        let service = fixture.service
        #expect(try await service.send(.delete, path, as: .platformOwner).status == 204)
        #expect(try await service.send(.delete, path, as: .platformOwner).status == 404)
        #expect(try await fixture.send(.get, "/v1/session", nil, jar).status == 401)
        _ = try await fixture.signedIn(claims: ["sub": "\"anew\""])
        #expect(try await fixture.actions().contains("operator.sign_in_unbound"))
    }

    @Test func `a key that could not make an owner does not say where owners sign in`()
        async throws
    {
        let fixture = try await Fixture.make()
        let made = try await fixture.service.manage(
            .post, "/v1/api-keys",
            #"{"name":"k","scopes":["operators:write","operators:read","providers:write","providers:read"]}"#
        )
        let key = TestService.Credential.bearer(made["key"]?.string ?? "")
        let put = try await fixture.service.send(
            .put, "/v1/operator-sign-in", json: fixture.body(), as: key)
        #expect(put.status == 403, "\(put.text)")
        let patch = try await fixture.service.send(
            .patch, "/v1/providers/\(fixture.id)", json: #"{"name":"Mine"}"#, as: key)
        #expect(patch.status == 403, "\(patch.text)")
    }

    @Test func `a caller who may not change operators may not change their provider`()
        async throws
    {
        let fixture = try await Fixture.make()
        let admin = try await fixture.service.session(role: .admin, tenant: nil)
        let path = "/v1/providers/\(fixture.id)"
        let renamed = try await fixture.service.send(
            .patch, path, json: #"{"name":"Mine"}"#, as: .session(admin))
        #expect(renamed.status == 403, "\(renamed.text)")
        #expect(
            try await fixture.service.send(
                .patch, path, json: #"{"name":"Ours"}"#, as: .platformOwner
            ).status == 200)
        let removed = try await fixture.service.send(.delete, path, as: .platformOwner)
        #expect(removed.status == 409, "\(removed.text)")
    }
}
