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

/// `POST /v1/provisioning/sign-in {"tenant","decline":true}`: a person declines what a tenant offers.
@Suite(.cleansUp) struct DeclineTests {
    private static let email = "ann@example.com"

    /// The tenants `acme` and `other`, a provider of the platform, and mail.
    private struct Fixture {
        let service: TestService
        let provider: TestProvider
        let acme: TenantRow
        let sink: SMTPSink
        let clock: TestClock

        func token(_ email: String = DeclineTests.email) -> String {
            provider.mint(clientID: "web", now: clock.now).token([
                "sub": "\"\(email)\"", "email": "\"\(email)\"", "email_verified": "true",
                "jti": "\"\(UUID.random())\"",
            ])
        }

        func signIn(_ body: String = "{}", as token: String? = nil) async throws -> TestAnswer {
            let answer = try await service.send(
                .post, "/v1/provisioning/sign-in", json: body, as: .bearer(token ?? self.token()))
            #expect(answer.status == 200, "\(answer.text)")
            return answer
        }

        func decline(_ tenant: String, as token: String? = nil) async throws -> TestAnswer {
            try await signIn(#"{"tenant":"\#(tenant)","decline":true}"#, as: token)
        }

        func invite(_ tenant: String, _ email: String = DeclineTests.email) async throws -> String {
            let made = try await service.manage(
                .post, "/v1/tenants/\(tenant)/invites", #"{"email":"\#(email)"}"#)
            return made["id"]?.string ?? ""
        }

        func count(_ rows: SQL, platform: Bool = false) async throws -> Int {
            try await service.storage.scope(platform ? .platform : acme.id)
                .read("/* test */ SELECT count(*) FROM \(rows)").first?.get(0, as: Int.self) ?? -1
        }

        /// Mails that are due go out.
        func carry() async throws -> [SMTPSink.Mail] {
            let mailSender = try #require(service.composition.mailSender)
            while try await mailSender.round() > 0 {}
            return sink.mails
        }
    }

    private static func make() async throws -> Fixture {
        let (sink, clock) = (SMTPSink(), TestClock())
        clock.startMinute()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                providers: OutboundPolicy(allowsLoopback: true),
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))),
            clock: { clock.now })
        let provider = try await TestProvider.start()
        let acme = try await service.makeTenant("acme")
        try await service.makeTenant("other")
        try await service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"P","issuer":"\#(provider.issuer)","client_id":"web","#
                + #""email_trust":"verified_claim"}"#)
        return Fixture(
            service: service, provider: provider, acme: acme, sink: sink, clock: clock)
    }

    private static func choices(_ answer: TestAnswer) -> [String] {
        (answer.json["choices"]?.array ?? []).compactMap { $0["tenant"]?["slug"]?.string }.sorted()
    }

    @Test func `a declined invite is revoked and audited, and its inviter gets a mail`()
        async throws
    {
        let fixture = try await Self.make()
        let invite = try await fixture.invite("acme")
        _ = try await fixture.invite("other")
        let asked = try await fixture.signIn()
        #expect(asked.outcome == "deferred tenant_choice_required", "\(asked.text)")
        #expect(Self.choices(asked) == ["acme", "other"], "\(asked.text)")
        _ = try await fixture.carry()
        fixture.clock.advance(seconds: 1)
        let declined = try await fixture.decline("acme")
        #expect(declined.outcome == "deferred tenant_choice_required", "\(declined.text)")
        #expect(Self.choices(declined) == ["other"], "\(declined.text)")
        let shown = try await fixture.service.send(
            .get, "/v1/tenants/acme/invites/\(invite)", as: .platformOwner)
        #expect(shown.json["status"]?.string == "revoked", "\(shown.text)")
        for action in ["invite.revoked", "sign_up.declined"] {
            #expect(
                try await fixture.count(
                    "audit_events WHERE action = \(action) AND actor_type = 'person'") == 1,
                "\(action)")
        }
        // The row that waited for the invite is gone with it.
        #expect(try await fixture.count("users") == 0)
        let told = try #require(try await fixture.carry().last)
        #expect(told.to != ["<\(Self.email)>"], "\(told.to)")
        #expect(told.header("Subject")?.contains("declined") == true)
        #expect(told.parts.first?.contains(Self.email) == true)
        // What is left is not taken by declining, but by signing in.
        let taken = try await fixture.signIn(#"{"tenant":"other"}"#)
        #expect(taken.outcome == "linked", "\(taken.text)")
    }

    @Test func `a member declines an offer elsewhere and stays where they are`() async throws {
        let fixture = try await Self.make()
        _ = try await fixture.invite("other")
        #expect(try await fixture.signIn().outcome == "linked")
        _ = try await fixture.invite("acme")
        fixture.clock.advance(seconds: 1)
        let known = try await fixture.signIn()
        #expect(known.outcome == "existing" && Self.choices(known) == ["acme"], "\(known.text)")
        let declined = try await fixture.decline("acme")
        #expect(declined.outcome == "existing", "\(declined.text)")
        #expect(declined.json["tenant"]?["slug"]?.string == "other", "\(declined.text)")
        #expect(Self.choices(declined) == [])
        // Sent anew it is offered, and may be declined, again.
        fixture.clock.advance(seconds: 1)
        _ = try await fixture.invite("acme")
        #expect(Self.choices(try await fixture.signIn()) == ["acme"])
        #expect(Self.choices(try await fixture.decline("acme")) == [])
        #expect(try await fixture.count("audit_events WHERE action = 'sign_up.declined'") == 2)
    }

    @Test func `declining what was not offered has no effect, and is limited to 30 a minute`()
        async throws
    {
        let fixture = try await Self.make()
        let eve = fixture.token("eve@stranger.example")
        for number in 0..<30 {
            let vain = try await fixture.decline("acme", as: eve)
            #expect(vain.outcome == "deferred", "\(number): \(vain.text)")
        }
        var over: Set<String> = []
        for _ in 0..<5 {
            let held = try await fixture.decline("acme", as: eve)
            #expect(held.outcome == "refused rate_limited", "\(held.text)")
            over.insert(held.text)
        }
        #expect(over.count == 1)
        #expect(try await fixture.count("decisions", platform: true) == 31)
        // What is offered is declined all the same.
        _ = try await fixture.invite("acme", "eve@stranger.example")
        #expect(try await fixture.decline("acme", as: eve).outcome == "deferred")
        #expect(try await fixture.count("invites WHERE status = 'revoked'") == 1)
        // Once: after that it is in vain again.
        #expect(try await fixture.decline("acme", as: eve).outcome == "refused rate_limited")
        fixture.clock.advance(seconds: 60)
        #expect(try await fixture.decline("acme", as: eve).outcome == "deferred")
    }

    @Test func `declined by several calls at once, it is declined once`() async throws {
        let fixture = try await Self.make()
        _ = try await fixture.invite("acme")
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<6 {
                group.addTask { try await fixture.decline("acme").outcome }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "deferred", count: 6))
        #expect(try await fixture.count("audit_events WHERE action = 'sign_up.declined'") == 1)
        #expect(try await fixture.count("invites WHERE status = 'revoked'") == 1)
    }

    @Test func `declining runs again if another transaction changed the rows in between`()
        async throws
    {
        let fixture = try await Self.make()
        _ = try await fixture.invite("acme")
        // The first try ends as where another transaction has changed the same rows.
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        for statement: SQL in [
            "CREATE SEQUENCE tries",
            """
            CREATE FUNCTION lose_first() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                IF nextval('public.tries') = 1 THEN
                    RAISE 'lost' USING ERRCODE = '40001';
                END IF;
                RETURN NEW;
            END $$
            """,
            """
            CREATE TRIGGER lose_first BEFORE INSERT ON pending_choices
            FOR EACH ROW EXECUTE FUNCTION lose_first()
            """,
        ] { _ = try await administrator.query(statement) }
        let declined = try await fixture.decline("acme")
        #expect(declined.outcome == "deferred", "\(declined.text)")
        let tries = try await administrator.read("SELECT last_value FROM tries")
        #expect(try tries[0].get(0, as: Int.self) == 2)
        #expect(try await fixture.count("audit_events WHERE action = 'sign_up.declined'") == 1)
        #expect(try await fixture.count("invites WHERE status = 'revoked'") == 1)
    }
}
