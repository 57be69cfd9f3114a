import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// An authenticator app and recovery codes, as the operator's second factor.
@Suite(.cleansUp) struct SecondFactorTests {
    @Test func `an authenticator app counts once one of its codes was entered`() async throws {
        let fixture = try await OperatorFixture.make()
        let session = try await fixture.signedIn()
        let offered = try await fixture.send(.post, "/v1/me/totp", "{}", as: session)
        #expect(offered.status == 201, "\(offered.text)")
        #expect(offered.first("cache-control") == "no-store")
        let seed = try #require(offered.json["seed"]?.string)
        let url = try #require(offered.json["otpauth_url"]?.string)
        #expect(
            url == "otpauth://totp/Gatehouse:owner%40door.example?secret=\(seed)"
                + "&issuer=Gatehouse&algorithm=SHA1&digits=6&period=30")
        #expect(offered.json["qr_svg"]?.string?.hasPrefix("<svg ") == true)
        // Offered is not set up: the password is still enough, and a step-up by it.
        _ = try await fixture.signedIn()
        let wrong = try await fixture.send(
            .post, "/v1/me/totp/confirm", #"{"code":"000000"}"#, as: session)
        #expect(wrong.status == 422, "\(wrong.text)")
        let app = try #require(TOTP(shown: seed))
        let done = try await fixture.confirm(app, as: session)
        #expect(done.status == 204, "\(done.text)")
        let me = try await fixture.send(.get, "/v1/session", as: session)
        #expect(me.json["operator"]?["factors"]?["totp"] == .bool(true), "\(me.text)")
        #expect(me.json["methods"] == .array([.string("totp")]))
        #expect(try await fixture.actions().contains("operator.totp_added"))
        let stored = try await fixture.service.storage.app.query("SELECT seed FROM operator_totp")
        #expect(try stored[0].get(0, as: [UInt8].self) != app.seed)
    }

    @Test func `a seed that was offered too long ago is not taken`() async throws {
        let fixture = try await OperatorFixture.make()
        let session = try await fixture.signedIn()
        let app = try await fixture.offer(as: session)
        fixture.clock.advance(seconds: 901)
        let fresh = try await fixture.signedIn()
        #expect(try await fixture.confirm(app, as: fresh).status == 422)
    }

    @Test func `the password alone is refused with what is missing`() async throws {
        let fixture = try await OperatorFixture.make()
        let app = try await fixture.withApp()
        let half = try await fixture.signIn()
        #expect(half.status == 401, "\(half.text)")
        #expect(half.json["code"]?.string == "second_factor_required")
        #expect(half.json["methods"] == .array([.string("totp")]), "\(half.text)")
        #expect(OperatorFixture.cookie(of: half) == nil)
        // A wrong password and an unknown account say nothing of it.
        let wrong = try await fixture.signIn("wrong", #","totp":"\#(fixture.code(app))""#)
        #expect(wrong.json["code"]?.string == "unauthorized", "\(wrong.text)")
        let unknown = try await fixture.service.send(
            .post, "/v1/session",
            json: #"{"email":"x@door.example","password":"wrong","totp":"123456"}"#)
        #expect(unknown.json["detail"] == wrong.json["detail"])
        let whole = try await fixture.signIn(
            OperatorFixture.password, #","totp":"\#(fixture.code(app))""#)
        #expect(whole.status == 201, "\(whole.text)")
        #expect(whole.json["step_up_until"]?.string != nil, "a sign-in with the factor steps up")
    }

    @Test func `a code is good once, be it for two requests at once`() async throws {
        let fixture = try await OperatorFixture.make()
        let app = try await fixture.withApp()
        let more = #","totp":"\#(fixture.code(app))""#
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask { try await fixture.signIn(OperatorFixture.password, more).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 201 } == 1, "\(statuses)")
        #expect(try await fixture.signIn(OperatorFixture.password, more).status != 201)
        // Nor is the code of before, once a later one was used.
        fixture.clock.advance(seconds: 30)
        let later = fixture.code(app, steps: 1)
        _ = try await fixture.signedIn(#","totp":"\#(later)""#)
        let earlier = #","totp":"\#(fixture.code(app))""#
        #expect(try await fixture.signIn(OperatorFixture.password, earlier).status == 401)
    }

    @Test func `wrong codes are locked out, whatever the password`() async throws {
        let fixture = try await OperatorFixture.make()
        let app = try await fixture.withApp()
        for _ in 0..<5 {
            let wrong = try await fixture.signIn(
                OperatorFixture.password, #","totp":"000000""#, from: "198.51.100.8")
            #expect(wrong.json["code"]?.string == "second_factor_required", "\(wrong.text)")
        }
        // In every browser that the operator has not used: the counter is the account's.
        let right = try await fixture.signIn(
            OperatorFixture.password, #","totp":"\#(fixture.code(app))""#, from: "198.51.100.9")
        #expect(right.status == 429, "\(right.text)")
        #expect(try await fixture.actions().count { $0 == "operator.factor_refused" } == 5)
        fixture.clock.advance(seconds: 30)
        let later = try await fixture.signIn(
            OperatorFixture.password, #","totp":"\#(fixture.code(app))""#, from: "198.51.100.9")
        #expect(later.status == 201, "\(later.text)")
    }

    @Test func `recovery codes sign in once each, and step nothing up`() async throws {
        let fixture = try await OperatorFixture.make()
        let session = try await fixture.signedIn()
        let none = try await fixture.send(.post, "/v1/me/recovery-codes", "{}", as: session)
        #expect(none.status == 409, "\(none.text)")
        let app = try await fixture.withApp()
        let stepped = try await fixture.signedIn(#","totp":"\#(fixture.code(app))""#)
        let made = try await fixture.send(.post, "/v1/me/recovery-codes", "{}", as: stepped)
        #expect(made.status == 201, "\(made.text)")
        let codes = (made.json["codes"]?.array ?? []).compactMap(\.string)
        #expect(Set(codes).count == 10)
        #expect(codes.allSatisfy { $0.utf8.count == 19 })
        let half = try await fixture.signIn()
        #expect(half.json["methods"] == .array([.string("totp"), .string("recovery_code")]))
        // As somebody types it.
        let typed = codes[0].lowercased().replacing("-", with: " ")
        let back = try await fixture.signIn(
            OperatorFixture.password, #","recovery_code":"\#(typed)""#)
        #expect(back.status == 201, "\(back.text)")
        #expect(back.json["step_up_until"] == .null)
        let again = try await fixture.signIn(
            OperatorFixture.password, #","recovery_code":"\#(codes[0])""#)
        #expect(again.status == 401, "\(again.text)")
        let weak = try #require(OperatorFixture.cookie(of: back))
        let act = try await fixture.send(.delete, "/v1/me/totp", as: weak)
        #expect(act.json["code"]?.string == "step_up_required", "\(act.text)")
        let anew = try await fixture.send(.post, "/v1/me/recovery-codes", "{}", as: stepped)
        #expect(anew.status == 201)
        let old = try await fixture.signIn(
            OperatorFixture.password, #","recovery_code":"\#(codes[1])""#)
        #expect(old.status == 401, "earlier codes end with new ones")
    }

    @Test func `who has a second factor steps up by it alone`() async throws {
        let fixture = try await OperatorFixture.make()
        let app = try await fixture.withApp()
        fixture.clock.advance(seconds: 60)
        let session = try await fixture.signedIn(#","totp":"\#(fixture.code(app))""#)
        fixture.clock.advance(seconds: 660)
        let weak = try await fixture.stepUp(
            session, #"{"password":"\#(OperatorFixture.password)"}"#)
        #expect(weak.status == 403, "\(weak.text)")
        #expect(weak.json["methods"] == .array([.string("totp")]))
        let wrong = try await fixture.stepUp(session, #"{"totp":"000000"}"#)
        #expect(wrong.status == 401, "\(wrong.text)")
        let right = #"{"totp":"\#(fixture.code(app))"}"#
        let done = try await fixture.stepUp(session, right)
        #expect(done.status == 200, "\(done.text)")
        let new = try #require(OperatorFixture.cookie(of: done))
        #expect(try await fixture.stepUp(new, right).status == 401, "the code was used")
        let removed = try await fixture.send(.delete, "/v1/me/totp", as: new)
        #expect(removed.status == 204, "\(removed.text)")
        #expect(try await fixture.send(.delete, "/v1/me/totp", as: new).status == 404)
        _ = try await fixture.signedIn()
        #expect(try await fixture.actions().contains("operator.totp_removed"))
    }

    @Test func `no link opens an account with a second factor`() async throws {
        let fixture = try await OperatorFixture.make()
        let storage = fixture.service.storage
        let before = TokenSecret.make()
        try await storage.storeOperatorLink(
            TokenSecret.hash(before) ?? [], for: fixture.id, seconds: 3600)
        _ = try await fixture.withApp()
        let after = TokenSecret.make()
        try await storage.storeOperatorLink(
            TokenSecret.hash(after) ?? [], for: fixture.id, seconds: 3600)
        for token in [before, after] {
            let answer = try await fixture.service.send(
                .post, "/v1/session", json: #"{"token":"\#(token)"}"#)
            #expect(answer.status == 401, "\(answer.text)")
        }
    }

    @Test func `the server's own reset takes the factors away, a mailed one keeps them`()
        async throws
    {
        let fixture = try await OperatorFixture.make()
        let app = try await fixture.withApp()
        let storage = fixture.service.storage
        for isMailed in [true, false] {
            let token = TokenSecret.make()
            if isMailed {
                try await storage.scope(.platform).change(by: .system) {
                    try await $0.addOperatorLink(
                        TokenSecret.hash(token) ?? [], for: fixture.id, to: .passwordReset,
                        seconds: 600, isMailed: true)
                }
            } else {
                _ = try await storage.offerOperatorReset(
                    to: OperatorFixture.email, tokenHash: TokenSecret.hash(token) ?? [],
                    by: .system)
            }
            let set = try await fixture.service.send(
                .post, "/v1/password-resets/confirm",
                json: #"{"token":"\#(token)","password":"\#(OperatorFixture.password)"}"#)
            #expect(set.status == 204, "\(set.text)")
            #expect(try await fixture.signIn().status == (isMailed ? 401 : 201))
        }
        #expect(try await fixture.actions().contains("operator.factors_reset"))
        _ = app
    }
}
