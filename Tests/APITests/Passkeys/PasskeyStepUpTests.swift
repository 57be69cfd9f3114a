import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct PasskeyStepUpTests {
    @Test func `a passkey steps its own session up, which gets another cookie`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (person, first) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(first)
        let session = try await fixture.begin(person)
        let path = PasskeyFixture.path
        let early = try await fixture.send(.post, path + "/options", "{}", as: session)
        #expect(early.status == 403)
        #expect(early.json["code"]?.string == "step_up_required")
        #expect(early.json["methods"] == .array([.string("passkey")]))
        let options = try await fixture.options(session, for: .stepUp)
        #expect(options["allowCredentials"]?.array?.count == 1)
        // Its authenticator may leave the handle out: the credential was asked for.
        let signed = try passkey.sign(options, namesUser: false)
        fixture.clock.advance(seconds: 1)
        let answer = try await fixture.stepUp(signed, as: session)
        #expect(answer.status == 200, "\(answer.text)")
        let next = try #require(PasskeyFixture.session(of: answer))
        #expect(next != session)
        #expect(try await fixture.send(.get, as: session).status == 401)
        #expect(
            try await fixture.send(.post, path + "/options", "{}", as: next).status == 200)
        #expect(try await fixture.actions().first == "operator.stepped_up")
    }

    @Test func `no other operator's passkey, challenge or session steps up`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (ann, first) = try await fixture.person("ann")
        let (_, other) = try await fixture.person("ben")
        var (own, _) = try await fixture.registered(first)
        var (foreign, _) = try await fixture.registered(other)
        let session = try await fixture.begin(ann)
        // The other's passkey over this session's challenge.
        var options = try await fixture.options(session, for: .stepUp)
        #expect(try await fixture.stepUp(foreign.sign(options), as: session).status == 401)
        // The own passkey over a challenge of the other's session, and of a sign-in.
        options = try await fixture.options(other, for: .stepUp)
        #expect(try await fixture.stepUp(own.sign(options), as: session).status == 401)
        let (open, _) = try await fixture.signInOptions()
        #expect(try await fixture.stepUp(own.sign(open), as: session).status == 401)
        // A user who was not verified.
        var careless = own
        careless.flags = 0x01
        options = try await fixture.options(session, for: .stepUp)
        #expect(try await fixture.stepUp(careless.sign(options), as: session).status == 401)
        // The password is asked for no more.
        let password = try await fixture.send(
            .post, "/v1/session/step-up", #"{"password":"long enough ann"}"#, as: session)
        #expect(password.status == 403, "\(password.text)")
        options = try await fixture.options(session, for: .stepUp)
        #expect(try await fixture.stepUp(own.sign(options), as: session).status == 200)
    }

    @Test func `one answer sent twice at once steps up once`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (ann, first) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(first)
        let session = try await fixture.begin(ann)
        let signed = try passkey.sign(try await fixture.options(session, for: .stepUp))
        async let one = fixture.stepUp(signed, as: session).status
        async let other = fixture.stepUp(signed, as: session).status
        #expect(try await [one, other].sorted() == [200, 401])
    }

    @Test func `failures are bounded for the operator`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (ann, first) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(first)
        let session = try await fixture.begin(ann)
        var wrong = passkey
        wrong.flags = 0x01
        var statuses: Set<Int> = []
        for _ in 0..<11 {
            let options = try await fixture.options(session, for: .stepUp)
            statuses.insert(try await fixture.stepUp(wrong.sign(options), as: session).status)
        }
        #expect(statuses == [401, 429])
        // A sign-in is another count.
        #expect(try await fixture.signIn(&passkey).status == 201)
    }
}
