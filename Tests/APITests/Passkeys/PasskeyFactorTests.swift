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

/// Passkeys beside the other ways to prove who one is.
@Suite(.cleansUp) struct PasskeyFactorTests {
    @Test func `adding or removing a passkey sends a mail with its name`()
        async throws
    {
        let sink = SMTPSink()
        let fixture = try await PasskeyFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        let (person, session) = try await fixture.person("ann")
        let (_, id) = try await fixture.registered(session)
        let path = "\(PasskeyFixture.path)/\(id)"
        #expect(try await fixture.send(.delete, path, as: session).status == 204)
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
        #expect(sink.mails.count == 2)
        for text in ["the passkey Laptop was added", "the passkey Laptop was removed"] {
            #expect(sink.mails.contains { $0.parts.first?.contains(text) ?? false }, "\(text)")
        }
        #expect(sink.mails.allSatisfy { $0.to == ["<\(person.email)>"] })
    }

    @Test func `one-time links end as the first passkey comes`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        let token = TokenSecret.make()
        try await fixture.service.storage.storeOperatorLink(
            TokenSecret.hash(token) ?? [], for: person.id, seconds: 600)
        _ = try await fixture.registered(session)
        let answer = try await fixture.service.send(
            .post, "/v1/session", json: #"{"token":"\#(token)"}"#)
        #expect(answer.status == 401, "\(answer.text)")
    }

    @Test func `recovery codes end with the last second factor`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        let (_, first) = try await fixture.registered(session)
        let (_, second) = try await fixture.registered(session, name: "Other")
        let made = try await fixture.send(.post, "/v1/me/recovery-codes", as: session)
        #expect(made.status == 201, "\(made.text)")
        for (id, left) in [(first, 10), (second, 0)] {
            let path = "\(PasskeyFixture.path)/\(id)"
            #expect(try await fixture.send(.delete, path, as: session).status == 204)
            let factors = try await fixture.service.storage.operatorRow(person.id)?.factors
            #expect(factors?.recoveryCodesLeft == left)
        }
    }

    @Test func `the server's own reset takes passkeys away`() async throws {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        let token = TokenSecret.make()
        _ = try await fixture.service.storage.offerOperatorReset(
            to: person.email, tokenHash: TokenSecret.hash(token) ?? [], by: .system)
        let set = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"a sentence that is long enough"}"#)
        #expect(set.status == 204, "\(set.text)")
        #expect(try await fixture.signIn(&passkey).status == 401)
        #expect(try await fixture.actions().contains("operator.factors_reset"))
    }

    @Test func `a sign-in by a passkey in a new browser is mailed`() async throws {
        let sink = SMTPSink()
        let fixture = try await PasskeyFixture.make(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        let (_, session) = try await fixture.person("ann")
        var (passkey, _) = try await fixture.registered(session)
        let sender = try #require(fixture.service.composition.mailSender)
        while try await sender.round() > 0 {}
        let before = sink.mails.count
        for _ in 0..<2 {
            let device = OperatorFixture.device("laptop")
            #expect(try await fixture.signIn(&passkey, device: device).status == 201)
        }
        while try await sender.round() > 0 {}
        #expect(sink.mails.count == before + 1)
        #expect(sink.mails.last?.parts.first?.contains("192.0.2.7") ?? false)
    }
}
