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

/// Operators' addresses: one confirmed row has it, unproved claims coexist.
@Suite(.cleansUp) struct OperatorClaimsTests {
    private struct Fixture {
        let service: TestService
        let sink: SMTPSink

        /// Makes an operator at the tenant; the token of the link, mailed or shown.
        func make(
            _ email: String, as who: TestService.Credential, delivery: String
        ) async throws -> (id: String, token: String) {
            let made = try await service.send(
                .post, "/v1/operators",
                json:
                    #"{"email":"\#(email)","role":"auditor","delivery":"\#(delivery)","scope":\#(who.scope)}"#,
                as: who)
            #expect(made.status == 201, "\(made.text)")
            let id = made.json["id"]?.string ?? ""
            if let url = made.json["sign_in_url"]?.string {
                return (id, String(url.split(separator: "=").last ?? ""))
            }
            try await service.composition.mailSender?.round()
            return (id, try token(try #require(sink.mails.last)))
        }

        func token(_ mail: SMTPSink.Mail) throws -> String {
            let text = try #require(mail.parts.first)
            let after = try #require(text.split(separator: "#token=").dropFirst().first)
            return String(after.prefix { !$0.isWhitespace })
        }

        func follow(_ token: String) async throws -> Int {
            try await service.send(
                .post, "/v1/session", json: #"{"token":"\#(token)"}"#,
                fields: [OperatorFixture.device("home")]
            ).status
        }

        func row(_ id: String) async throws -> JSONValue {
            try await service.send(.get, "/v1/operators/\(id)", as: .platformOwner).json
        }

        func setPassword(_ password: String, of id: String) async throws {
            let hash = try await service.composition.application.passwords.hash(
                Array(password.utf8))
            _ = try await service.storage.app.query(
                "UPDATE operators SET password_hash = \(hash) WHERE id = \(try #require(UUID(id)))")
        }

        func signIn(_ email: String, _ password: String, tenant: String? = nil) async throws
            -> TestAnswer
        {
            let more = tenant.map { #","tenant":"\#($0)""# } ?? ""
            return try await service.send(
                .post, "/v1/session",
                json: #"{"email":"\#(email)","password":"\#(password)"\#(more)}"#,
                fields: [OperatorFixture.device("home")])
        }
    }

    private static func make() async throws -> (Fixture, TenantRow, TenantRow) {
        let sink = SMTPSink()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))))
        let acme = try await service.makeTenant("acme")
        let evil = try await service.makeTenant("evil")
        return (Fixture(service: service, sink: sink), acme, evil)
    }

    private static let email = "ceo@victim.example"

    @Test func `a tenant's claim does not block another tenant or the platform`() async throws {
        let (fixture, acme, evil) = try await Self.make()
        let squat = try await fixture.make(Self.email, as: .tenantAdmin(evil), delivery: "link")
        #expect(try await fixture.row(squat.id)["confirmed"] == .bool(false))
        // A link that was shown proves nothing, though it signs in.
        #expect(try await fixture.follow(squat.token) == 201)
        #expect(try await fixture.row(squat.id)["confirmed"] == .bool(false))
        let real = try await fixture.make(Self.email, as: .tenantAdmin(acme), delivery: "mail")
        #expect(try await fixture.row(real.id)["confirmed"] == .bool(false))
        #expect(try await fixture.follow(real.token) == 201)
        #expect(try await fixture.row(real.id)["confirmed"] == .bool(true))
        // One at most in a tenant, and one confirmed.
        for who: TestService.Credential in [.tenantAdmin(evil), .platformOwner] {
            let again = try await fixture.service.send(
                .post, "/v1/operators",
                json: #"{"email":"\#(Self.email)","role":"auditor","scope":\#(who.scope)}"#,
                as: who)
            #expect(again.status == 409 && again.json["code"]?.string == "email_taken")
        }
        let audit = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=operator.confirmed",
            as: .platformOwner)
        #expect(audit.json["items"]?.array?.count == 1)
        // What the platform makes is confirmed at once, despite earlier claims.
        _ = try await fixture.make("cfo@victim.example", as: .tenantAdmin(evil), delivery: "link")
        let made = try await fixture.make(
            "cfo@victim.example", as: .platformOwner, delivery: "link")
        #expect(try await fixture.row(made.id)["confirmed"] == .bool(true))
    }

    @Test func `each row has its own password, and the confirmed one goes without a tenant`()
        async throws
    {
        let (fixture, acme, evil) = try await Self.make()
        let squat = try await fixture.make(Self.email, as: .tenantAdmin(evil), delivery: "link")
        try await fixture.setPassword("the squatter's own password", of: squat.id)
        // The only one there is needs no tenant.
        #expect(
            try await fixture.signIn(Self.email, "the squatter's own password").status == 201)
        let real = try await fixture.make(Self.email, as: .tenantAdmin(acme), delivery: "mail")
        try await fixture.setPassword("the victim's own password", of: real.id)
        // Of several, none confirmed, it has to be said which.
        #expect(try await fixture.signIn(Self.email, "the victim's own password").status == 401)
        #expect(
            try await fixture.signIn(
                Self.email, "the victim's own password", tenant: "acme"
            ).status == 201)
        #expect(try await fixture.follow(real.token) == 201)
        let mine = try await fixture.signIn(Self.email, "the victim's own password")
        #expect(mine.json["operator"]?["id"]?.string == real.id, "\(mine.text)")
        #expect(try await fixture.signIn(Self.email, "the squatter's own password").status == 401)
        let below = try await fixture.signIn(
            Self.email, "the squatter's own password", tenant: evil.id.description)
        #expect(below.json["operator"]?["id"]?.string == squat.id, "\(below.text)")
        #expect(
            try await fixture.signIn(
                Self.email, "the squatter's own password", tenant: "nowhere"
            ).status == 401)
    }

    @Test func `resets go to the confirmed row, with a tenant to that tenant's`() async throws {
        let (fixture, acme, evil) = try await Self.make()
        let squat = try await fixture.make(Self.email, as: .tenantAdmin(evil), delivery: "link")
        let real = try await fixture.make(Self.email, as: .tenantAdmin(acme), delivery: "mail")
        #expect(try await fixture.follow(real.token) == 201)
        func reset(_ more: String, _ password: String) async throws {
            func resets() -> [SMTPSink.Mail] {
                fixture.sink.mails.filter { $0.parts.first?.contains("/reset#token=") == true }
            }
            let before = resets().count
            let asked = try await fixture.service.send(
                .post, "/v1/password-resets", json: #"{"email":"\#(Self.email)"\#(more)}"#)
            #expect(asked.status == 202)
            try await fixture.service.composition.resetAnswers.round()
            try await fixture.service.composition.mailSender?.round()
            #expect(resets().count == before + 1)
            let token = try fixture.token(try #require(resets().last))
            let done = try await fixture.service.send(
                .post, "/v1/password-resets/confirm",
                json: #"{"token":"\#(token)","password":"\#(password)"}"#)
            #expect(done.status == 204, "\(done.text)")
        }
        try await reset("", "violet anchor meadow seventeen")
        let mine = try await fixture.signIn(Self.email, "violet anchor meadow seventeen")
        #expect(mine.json["operator"]?["id"]?.string == real.id)
        try await reset(#","tenant":"evil""#, "another anchor meadow eighteen")
        let theirs = try await fixture.signIn(
            Self.email, "another anchor meadow eighteen", tenant: "evil")
        #expect(theirs.json["operator"]?["id"]?.string == squat.id)
        #expect(try await fixture.row(squat.id)["confirmed"] == .bool(false))
    }

    @Test
    func `an operator becomes active only by signing in, and the last active owner stays`()
        async throws
    {
        let (fixture, acme, _) = try await Self.make()
        let path = "/v1/operators"
        let made = try await fixture.service.send(
            .post, path,
            json:
                #"{"email":"o2@acme.example","role":"owner","delivery":"link","scope":{"tenant":"acme"}}"#,
            as: .tenantAdmin(acme))
        let second = "\(path)/\(made.json["id"]?.string ?? "")"
        func patch(_ path: String, _ json: String) async throws -> TestAnswer {
            try await fixture.service.send(.patch, path, json: json, as: .platformOwner)
        }
        #expect(try await patch(second, #"{"status":"active"}"#).status == 409)
        #expect(try await patch(second, #"{"status":"suspended"}"#).status == 200)
        let resumed = try await patch(second, #"{"status":"active"}"#)
        #expect(resumed.json["status"]?.string == "pending", "\(resumed.text)")
        // A pending owner, and one who never signed in, do not count.
        let list = try await fixture.service.send(.get, path, as: .tenantAdmin(acme))
        let first = list.json["items"]?.array?.first {
            $0["email"]?.string?.hasPrefix("owner-") == true
        }
        let own = "\(path)/\(first?["id"]?.string ?? "")"
        _ = try await fixture.service.storage.app.query(
            "UPDATE operators SET status = 'active' WHERE email_key = 'o2@acme.example'")
        let removed = try await fixture.service.send(.delete, own, as: .platformOwner)
        #expect(removed.status == 409, "\(removed.text)")
        _ = try await fixture.service.storage.app.query(
            "UPDATE operators SET last_sign_in_at = now() WHERE email_key = 'o2@acme.example'")
        #expect(try await fixture.service.send(.delete, own, as: .platformOwner).status == 204)
    }

    @Test func `a browser with a successful sign-in is known for 90 days, by link too`()
        async throws
    {
        let clock = TestClock()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        let hash = try await service.composition.application.passwords.hash(
            Array("a good password".utf8))
        let person = try await service.storage.createOperator(
            email: "own@example.com", emailKey: "own@example.com", name: nil, role: .owner,
            tenant: nil, passwordHash: hash, by: .system)
        func signIn(_ password: String, _ address: String) async throws -> Int {
            try await service.send(
                .post, "/v1/session",
                json: #"{"email":"own@example.com","password":"\#(password)"}"#,
                fields: [OperatorFixture.device(address)], from: address
            ).status
        }
        let token = TokenSecret.make()
        try await service.storage.storeOperatorLink(
            TokenSecret.hash(token) ?? [], for: person.id, seconds: 60)
        let linked = try await service.send(
            .post, "/v1/session", json: #"{"token":"\#(token)"}"#,
            fields: [OperatorFixture.device("192.0.2.1")], from: "192.0.2.1")
        #expect(linked.status == 201)
        for day in [1, 89] {
            clock.advance(seconds: Int64(day) * 86_400)
            _ = try await service.storage.sweep { _, _ in }
            for _ in 0..<6 { _ = try await signIn("wrong", "198.51.100.7") }
            let elsewhere = try await signIn("a good password", "198.51.100.8")
            let here = try await signIn("a good password", "192.0.2.1")
            #expect(elsewhere == 429 && here == 201, "day \(day)")
        }
    }
}
