import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// `/v1/me`: what operators do with their own account.
@Suite(.cleansUp) struct OwnAccountTests {
    @Test func `operators name themselves, and nothing else of theirs changes`() async throws {
        let fixture = try await OperatorFixture.make(role: .support)
        let session = try await fixture.signedIn()
        let named = try await fixture.send(.patch, "/v1/me", #"{"name":"Ada"}"#, as: session)
        #expect(named.status == 200, "\(named.text)")
        #expect(named.json["name"]?.string == "Ada")
        #expect(named.json["role"]?.string == "support")
        let more = try await fixture.send(
            .patch, "/v1/me", #"{"name":"Ada","role":"owner"}"#, as: session)
        #expect(more.status == 422, "\(more.text)")
    }

    @Test func `a new password ends every other session`() async throws {
        let fixture = try await OperatorFixture.make()
        let (own, other) = (try await fixture.signedIn(), try await fixture.signedIn())
        let new = "a quite different password"
        for weak in ["short", OperatorFixture.email] {
            let refused = try await fixture.send(
                .put, "/v1/me/password", #"{"password":"\#(weak)"}"#, as: own)
            #expect(refused.status == 422, "\(refused.text)")
        }
        let set = try await fixture.send(
            .put, "/v1/me/password", #"{"password":"\#(new)"}"#, as: own)
        #expect(set.status == 204, "\(set.text)")
        #expect(try await fixture.send(.get, "/v1/session", as: own).status == 200)
        #expect(try await fixture.send(.get, "/v1/session", as: other).status == 401)
        #expect(try await fixture.signIn().status == 401)
        #expect(try await fixture.signIn(new).status == 201)
        #expect(try await fixture.actions().contains("operator.password_changed"))
    }

    @Test func `sessions are listed and ended, and only the own ones`() async throws {
        let fixture = try await OperatorFixture.make()
        let own = try await fixture.signedIn()
        fixture.clock.advance(seconds: 1)
        let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
        let second = try await fixture.service.send(
            .post, "/v1/session",
            json:
                #"{"email":"\#(OperatorFixture.email)","password":"\#(OperatorFixture.password)"}"#,
            fields: [Field("user-agent", agent)], from: "198.51.100.1")
        let other = try #require(OperatorFixture.cookie(of: second))
        let list = try await fixture.send(.get, "/v1/me/sessions", as: own)
        let items = try #require(list.json["items"]?.array, "\(list.text)")
        #expect(items.count == 2)
        let foreign = try #require(items.first { $0["current"] == .bool(false) })
        #expect(foreign["device"]?.string == "Firefox on Linux")
        #expect(foreign["ip"]?.string == "198.51.100.1")
        #expect(foreign["method"]?.string == "password")
        #expect(items.count { $0["current"] == .bool(true) } == 1)
        let stranger = try await fixture.service.session(role: .owner, tenant: nil)
        let id = try #require(foreign["id"]?.string)
        let theirs = try await fixture.send(.delete, "/v1/me/sessions/\(id)", as: stranger)
        #expect(theirs.status == 404, "\(theirs.text)")
        #expect(try await fixture.send(.delete, "/v1/me/sessions/\(id)", as: own).status == 204)
        #expect(try await fixture.send(.get, "/v1/session", as: other).status == 401)
        fixture.clock.advance(seconds: 1)
        let third = try await fixture.signedIn()
        #expect(try await fixture.send(.delete, "/v1/me/sessions", as: own).status == 204)
        #expect(try await fixture.send(.get, "/v1/session", as: third).status == 401)
        #expect(try await fixture.send(.get, "/v1/session", as: own).status == 200)
        #expect(try await fixture.send(.get, "/v1/session", as: stranger).status == 200)
        let signIns = try await fixture.send(.get, "/v1/me/sign-ins", as: own)
        let past = try #require(signIns.json["items"]?.array, "\(signIns.text)")
        #expect(past.count == 3)
        #expect(past.allSatisfy { $0["method"]?.string == "password" })
        #expect(past[1]["ip"]?.string == "198.51.100.1")
    }

    @Test func `a changed factor and a new browser are mailed`() async throws {
        let sink = SMTPSink()
        let fixture = try await OperatorFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        let session = try await fixture.signedIn()
        let new = "a quite different password"
        _ = try await fixture.send(
            .put, "/v1/me/password", #"{"password":"\#(new)"}"#, as: session)
        _ = try await fixture.withApp(new)
        fixture.clock.advance(seconds: 60)
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
        let texts = sink.mails.compactMap(\.parts.first)
        #expect(texts.count == 2, "\(texts)")
        #expect(texts.contains { $0.contains("a new password was set") })
        #expect(texts.contains { $0.contains("an authenticator app was added") })
        #expect(texts.allSatisfy { $0.contains("/not-me#token=") && !$0.contains(new) })
        // Half a sign-in is none: its browser is not known by it, and no mail says so.
        #expect(try await fixture.signIn(new, from: "198.51.100.77").status == 401)
        let app = try await fixture.service.storage.app.query("SELECT 1 FROM operator_devices")
        #expect(app.count == 1)
        while try await sender.round() > 0 {}
        #expect(sink.mails.count == 2)
    }

    @Test func `a sign-in in an unknown browser sends a mail, except the first one`()
        async throws
    {
        let sink = SMTPSink()
        let fixture = try await OperatorFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        _ = try await fixture.signedIn()
        _ = try await fixture.signedIn()
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
        #expect(sink.mails.isEmpty)
        #expect(
            try await fixture.signIn(from: "198.51.100.77").status == 201)
        while try await sender.round() > 0 {}
        let text = try #require(sink.mails.first?.parts.first)
        #expect(sink.mails.count == 1)
        #expect(text.contains("198.51.100.77"))
    }

    @Test func `only an operator who never signed in gets a new sign-in link`() async throws {
        let fixture = try await OperatorFixture.make()
        let owner = try await fixture.signedIn()
        let made = try await fixture.send(
            .post, "/v1/operators",
            #"{"email":"new@door.example","role":"admin","scope":{"platform":true}}"#, as: owner)
        let id = try #require(made.json["id"]?.string, "\(made.text)")
        func token(_ answer: TestAnswer) -> String {
            let url = answer.json["sign_in_url"]?.string ?? ""
            return url.split(separator: "#token=").last.map(String.init) ?? ""
        }
        let anew = try await fixture.send(.post, "/v1/operators/\(id)/link", "{}", as: owner)
        #expect(anew.status == 201, "\(anew.text)")
        func signIn(_ token: String) async throws -> Int {
            try await fixture.service.send(
                .post, "/v1/session", json: #"{"token":"\#(token)"}"#
            ).status
        }
        #expect(try await signIn(token(made)) == 401, "the lost link is dead")
        #expect(try await signIn(token(anew)) == 201)
        let late = try await fixture.send(.post, "/v1/operators/\(id)/link", "{}", as: owner)
        #expect(late.status == 409, "\(late.text)")
        let own = try await fixture.send(
            .post, "/v1/operators/\(fixture.id)/link", "{}", as: owner)
        #expect(own.status == 409, "\(own.text)")
        #expect(try await fixture.actions().contains("operator.link_made"))
    }

    @Test func `who has a password gets no link that is shown, though they never signed in`()
        async throws
    {
        let fixture = try await OperatorFixture.make()
        let owner = try await fixture.signedIn()
        let hash = try await fixture.service.composition.application.passwords.hash(
            Array("some words".utf8))
        let made = try await fixture.service.storage.createOperator(
            email: "other@door.example", emailKey: "other@door.example", name: nil, role: .admin,
            tenant: nil, passwordHash: hash, by: .system)
        let path = "/v1/operators/\(made.id)/link"
        let shown = try await fixture.send(.post, path, #"{"delivery":"link"}"#, as: owner)
        #expect(shown.status == 409, "\(shown.text)")
        #expect(shown.json["sign_in_url"] == nil)
    }

    @Test func `an operator who has signed in gets a mailed link to a new password`() async throws {
        let sink = SMTPSink()
        let fixture = try await OperatorFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        let app = try await fixture.withApp()
        let owner = try await fixture.signedIn(#","totp":"\#(fixture.code(app))""#)
        let shown = try await fixture.send(
            .post, "/v1/operators/\(fixture.id)/link", #"{"delivery":"link"}"#, as: owner)
        #expect(shown.status == 409, "\(shown.text)")
        let mailed = try await fixture.send(
            .post, "/v1/operators/\(fixture.id)/link", "{}", as: owner)
        #expect(mailed.status == 201, "\(mailed.text)")
        #expect(mailed.json["sign_in_url"] == .null)
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
        let mail = try #require(
            sink.mails.compactMap(\.parts.first).first { $0.contains("/reset#token=") })
        let token = try #require(mail.split(separator: "/reset#token=").last).prefix {
            !$0.isWhitespace
        }
        let set = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"a quite different password"}"#)
        #expect(set.status == 204, "\(set.text)")
        let half = try await fixture.signIn("a quite different password")
        #expect(half.json["code"]?.string == "second_factor_required", "\(half.text)")
    }

    @Test func `a new factor ends the password proofs of other sessions`() async throws {
        let fixture = try await OperatorFixture.make()
        let other = try await fixture.signedIn()
        let own = try await fixture.signedIn()
        let app = try await fixture.offer(as: own)
        #expect(try await fixture.confirm(app, as: own).status == 204)
        let taken = try await fixture.send(
            .put, "/v1/me/password", #"{"password":"a quite different password"}"#, as: other)
        #expect(taken.json["code"]?.string == "step_up_required", "\(taken.text)")
        #expect(taken.json["methods"] == .array([.string("totp")]))
        let codes = try await fixture.send(.post, "/v1/me/recovery-codes", "{}", as: own)
        #expect(codes.status == 201 || codes.status == 200, "\(codes.text)")
    }

    @Test func `who is due and has none reaches the own account alone`() async throws {
        let fixture = try await OperatorFixture.make(secondFactorDays: 7)
        let session = try await fixture.signedIn()
        let me = try await fixture.send(.get, "/v1/session", as: session)
        #expect(me.json["operator"]?["second_factor_due"]?.string != nil, "\(me.text)")
        #expect(try await fixture.send(.get, "/v1/operators", as: session).status == 200)
        fixture.clock.advance(seconds: 8 * 86_400)
        let late = try await fixture.signedIn()
        let refused = try await fixture.send(.get, "/v1/operators", as: late)
        #expect(refused.status == 403, "\(refused.text)")
        #expect(refused.json["code"]?.string == "second_factor_required")
        #expect(try await fixture.send(.get, "/v1/me", as: late).status == 200)
        #expect(try await fixture.send(.get, "/v1/mesh", as: late).status == 404)
        let app = try await fixture.offer(as: late)
        #expect(try await fixture.confirm(app, as: late).status == 204)
        #expect(try await fixture.send(.get, "/v1/operators", as: late).status == 200)
        let lacking = try await Database.operatorsWithoutSecondFactor(fixture.service.storage.app)
        #expect(lacking.isEmpty)
    }

    @Test func `other roles need no second factor`() async throws {
        let fixture = try await OperatorFixture.make(role: .support, secondFactorDays: 0)
        let session = try await fixture.signedIn()
        let me = try await fixture.send(.get, "/v1/session", as: session)
        #expect(me.json["operator"]?["second_factor_due"] == .null, "\(me.text)")
        #expect(try await fixture.send(.get, "/v1/tenants", as: session).status == 200)
    }
}
