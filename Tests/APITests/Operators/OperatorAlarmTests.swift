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

/// What an operator is told of a thief, and what the button in such a mail does.
@Suite(.cleansUp) struct OperatorAlarmTests {
    private struct Fixture {
        let base: OperatorFixture
        let sink: SMTPSink

        static func make() async throws -> Fixture {
            let sink = SMTPSink()
            let base = try await OperatorFixture.make(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
            return Fixture(base: base, sink: sink)
        }

        /// The texts of all mails so far.
        func mails() async throws -> [String] {
            let sender = try #require(base.service.composition.mailSender)
            while try await sender.round() > 0 {}
            return sink.mails.compactMap(\.parts.first)
        }

        func notMe(_ token: String) async throws -> TestAnswer {
            try await base.service.send(
                .post, "/v1/session/not-me", json: #"{"token":"\#(token)"}"#)
        }

        static func token(_ mail: String, of page: String = "not-me") throws -> String {
            let rest = try #require(mail.split(separator: "/\(page)#token=").dropFirst().first)
            return String(rest.prefix { !$0.isWhitespace })
        }

        /// Of the last mail with a link to a new password.
        func resetToken() async throws -> String {
            let mail = try #require(try await mails().last { $0.contains("/reset#token=") })
            return try Self.token(mail, of: "reset")
        }
    }

    @Test func `wrong codes after the right password cause a mail, once in an hour`() async throws {
        let fixture = try await Fixture.make()
        let app = try await fixture.base.withApp()
        let before = try await fixture.mails().count
        func wrong() async throws {
            _ = try await fixture.base.signIn(
                OperatorFixture.password, #","totp":"000000""#, from: "198.51.100.9")
        }
        try await wrong()
        try await wrong()
        #expect(try await fixture.mails().count == before, "two may be a slip")
        for _ in 0..<3 { try await wrong() }
        let told = try await fixture.mails()
        #expect(told.count == before + 1)
        #expect(told.last?.contains("198.51.100.9") ?? false)
        #expect(told.last?.contains("/not-me#token=") ?? false)
        fixture.base.clock.advance(seconds: 3601)
        try await wrong()
        #expect(try await fixture.mails().count == before + 2)
        // A wrong password says nothing, and a right code neither.
        _ = try await fixture.base.signIn("wrong")
        fixture.base.clock.advance(seconds: 3601)
        let own = try await fixture.base.signIn(
            OperatorFixture.password, #","totp":"\#(fixture.base.code(app))""#)
        #expect(own.status == 201, "\(own.text)")
        #expect(try await fixture.mails().count == before + 2)
    }

    @Test func `no mail of others silences it`() async throws {
        let fixture = try await Fixture.make()
        let storage = fixture.base.service.storage
        let session = try await fixture.base.signedIn()
        for number in 0..<3 {
            let tenant = try await fixture.base.service.makeTenant("evil\(number)")
            try await storage.scope(tenant.id).change(by: .system) { change in
                for _ in 0..<20 {
                    try await change.post(
                        OutgoingMail(
                            .operatorChanged, to: OperatorFixture.email, expiresAt: change.now),
                        about: .random())
                }
            }
        }
        let set = try await fixture.base.send(
            .put, "/v1/me/password", #"{"password":"a quite different password"}"#, as: session)
        #expect(set.status == 204, "\(set.text)")
        let rows = try await storage.platform.read(
            "SELECT urgent FROM mail WHERE tenant_id = \(UUID.platform)")
        #expect(
            try rows.map { try $0.get(0, as: Bool.self) } == [true], "before any tenant's queue")
        // An hour's mails are bounded all the same.
        for number in 0..<25 {
            _ = try await fixture.base.send(
                .put, "/v1/me/password", #"{"password":"a quite different password \#(number)"}"#,
                as: session)
        }
        let all = try await storage.platform.read(
            "/* test */ SELECT 1 FROM mail WHERE tenant_id = \(UUID.platform) AND kind <> 'notices'"
        )
        #expect(all.count == 20)
    }

    @Test func `this was not me ends every session and the password, by a button and once`()
        async throws
    {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let own = try await base.signedIn()
        let thief = try await base.signIn(from: "198.51.100.66")
        let stolen = try #require(OperatorFixture.cookie(of: thief))
        // The thief's own password ends no link that tells of him.
        let set = try await base.send(
            .put, "/v1/me/password", #"{"password":"a thief's own password"}"#, as: stolen)
        #expect(set.status == 204, "\(set.text)")
        let told = try await fixture.mails()
        let mail = try #require(told.first { $0.contains("198.51.100.66") }, "\(told)")
        let token = try Fixture.token(mail)
        // A mail system that opens the link changes nothing.
        for method in [Method.get, .head] {
            _ = try await base.service.send(method, "/not-me?token=\(token)")
            let api = try await base.service.send(method, "/v1/session/not-me?token=\(token)")
            #expect(api.status == 405, "\(api.status)")
        }
        #expect(try await base.send(.get, "/v1/session", as: stolen).status == 200)
        let seen = try #require(try await base.service.storage.operatorRow(base.id))
        let done = try await fixture.notMe(token)
        #expect(done.status == 200, "\(done.text)")
        #expect(done.first("cache-control") == "no-store")
        for session in [own, stolen] {
            #expect(try await base.send(.get, "/v1/session", as: session).status == 401)
        }
        #expect(try await base.signIn("a thief's own password").status == 401)
        #expect(try await base.signIn().status == 401)
        // Nor does the thief's sign-in in flight come through.
        await #expect(throws: StorageFailure.self) {
            try await base.service.storage.startOperatorSession(
                seen, tokenHash: SHA256.hash([1]), userAgent: nil, method: .password, by: .system)
        }
        #expect(try await base.actions().contains("operator.disowned"))
        #expect(try await fixture.notMe(token).status == 404, "it is used")
        for other in told where other.contains("/not-me#token=") {
            #expect(try await fixture.notMe(try Fixture.token(other)).status == 404)
        }
        #expect(done.json["reset_mailed"] == .bool(true), "\(done.text)")
        let reset = try await fixture.resetToken()
        let new = try await base.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(reset)","password":"a quite different password"}"#)
        #expect(new.status == 204, "\(new.text)")
        #expect(try await base.signIn("a quite different password").status == 201)
    }

    @Test func `it keeps the second factor, and ends after three days`() async throws {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let app = try await base.withApp()
        let token = try Fixture.token(try #require(try await fixture.mails().last))
        base.clock.advance(seconds: 3 * 86_400)
        #expect(try await fixture.notMe(token).status == 404)
        _ = try await base.signIn(
            OperatorFixture.password, #","totp":"\#(base.code(app))""#, from: "198.51.100.66")
        let late = try Fixture.token(try #require(try await fixture.mails().last))
        let done = try await fixture.notMe(late)
        #expect(done.json["reset_mailed"] == .bool(true), "\(done.text)")
        let reset = try await fixture.resetToken()
        let new = "a quite different password"
        _ = try await base.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(reset)","password":"\#(new)"}"#)
        let half = try await base.signIn(new)
        #expect(half.json["code"]?.string == "second_factor_required", "\(half.text)")
    }

    @Test func `the mail about an app that a thief added disowns the app`() async throws {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let app = try await base.withApp()
        let token = try Fixture.token(try #require(try await fixture.mails().last))
        #expect(try await fixture.notMe(token).status == 200)
        let reset = try await fixture.resetToken()
        let new = "a quite different password"
        _ = try await base.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(reset)","password":"\#(new)"}"#)
        base.clock.advance(seconds: 60)
        let code = #","totp":"\#(base.code(app))""#
        #expect(try await base.signIn(new, code).status == 401)
        // Nor does who reads the mail get around a second factor: only the server's administrator helps.
        let half = try await base.signIn(new)
        #expect(half.json["code"]?.string == "second_factor_required", "\(half.text)")
        #expect(half.json["methods"] == .array([]))
        #expect(half.json["detail"]?.string?.contains("gatehouse operator reset") == true)
        let way = TokenSecret.make()
        _ = try await base.service.storage.offerOperatorReset(
            to: OperatorFixture.email, tokenHash: TokenSecret.hash(way) ?? [], by: .system)
        _ = try await base.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(way)","password":"\#(new)"}"#)
        #expect(try await base.signIn(new).status == 201)
    }

    @Test func `an app that came after the mail is another one, and codes end with theirs`()
        async throws
    {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let old = try await base.withApp()
        let first = try Fixture.token(try #require(try await fixture.mails().last))
        base.clock.advance(seconds: 60)
        let session = try await base.signedIn(#","totp":"\#(base.code(old))""#)
        let app = try await base.offer(as: session)
        #expect(try await base.confirm(app, as: session).status == 204)
        let made = try await base.send(.post, "/v1/me/recovery-codes", "{}", as: session)
        #expect(made.status == 201, "\(made.text)")
        // Two mails are due, and two connections may carry them in either order.
        let codes = try Fixture.token(
            try #require(try await fixture.mails().last { $0.contains("recovery codes") }))
        #expect(try await fixture.notMe(first).status == 200)
        let factors = try #require(try await base.service.storage.operatorRow(base.id)).factors
        #expect(factors.totp && factors.recoveryCodesLeft == 10)
        // The link about the codes goes on: it disowns them.
        #expect(try await fixture.notMe(codes).status == 200)
        #expect(
            try await base.service.storage.operatorRow(base.id)?.factors.recoveryCodesLeft == 0)
    }

    @Test func `no factor is added without a mail that disowns it`() async throws {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let app = try await base.withApp()
        let session = try await base.signedIn(#","totp":"\#(base.code(app))""#)
        var statuses: [Int: Int] = [:]
        for _ in 0..<80 {
            let made = try await base.send(.post, "/v1/me/recovery-codes", "{}", as: session)
            statuses[made.status, default: 0] += 1
        }
        #expect(statuses[201].map { $0 < 60 } ?? false, "\(statuses)")
        #expect(statuses[409].map { $0 > 20 } ?? false, "\(statuses)")
    }

    @Test func `of several links used at once, one acts, and none waits for another`() async throws
    {
        let fixture = try await Fixture.make()
        _ = try await fixture.base.signedIn()
        for number in 0..<3 {
            _ = try await fixture.base.signIn(from: "198.51.100.\(number)")
        }
        let tokens = try await fixture.mails().map { try Fixture.token($0) }
        #expect(tokens.count == 3)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for token in tokens { group.addTask { try await fixture.notMe(token).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [200, 404, 404])
    }

    @Test func `links that do not fit are counted for their client`() async throws {
        let fixture = try await Fixture.make()
        for _ in 0..<60 {
            #expect(try await fixture.notMe(TokenSecret.make()).status == 404)
        }
        #expect(try await fixture.notMe(TokenSecret.make()).status == 429)
    }

    @Test func `the ways to sign in are told with why there are no passkeys`() async throws {
        for (url, isThere) in [("https://gatehouse.test", true), ("http://127.0.0.1:8080", false)] {
            let fixture = try await PasskeyFixture.make(publicURL: url)
            let answer = try await fixture.service.send(.get, "/v1/session/ways")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["passkeys"] == .bool(isThere))
            #expect((answer.json["passkeys_fault"] == .null) == isThere, "\(answer.text)")
        }
    }
}
