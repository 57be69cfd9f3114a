import API
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What an account keeps that was given to the owner of its address, and who gets a mail.
@Suite(.cleansUp) struct GivenAccountTests {
    private struct Fixture {
        let service: TestService
        let tenant: TenantRow
        let sink: SMTPSink
        let clock: TestClock
        let user: UUID
        let decision: String

        func give() async throws -> TestAnswer {
            let answer = try await service.send(
                .post, "/v1/tenants/acme/provisioning/decisions/\(decision)/resolve",
                json: #"{"action":"give_account"}"#, as: .platformOwner)
            #expect(answer.status == 200, "\(answer.text)")
            return answer
        }

        var scope: TenantScope { service.storage.scope(tenant.id) }

        func count(_ rows: SQL) async throws -> Int {
            try await scope.read("/* test */ SELECT count(*) FROM \(rows)").first?.get(
                0, as: Int.self) ?? -1
        }
    }

    /// A stranger accepted at the page by a link that was shown; then the owner of the address came.
    private static func make() async throws -> Fixture {
        let (sink, clock) = (SMTPSink(), TestClock())
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))),
            clock: { clock.now })
        let tenant = try await service.makeTenant("acme")
        try await service.manage(
            .post, "/v1/providers", #"{"kind":"google","name":"Google","client_id":"web"}"#)
        let invite = try await service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"ann@ex.com","delivery":"link"}"#)
        let token = try #require(invite["token"]?.string, "\(invite)")
        let accepted = try await service.send(
            .post, "/v1/invites/accept",
            json:
                #"{"token":"\#(token)","password":"a entry point that opens once","name":"Ann"}"#
        )
        let user = accepted.json["user"]?["id"]?.string.flatMap { UUID($0) }
        let refused = try await service.send(
            .post, "/v1/hooks/pre-signup",
            json: #"{"provider":"google","subject":"1","email":"ann@ex.com","#
                + #""email_verified":true}"#, as: .platformOwner)
        #expect(refused.json["reason"]?.string == "identity_link_required", "\(refused.text)")
        return Fixture(
            service: service, tenant: tenant, sink: sink, clock: clock,
            user: try #require(user, "\(accepted.text)"),
            decision: try #require(refused.json["decision_id"]?.string))
    }

    @Test func `every credential ends except those that an operator linked`() async throws {
        let fixture = try await Self.make()
        let user = fixture.user
        let path = "/v1/tenants/acme/users/\(user)"
        try await fixture.service.manage(
            .post, "\(path)/identities",
            #"{"provider":"github","issuer":"https://github.com","subject":"7"}"#)
        let link = try await fixture.service.manage(.post, "\(path)/password-link", "{}")
        let reset = String(link["url"]?.string?.split(separator: "=").last ?? "")
        try await fixture.scope.change(by: .system) { change in
            let end = change.now.adding(seconds: 600)
            try await change.query(
                "UPDATE users SET pin_hash = 'x' WHERE tenant_id = \(change.tenant)")
            try await change.query(
                """
                INSERT INTO sessions (tenant_id, id, user_id, client, token_hash, created_at,
                    last_seen_at, expires_at)
                VALUES (\(change.tenant), \(UUID.random()), \(user), 'immich', 'x',
                    \(change.now), \(change.now), \(end))
                """)
            try await change.query(
                """
                INSERT INTO link_grants (tenant_id, id, token_hash, user_id, created_at,
                    expires_at)
                VALUES (\(change.tenant), \(UUID.random()), \([1] as [UInt8]), \(user),
                    \(change.now), \(end))
                """)
            try await change.query(
                """
                INSERT INTO known_devices (tenant_id, user_id, key, last_at)
                VALUES (\(change.tenant), \(user), \([1] as [UInt8]), \(change.now))
                """)
        }
        let given = try await fixture.give()
        let providers = given.json["user"]?["identities"]?.array?.compactMap {
            $0["provider"]?.string
        }
        #expect(providers?.sorted() == ["github", "google"], "\(given.text)")
        #expect(try await fixture.count("users WHERE pin_hash IS NOT NULL") == 0)
        for rows in ["sessions", "link_grants", "known_devices"] as [SQL] {
            #expect(try await fixture.count(rows) == 0)
        }
        let late = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(reset)","password":"another entry point that opens"}"#)
        #expect(late.status == 404, "\(late.text)")
        // The password's own sign-in does not come back by itself.
        #expect(try await fixture.count("barred_identities WHERE provider = 'password'") == 1)
    }

    @Test(arguments: [(Int64(-1), 2), (0, 0)])
    func `every address of the account gets mails for three days`(
        seconds: Int64, count: Int
    ) async throws {
        let fixture = try await Self.make()
        let user = fixture.user
        try await fixture.scope.change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject,
                    email, created_at)
                VALUES (\(change.tenant), \(UUID.random()), \(user), 'github',
                    'https://github.com', '9', 'other@ex.com', \(change.now))
                """)
        }
        _ = try await fixture.give()
        fixture.clock.advance(seconds: 3 * 86_400 + seconds)
        let mailSender = try #require(fixture.service.composition.mailSender)
        while try await mailSender.round() > 0 {}
        let told = fixture.sink.mails.filter {
            $0.header("Subject")?.contains("has a new owner") == true
        }
        let addresses = ["<ann@ex.com>", "<other@ex.com>"].prefix(count)
        #expect(told.flatMap(\.to).sorted() == Array(addresses))
        for mail in told {
            let text = mail.parts.first ?? ""
            #expect(text.contains("If this is a mistake, tell the administrator"), "\(text)")
            #expect(!text.contains("works once"), "\(text)")
        }
    }
}
