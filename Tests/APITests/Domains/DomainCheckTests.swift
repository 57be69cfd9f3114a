import API
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

/// A domain that was proved is looked at again, at a real name server, and warned of by real mail.
@Suite(.cleansUp) struct DomainCheckTests {
    private static let day: Int64 = 86_400

    /// `acme` with a verified `example.com` by which people may join, an admin, and one who joined.
    private struct Fixture {
        let service: TestService
        let names: NameServer
        let sink: SMTPSink
        let clock: TestClock
        /// A key of the platform: it outlives a session.
        let key: String
        var id = ""
        var name = ""
        var value = ""

        func post(
            _ path: String, _ json: String
        ) async throws -> TestAnswer {
            try await service.send(.post, path, json: json, as: .bearer(key))
        }

        func domain() async throws -> JSONValue {
            try await service.send(
                .get, "/v1/tenants/acme/domains/\(id)", as: .bearer(key)
            ).json
        }

        func signIn(_ person: String) async throws -> String? {
            let answer = try await post(
                "/v1/hooks/pre-signup",
                """
                {"provider":"oidc","issuer":"https://issuer.example","subject":"\(person)",
                "email":"\(person)@example.com","email_verified":true,"tenant":"acme"}
                """)
            return answer.json["outcome"]?.string
        }

        func look(afterDays days: Int64) async throws -> [DomainCheck] {
            clock.advance(seconds: days * DomainCheckTests.day)
            return try await service.composition.domainChecks.round()
        }

        func actions() async throws -> [String] {
            let answer = try await service.send(
                .get, "/v1/tenants/acme/audit-events?action=domain.", as: .bearer(key))
            return (answer.json["items"]?.array ?? []).compactMap { $0["action"]?.string }
        }
    }

    private static func make() async throws -> Fixture {
        let (names, sink, clock) = (NameServer(), SMTPSink(), TestClock())
        var externalServices = ExternalServices(
            mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example")))
        externalServices.nameServer = .init(
            address: try #require(IPAddress("127.0.0.1")), port: names.port)
        let service = try await TestService.make(
            externalServices: externalServices, clock: { clock.now })
        let tenant = try await service.makeTenant("acme")
        let key = try #require(APIKeySecret.make(environment: .live, locator: "000000")).text
        #expect(try await service.storage.installSetupKey(key))
        var fixture = Fixture(service: service, names: names, sink: sink, clock: clock, key: key)
        let made = try await fixture.post("/v1/tenants/acme/domains", #"{"domain":"example.com"}"#)
        fixture.id = try #require(made.json["id"]?.string)
        fixture.name = try #require(made.json["verification"]?["record_name"]?.string)
        fixture.value = try #require(made.json["verification"]?["record_value"]?.string)
        names.set(fixture.name, .records([fixture.value]))
        // Events of one moment have no order.
        clock.advance(seconds: 1)
        let proof = #"{"method":"dns"}"#
        let proved = try await fixture.post("/v1/tenants/acme/domains/\(fixture.id)/verify", proof)
        #expect(proved.status == 200, "\(proved.text)")
        for (name, role, place) in [
            ("boss", Operator.Role.admin, tenant.id), ("help", .support, tenant.id),
            ("root", .owner, nil),
        ] {
            _ = try await service.storage.createOperator(
                email: "\(name)@acme.example", emailKey: "\(name)@acme.example", name: nil,
                role: role, tenant: place, passwordHash: "none", by: .system)
        }
        let provider = try await fixture.post(
            "/v1/providers",
            """
            {"kind":"oidc","name":"P","issuer":"https://issuer.example","client_id":"web",
            "email_trust":"authoritative","domains":["example.com"]}
            """)
        #expect(provider.status == 201, "\(provider.text)")
        let policy = try await service.send(
            .put, "/v1/tenants/acme/policy", json: #"{"sign_up":"domain"}"#, as: .bearer(key),
            fields: [Field("if-match", "*")])
        #expect(policy.status == 200, "\(policy.text)")
        #expect(try await fixture.signIn("ann") == "created")
        return fixture
    }

    @Test func `D5 a domain whose record stays is looked at once a week and stays verified`()
        async throws
    {
        let fixture = try await Self.make()
        let tag = try await fixture.domain()
        #expect(try await fixture.look(afterDays: 6) == [])
        #expect(try await fixture.look(afterDays: 1) == [.unchanged])
        #expect(try await fixture.look(afterDays: 0) == [])
        // A name server that fails tells nothing.
        fixture.names.set(fixture.name, .failure(2))
        #expect(try await fixture.look(afterDays: 7) == [.unchanged])
        #expect(try await fixture.domain() == tag)
        #expect(try await fixture.signIn("bea") == "created")
        #expect(fixture.sink.mails.isEmpty)
    }

    @Test func `D5 a domain without its record admits no new user after a week, and members stay`()
        async throws
    {
        let fixture = try await Self.make()
        fixture.names.set(fixture.name, .records([]))
        #expect(try await fixture.look(afterDays: 7) == [.lost])
        let lost = try await fixture.domain()
        #expect(lost["status"]?.string == "verified")
        #expect(lost["verification"]?["lost_at"]?.string != nil)
        #expect(try await fixture.signIn("bea") == "created")
        let mailSender = try #require(fixture.service.composition.mailSender)
        while try await mailSender.round() > 0 {}
        #expect(fixture.sink.mails.map(\.to) == [["<boss@acme.example>"]])
        let text = try #require(fixture.sink.mails.first?.parts.first)
        #expect(text.contains(fixture.value) && text.contains("/console/t/acme/domains"))
        #expect(!text.contains("works once"))

        for _ in 1..<7 { #expect(try await fixture.look(afterDays: 1) == [.missing]) }
        #expect(try await fixture.look(afterDays: 1) == [.lapsed])
        #expect(try await fixture.look(afterDays: 30) == [])
        #expect(try await fixture.domain()["status"]?.string == "pending")
        #expect(try await fixture.signIn("cid") == "refused")
        #expect(try await fixture.signIn("ann") == "existing")
        #expect(fixture.sink.mails.count == 1)
        #expect(
            try await fixture.actions().sorted() == [
                "domain.created", "domain.lapsed", "domain.lost", "domain.verified",
            ])
        // The present holder of the name may prove it.
        try await fixture.service.makeTenant("other")
        let theirs = try await fixture.post(
            "/v1/tenants/other/domains", #"{"domain":"example.com"}"#)
        let id = try #require(theirs.json["id"]?.string)
        let proved = try await fixture.post(
            "/v1/tenants/other/domains/\(id)/verify", #"{"method":"operator"}"#)
        #expect(proved.status == 200, "\(proved.text)")
    }

    @Test(arguments: [false, true])
    func `D5 a record that returns ends the loss, found by the service or an admin`(
        byAdmin: Bool
    ) async throws {
        let fixture = try await Self.make()
        fixture.names.set(fixture.name, .records([]))
        #expect(try await fixture.look(afterDays: 7) == [.lost])
        fixture.names.set(fixture.name, .records([fixture.value]))
        if byAdmin {
            let verify = "/v1/tenants/acme/domains/\(fixture.id)/verify"
            #expect(try await fixture.post(verify, #"{"method":"dns"}"#).status == 200)
            #expect(try await fixture.look(afterDays: 1) == [])
        } else {
            #expect(try await fixture.look(afterDays: 1) == [.found])
        }
        let found = try await fixture.domain()
        #expect(found["status"]?.string == "verified")
        #expect(found["verification"]?["lost_at"] == .null)
        #expect(try await fixture.look(afterDays: 7) == [.unchanged])
        #expect(try await fixture.signIn("bea") == "created")
    }

    @Test func `D5 a domain that an operator vouched for is not looked at`() async throws {
        let fixture = try await Self.make()
        let made = try await fixture.post("/v1/tenants/acme/domains", #"{"domain":"word.org"}"#)
        let id = try #require(made.json["id"]?.string)
        let proved = try await fixture.post(
            "/v1/tenants/acme/domains/\(id)/verify", #"{"method":"operator"}"#)
        #expect(proved.status == 200, "\(proved.text)")
        #expect(try await fixture.look(afterDays: 8) == [.unchanged])
    }

    @Test func `the platform's operators get the mail of a tenant without operators`() async throws
    {
        let fixture = try await Self.make()
        let storage = fixture.service.storage
        let tenant = try #require(try await storage.fetchTenant("acme"))
        _ = try await storage.scope(tenant.id).change(by: .system) { change in
            try await change.transaction.query(
                "UPDATE operators SET status = 'suspended' WHERE tenant_id = \(tenant.id)")
        }
        fixture.names.set(fixture.name, .records([]))
        #expect(try await fixture.look(afterDays: 7) == [.lost])
        let mailSender = try #require(fixture.service.composition.mailSender)
        while try await mailSender.round() > 0 {}
        #expect(fixture.sink.mails.map(\.to) == [["<root@acme.example>"]])
    }
}
