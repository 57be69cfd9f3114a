import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct PasskeySignInTests {
    @Test func `a passkey signs its operator in without an address`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        var (passkey, id) = try await fixture.registered(session, counter: 1)
        let answer = try await fixture.signIn(&passkey)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.json["operator"]?["id"]?.string == person.id.description)
        let token = try #require(PasskeyFixture.session(of: answer))
        #expect(token != session)
        let listed = try await fixture.send(.get, as: token).json["items"]?.array
        #expect(listed?[0]["id"]?.string == id)
        #expect(listed?[0]["last_used_at"]?.string != nil)
        // It is a step-up as well.
        #expect(answer.json["step_up_until"]?.string != nil)
        #expect(answer.json["methods"] == .array([.string("passkey")]))
    }

    @Test func `the options are the same whether anyone has a passkey`() async throws {
        let fixture = try await PasskeyFixture.make()
        func shape(_ options: JSONValue) -> [String] {
            (options.members ?? []).filter { $0.name != "challenge" }.map {
                "\($0.name) \(String(decoding: $0.value.encoded(), as: UTF8.self))"
            }
        }
        let before = try await fixture.signInOptions().options
        let (_, session) = try await fixture.person("ann")
        _ = try await fixture.registered(session)
        let after = try await fixture.signInOptions().options
        #expect(shape(before) == shape(after))
        #expect(after["allowCredentials"] == .array([]))
        #expect(after["userVerification"]?.string == "required")
        #expect(before["challenge"] != after["challenge"])
    }

    /// Each with one text, whatever the reason is.
    @Test func `everything but a fresh answer of a known passkey gets the same refusal`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        var answers: [TestAnswer] = []
        // An unknown credential.
        var stranger = try SoftPasskey(origin: PasskeyFixture.origin)
        stranger.handle = passkey.handle
        answers.append(try await fixture.signIn(&stranger))
        // Another origin, another's handle, no handle, a user who was not verified.
        var lie = passkey
        lie.origin = "https://gatehouse.test.evil.test"
        answers.append(try await fixture.signIn(&lie))
        lie = passkey
        lie.handle[0] ^= 1
        answers.append(try await fixture.signIn(&lie))
        lie = passkey
        lie.flags = 0x01
        answers.append(try await fixture.signIn(&lie))
        var (options, cookie) = try await fixture.signInOptions()
        let silent = try passkey.sign(options, namesUser: false)
        answers.append(try await fixture.signIn(silent, cookie: cookie))
        // A challenge of another browser, of none, and of a session.
        (options, cookie) = try await fixture.signInOptions()
        let signed = try passkey.sign(options)
        let foreign = try await fixture.signInOptions().cookie
        answers.append(try await fixture.signIn(signed, cookie: foreign))
        answers.append(try await fixture.signIn(signed, cookie: nil))
        answers.append(try await fixture.signIn(signed, cookie: "gatehouse-passkey=x"))
        let stepUp = try passkey.sign(try await fixture.options(session, for: .stepUp))
        answers.append(try await fixture.signIn(stepUp, cookie: cookie))
        // One of 5 minutes ago.
        let late = try await fixture.signInOptions()
        fixture.clock.advance(seconds: 300)
        answers.append(try await fixture.signIn(passkey.sign(late.options), cookie: late.cookie))
        for (index, answer) in answers.enumerated() {
            #expect(answer.status == 401, "\(index): \(answer.text)")
            #expect(
                answer.json["detail"]?.string == "The passkey is not valid.", "\(index)")
            #expect(answer.first("set-cookie") == nil, "\(index)")
        }
        // The failures before it do not keep the operator out.
        #expect(try await fixture.signIn(&passkey).status == 201)
    }

    @Test func `one answer sent twice at once begins one session`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        for counter: UInt32 in [0, 1] {
            var (passkey, _) = try await fixture.registered(session, counter: counter)
            for _ in 0..<5 {
                let (options, cookie) = try await fixture.signInOptions()
                let signed = try passkey.sign(options)
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 {
                        group.addTask { try await fixture.signIn(signed, cookie: cookie).status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.sorted() == [201, 401, 401, 401])
            }
        }
        let rows = try await fixture.service.storage.app.read(
            "SELECT count(*) FROM operator_sessions WHERE operator_id = \(person.id)")
        #expect(try rows.first?.get(0, as: Int.self) == 11)
    }

    @Test func `another fitness for backup is refused by name, and audited`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        passkey.flags |= 0x08
        fixture.clock.advance(seconds: 1)
        let refused = try await fixture.signIn(&passkey)
        #expect(refused.status == 401)
        let detail = refused.json["detail"]?.string ?? ""
        #expect(detail.contains("backed up") && detail.contains("add it again"), "\(detail)")
        #expect(try await fixture.actions().first == "operator.passkey_refused")
    }

    @Test func `a counter that does not grow is refused and audited, though two answers race`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session, counter: 5)
        var copy = passkey
        #expect(try await fixture.signIn(&passkey).status == 201)
        fixture.clock.advance(seconds: 1)
        #expect(try await fixture.signIn(&copy).status == 401)
        #expect(try await fixture.actions().first == "operator.passkey_refused")
        // Two copies with one counter, each with a challenge of its own.
        var twin = passkey
        let (one, oneCookie) = try await fixture.signInOptions()
        let (other, otherCookie) = try await fixture.signInOptions()
        let (first, second) = (try passkey.sign(one), try twin.sign(other))
        async let left = fixture.signIn(first, cookie: oneCookie).status
        async let right = fixture.signIn(second, cookie: otherCookie).status
        #expect(try await [left, right].sorted() == [201, 401])
    }

    @Test func `a passkey of a suspended operator or tenant signs nobody in`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let tenant = try await fixture.service.makeTenant("acme")
        let (ann, session) = try await fixture.person("ann", role: .admin, tenant: tenant.id)
        var (passkey, _) = try await fixture.registered(session)
        let service = fixture.service
        try await service.manage(.post, "/v1/tenants/acme/suspend", "{}")
        #expect(try await fixture.signIn(&passkey).status == 403)
        try await service.manage(.post, "/v1/tenants/acme/resume", "{}")
        #expect(try await fixture.signIn(&passkey).status == 201)
        try await service.manage(
            .patch, "/v1/operators/\(ann.id)", #"{"status":"suspended"}"#)
        #expect(try await fixture.signIn(&passkey).status == 401)
        let gone = try await service.send(.delete, "/v1/operators/\(ann.id)", as: .platformOwner)
        #expect(gone.status == 204)
        #expect(try await fixture.signIn(&passkey).status == 401)
    }

    @Test func `failures are bounded by themselves and lock no password out`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        var wrong = passkey
        wrong.handle = [1]
        var statuses: Set<Int> = []
        for _ in 0..<51 { statuses.insert(try await fixture.signIn(&wrong).status) }
        #expect(statuses == [401, 429])
        #expect(try await fixture.signIn(&passkey).status == 429)
        // From elsewhere the passkey is good, and here the password is.
        let (options, cookie) = try await fixture.signInOptions()
        let signed = try passkey.sign(options)
        #expect(try await fixture.signIn(signed, cookie: cookie, from: "192.0.2.8").status == 201)
        let password = try await fixture.service.send(
            .post, "/v1/session",
            json: #"{"email":"ann@operators.test","password":"long enough ann"}"#,
            from: "192.0.2.7")
        // It is right, and asks for the second factor.
        #expect(password.json["code"]?.string == "second_factor_required", "\(password.text)")
        #expect(password.json["methods"] == .array([.string("passkey")]))
    }

    @Test func `one browser's pages go on side by side`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        let (first, cookie) = try await fixture.signInOptions()
        var pages = [first]
        for _ in 1...Passkey.mostChallenges {
            fixture.clock.advance(seconds: 1)
            let (options, same) = try await fixture.signInOptions(cookie: cookie)
            #expect(same == cookie)
            pages.append(options)
        }
        let statuses = try await pages.asyncMap { page in
            try await fixture.signIn(passkey.sign(page), cookie: cookie).status
        }
        #expect(statuses == [Int](repeating: 201, count: Passkey.mostChallenges + 1))
    }

    @Test func `asking for options stores nothing, and answered challenges are removed`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        for _ in 0..<120 { _ = try await fixture.signInOptions() }
        let over = try await fixture.service.send(
            .post, "/v1/session/passkey-options", json: "{}", from: "192.0.2.7")
        #expect(over.status == 429)
        _ = try await fixture.signInOptions(from: "192.0.2.8")
        let storage = fixture.service.storage
        func waiting() async throws -> Int? {
            try await storage.app.read(
                """
                SELECT (SELECT count(*) FROM webauthn_challenges)
                    + (SELECT count(*) FROM answered_challenges)
                """
            ).first?.get(0)
        }
        #expect(try await waiting() == 0)
        var refused = passkey
        refused.handle = [1]
        for number in 0..<3 {
            let page = try await fixture.signInOptions(from: "192.0.2.\(number)")
            let answer =
                number == 0 ? try refused.sign(page.options) : try passkey.sign(page.options)
            let from = "192.0.2.\(number)"
            let status = try await fixture.signIn(answer, cookie: page.cookie, from: from).status
            #expect(status == (number == 0 ? 401 : 201))
            #expect(try await fixture.signIn(answer, cookie: page.cookie, from: from).status == 401)
        }
        #expect(try await waiting() == 3)
        fixture.clock.advance(seconds: 301)
        _ = try await storage.sweep { _, _ in }
        #expect(try await waiting() == 0)
    }
}

/// What a browser without a session is given to sign.
@Suite(.cleansUp) struct OpenChallengeTests {
    @Test func `a challenge of another server, browser or time is refused`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let storage = fixture.service.storage
        let (own, other) = (SHA256.hash([1]), SHA256.hash([2]))
        let made = storage.makeOpenChallenge(boundTo: own)
        for index in made.indices {
            var lie = made
            lie[index] ^= 1
            #expect(try await !storage.useOpenChallenge(lie, boundTo: own), "byte \(index)")
        }
        #expect(try await !storage.useOpenChallenge(Array(made.dropLast()), boundTo: own))
        #expect(try await !storage.useOpenChallenge(made, boundTo: other))
        fixture.clock.advance(seconds: 299)
        #expect(try await storage.useOpenChallenge(made, boundTo: own))
        #expect(try await !storage.useOpenChallenge(made, boundTo: own), "it is used")
        let late = storage.makeOpenChallenge(boundTo: own)
        fixture.clock.advance(seconds: 300)
        #expect(try await !storage.useOpenChallenge(late, boundTo: own))
    }
}

extension Array {
    fileprivate func asyncMap<Result>(
        _ body: (Element) async throws -> Result
    ) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
