import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct PasskeyTests {
    @Test func `a passkey is added, listed, renamed and removed, each audited`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        let options = try await fixture.options(session)
        #expect(options["rp"]?["id"]?.string == "gatehouse.test")
        #expect(options["user"]?["name"]?.string == person.email)
        #expect(options["attestation"]?.string == "none")
        let asked = options["authenticatorSelection"]
        #expect(asked?["residentKey"]?.string == "required")
        #expect(asked?["userVerification"]?.string == "required")
        #expect(
            options["pubKeyCredParams"]?.array?.compactMap { $0["alg"]?.int } == [-7, -8, -257])
        fixture.clock.advance(seconds: 1)
        let (_, id) = try await fixture.registered(session)
        let listed = try await fixture.send(.get, as: session).json["items"]?.array
        #expect(listed?.count == 1)
        #expect(listed?[0]["name"]?.string == "Laptop")
        #expect(listed?[0]["usable"]?.bool == true)
        #expect(listed?[0]["last_used_at"] == .null)
        #expect(listed?[0]["transports"] == .array([.string("hybrid"), .string("internal")]))
        let path = "\(PasskeyFixture.path)/\(id)"
        fixture.clock.advance(seconds: 1)
        let renamed = try await fixture.send(.patch, path, #"{"name":"Phone"}"#, as: session)
        #expect(renamed.json["name"]?.string == "Phone")
        let again = try await fixture.options(session)
        #expect(again["excludeCredentials"]?.array?.count == 1)
        #expect(again["user"]?["id"] == options["user"]?["id"])
        fixture.clock.advance(seconds: 1)
        #expect(try await fixture.send(.delete, path, as: session).status == 204)
        #expect(try await fixture.send(.delete, path, as: session).status == 404)
        #expect(
            try await fixture.actions().prefix(3) == [
                "operator.passkey_removed", "operator.passkey_renamed", "operator.passkey_added",
            ])
    }

    @Test func `the handle is no id, and each operator has another one`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (ann, first) = try await fixture.person("ann")
        let (_, second) = try await fixture.person("ben")
        let one = try await fixture.options(first)["user"]?["id"]?.string
        let other = try await fixture.options(second)["user"]?["id"]?.string
        #expect(one?.utf8.count == 43)
        #expect(one != other)
        #expect(one?.contains(ann.id.description) == false)
    }

    @Test func `a challenge is good once, for its session and its purpose alone`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        var passkey = try SoftPasskey(origin: PasskeyFixture.origin)
        let options = try await fixture.options(session)
        let body = PasskeyFixture.body(passkey.register(options))
        // Another session of the same operator has not asked.
        let other = try await fixture.begin(person)
        let refused = try await fixture.send(.post, PasskeyFixture.path, body, as: other)
        #expect(refused.status == 422)
        #expect(refused.text.contains("challenge_mismatch"))
        #expect(
            try await fixture.send(.post, PasskeyFixture.path, body, as: session).status == 201)
        let second = try await fixture.send(.post, PasskeyFixture.path, body, as: session)
        #expect(second.text.contains("challenge_mismatch"))
        // A challenge for a step-up registers nothing.
        var next = try SoftPasskey(origin: PasskeyFixture.origin)
        let stepUp = try await fixture.options(session, for: .stepUp)
        let wrong = PasskeyFixture.body(next.register(stepUp))
        #expect(
            try await fixture.send(.post, PasskeyFixture.path, wrong, as: session).text
                .contains("challenge_mismatch"))
        // One of 5 minutes ago is over.
        let old = PasskeyFixture.body(next.register(try await fixture.options(session)))
        fixture.clock.advance(seconds: 300)
        #expect(
            try await fixture.send(.post, PasskeyFixture.path, old, as: session).text
                .contains("challenge_mismatch"))
    }

    @Test func `a wrong answer costs its challenge and says what did not hold`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        let cases: [(String, (inout SoftPasskey) -> Void)] = [
            ("origin_mismatch", { $0.origin = "https://gatehouse.test:8443" }),
            ("origin_mismatch", { $0.origin = "http://gatehouse.test" }),
            ("user_not_verified", { $0.flags = 0x01 }), ("user_absent", { $0.flags = 0x04 }),
        ]
        for (reason, lie) in cases {
            var passkey = try SoftPasskey(origin: PasskeyFixture.origin)
            lie(&passkey)
            let options = try await fixture.options(session)
            let body = PasskeyFixture.body(passkey.register(options))
            let answer = try await fixture.send(.post, PasskeyFixture.path, body, as: session)
            #expect(answer.status == 422)
            #expect(
                answer.text.contains("is not a valid new passkey (\(reason))"), "\(answer.text)")
            passkey.origin = PasskeyFixture.origin
            passkey.flags = 0x05
            let again = PasskeyFixture.body(passkey.register(options))
            #expect(
                try await fixture.send(.post, PasskeyFixture.path, again, as: session).text
                    .contains("challenge_mismatch"))
        }
    }

    @Test func `one credential is stored once, and an operator has twenty at most`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        let (_, other) = try await fixture.person("ben")
        var (passkey, _) = try await fixture.registered(session)
        for token in [session, other] {
            let body = PasskeyFixture.body(passkey.register(try await fixture.options(token)))
            let twice = try await fixture.send(.post, PasskeyFixture.path, body, as: token)
            #expect(twice.status == 409, "\(twice.text)")
        }
        var late = try SoftPasskey(origin: PasskeyFixture.origin)
        let early = try await fixture.options(session)
        for number in 2...Passkey.most {
            _ = try await fixture.registered(session, name: "\(number)")
        }
        let path = PasskeyFixture.path
        #expect(try await fixture.send(.post, path + "/options", "{}", as: session).status == 409)
        let body = PasskeyFixture.body(late.register(early))
        #expect(try await fixture.send(.post, path, body, as: session).status == 409)
        #expect(
            try await fixture.send(.get, as: session).json["items"]?.array?.count == Passkey.most)
    }

    @Test func `a key of more bytes than are stored is refused`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        var passkey = try SoftPasskey(origin: PasskeyFixture.origin)
        // 2048 bits behind as many zeros as make it too long.
        passkey.cose =
            [0xA4, 1, 3, 3, 0x39, 1, 0, 0x20, 0x59, 0x11, 0]
            + [UInt8](repeating: 0, count: 0x1000) + [UInt8](repeating: 0xC5, count: 256)
            + [0x21, 0x43, 1, 0, 1]
        let options = try await fixture.options(session)
        let answer = try await fixture.send(
            .post, PasskeyFixture.path, PasskeyFixture.body(passkey.register(options)), as: session)
        #expect(answer.status == 422, "\(answer.text)")
        #expect(answer.text.contains("new passkey (key_refused)"), "\(answer.text)")
    }

    @Test func `another operator's passkey is not there`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann")
        let (_, other) = try await fixture.person("ben")
        let (_, id) = try await fixture.registered(session)
        let path = "\(PasskeyFixture.path)/\(id)"
        #expect(try await fixture.send(.patch, path, #"{"name":"x"}"#, as: other).status == 404)
        #expect(try await fixture.send(.delete, path, as: other).status == 404)
        #expect(try await fixture.send(.get, as: other).json["items"] == .array([]))
    }

    @Test func `an operator without a password keeps the last passkey`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (_, session) = try await fixture.person("ann", hasPassword: false)
        let (_, first) = try await fixture.registered(session)
        let path = PasskeyFixture.path
        #expect(try await fixture.send(.delete, "\(path)/\(first)", as: session).status == 409)
        let (_, second) = try await fixture.registered(session, name: "Other")
        #expect(try await fixture.send(.delete, "\(path)/\(first)", as: session).status == 204)
        #expect(try await fixture.send(.delete, "\(path)/\(second)", as: session).status == 409)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080", "address"), ("https://192.0.2.1", "address"),
        ("https://[2001:db8::1]", "address"), ("http://gatehouse.test", "https"),
    ])
    func `where browsers offer none the answer says why`(url: String, word: String) async throws {
        let fixture = try await PasskeyFixture.make(publicURL: url)
        let (_, session) = try await fixture.person("ann")
        for path in ["\(PasskeyFixture.path)/options", "/v1/session/passkey-options"] {
            let answer = try await fixture.send(.post, path, "{}", as: session)
            #expect(answer.status == 409)
            #expect(answer.text.contains(word), "\(answer.text)")
        }
        #expect(try await fixture.send(.get, as: session).json["items"] == .array([]))
    }
}
