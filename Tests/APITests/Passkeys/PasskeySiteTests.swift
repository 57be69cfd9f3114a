import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Where passkeys are good, and what becomes of those that are not any more.
@Suite(.cleansUp) struct PasskeySiteTests {
    @Test(arguments: [
        ("https://gatehouse.test", "gatehouse.test", "https://gatehouse.test"),
        ("https://Gatehouse.test:443/", "gatehouse.test", "https://gatehouse.test"),
        ("https://gatehouse.test:8443", "gatehouse.test", "https://gatehouse.test:8443"),
        ("http://localhost:8080", "localhost", "http://localhost:8080"),
    ])
    func `the site follows from the public URL`(url: String, host: String, origin: String) throws {
        let site = try PasskeySite(publicURL: url)
        #expect(site.host == host)
        #expect(site.origin == origin)
    }

    @Test func `a host below the first one's costs no passkey, another host costs all`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        _ = try await fixture.registered(session)
        let first = fixture.service.storage
        for (url, party, lost) in [
            ("https://id.gatehouse.test", "gatehouse.test", 0),
            ("https://xgatehouse.test", "xgatehouse.test", 1), ("https://test", "test", 1),
        ] {
            let site = try PasskeySite(publicURL: url)
            let storage = first.with { $0.passkeySite = .success(site) }
            #expect(try await storage.relyingParty(of: site) == party)
            let found = try await storage.passkeysLost()
            #expect(found.map(\.count) == (lost == 0 ? [] : [lost]))
            try await storage.markUsablePasskeys()
            #expect(try await storage.operatorRow(person.id)?.factors.passkeys == 1 - lost)
            #expect(try await storage.operatorsLost() == lost)
        }
        // The way back brings them back.
        try await first.markUsablePasskeys()
        #expect(try await first.operatorRow(person.id)?.factors.passkeys == 1)
    }

    /// An operator with a passkey at a server that has another name since.
    private func moved() async throws -> (PasskeyFixture, OperatorRow, SoftPasskey) {
        let fixture = try await PasskeyFixture.make()
        let (person, session) = try await fixture.person("ann")
        let (passkey, _) = try await fixture.registered(session)
        try await move(fixture, to: "https://elsewhere.test")
        return (fixture, person, passkey)
    }

    /// As a start under that public URL would mark them.
    private func move(_ fixture: PasskeyFixture, to url: String) async throws {
        let site = try PasskeySite(publicURL: url)
        let storage = fixture.service.storage.with { $0.passkeySite = .success(site) }
        try await storage.markUsablePasskeys()
    }

    private func byPassword(_ fixture: PasskeyFixture, _ more: String = "") async throws
        -> TestAnswer
    {
        try await fixture.service.send(
            .post, "/v1/session",
            json: #"{"email":"ann@operators.test","password":"long enough ann"\#(more)}"#)
    }

    @Test func `under another server name the password alone opens no account`() async throws {
        let (fixture, person, _) = try await moved()
        let refused = try await byPassword(fixture)
        #expect(refused.status == 401, "\(refused.text)")
        #expect(refused.json["code"]?.string == "second_factor_required", "\(refused.text)")
        #expect(refused.json["methods"] == .array([]))
        #expect(refused.text.contains("gatehouse operator reset"), "\(refused.text)")
        #expect(PasskeyFixture.session(of: refused) == nil)
        let factors = try await fixture.service.storage.operatorRow(person.id)?.factors
        #expect(factors?.passkeys == 0 && factors?.unusablePasskeys == 1)
        #expect(factors?.stepUpMethods == [])
        // A session of before does not step up by the password either.
        let session = try await fixture.begin(person)
        let stepUp = try await fixture.send(
            .post, "/v1/session/step-up", #"{"password":"long enough ann"}"#, as: session)
        #expect(stepUp.status == 403, "\(stepUp.text)")
        let act = try await fixture.send(.post, "/v1/me/recovery-codes", as: session)
        #expect(act.status == 403 && act.text.contains("gatehouse operator reset"), "\(act.text)")
        // Nor does a link sign in.
        let token = TokenSecret.make()
        try await fixture.service.storage.storeOperatorLink(
            TokenSecret.hash(token) ?? [], for: person.id, seconds: 600)
        let linked = try await fixture.service.send(
            .post, "/v1/session", json: #"{"token":"\#(token)"}"#)
        #expect(linked.status == 401, "\(linked.text)")
    }

    @Test func `the server's own reset is the way back, and the old name another`() async throws {
        let (fixture, person, passkey) = try await moved()
        try await move(fixture, to: PasskeyFixture.origin)
        var known = passkey
        #expect(try await fixture.signIn(&known).status == 201)
        try await move(fixture, to: "https://elsewhere.test")
        let token = TokenSecret.make()
        _ = try await fixture.service.storage.offerOperatorReset(
            to: person.email, tokenHash: TokenSecret.hash(token) ?? [], by: .system)
        let set = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"long enough ann"}"#)
        #expect(set.status == 204, "\(set.text)")
        #expect(try await byPassword(fixture).status == 201)
    }

    @Test func `of two domains above the server one alone is asked for, and both count`()
        async throws
    {
        let fixture = try await PasskeyFixture.make()
        let (ann, first) = try await fixture.person("ann")
        let (ben, second) = try await fixture.person("ben")
        _ = try await fixture.registered(first)
        fixture.clock.advance(seconds: 1)
        _ = try await fixture.registered(second)
        let storage = fixture.service.storage
        _ = try await storage.app.query(
            """
            UPDATE operator_passkeys SET relying_party = 'test', usable = false
            WHERE operator_id = \(ben.id)
            """)
        try await storage.markUsablePasskeys()
        #expect(try await fixture.signInOptions().options["rpId"]?.string == "gatehouse.test")
        #expect(try await storage.operatorRow(ann.id)?.factors.passkeys == 1)
        let other = try await storage.operatorRow(ben.id)?.factors
        #expect(other?.passkeys == 0 && other?.hasSecondFactor == true)
        #expect(try await storage.passkeysLost().map(\.party) == ["test"])
        // The last of the one domain goes: the other's come with the next start.
        _ = try await storage.app.query(
            "DELETE FROM operator_passkeys WHERE operator_id = \(ann.id)")
        #expect(try await fixture.signInOptions().options["rpId"]?.string == "gatehouse.test")
        try await storage.markUsablePasskeys()
        #expect(try await fixture.signInOptions().options["rpId"]?.string == "test")
        #expect(try await storage.operatorRow(ben.id)?.factors.passkeys == 1)
    }
}
