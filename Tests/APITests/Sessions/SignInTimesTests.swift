import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Each successful sign-in is seen on the user and on the identity, and a refused one never.
@Suite(.cleansUp) struct SignInTimesTests {
    @Test func `a later sign-in moves the times and the identity's address, a refused one neither`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let user = try await fixture.row("ann@ex.com")
        let path = "/v1/tenants/acme/users/\(user)"
        func shown() async throws -> JSONValue {
            try await fixture.service.send(.get, path, as: .tenantAdmin(fixture.tenant)).json
        }
        _ = try await fixture.google("1", "ann@ex.com")
        let first = try await shown()
        #expect(first["identities"]?.array?.first?["email_vouched"]?.bool == true)
        clock.advance(seconds: 30)
        _ = try await fixture.google("1", "ann@ex.com", more: #","event_id":"a""#)
        // Once a minute for a user.
        #expect(try await shown()["last_sign_in_at"] == first["last_sign_in_at"])
        clock.advance(seconds: 90)
        let again = try await fixture.google(
            "1", "Ann.New@ex.com", verified: false, more: #","event_id":"b""#)
        #expect(again.json["outcome"]?.string == "existing", "\(again.text)")
        let later = try await shown()
        let identity = later["identities"]?.array?.first
        #expect(later["last_sign_in_at"]?.string == clock.now.description)
        #expect(identity?["last_used_at"]?.string == clock.now.description)
        #expect(identity?["email"]?.string == "Ann.New@ex.com")
        #expect(identity?["email_vouched"]?.bool == false)
        #expect(later["email"]?.string == "ann@ex.com")
        clock.advance(seconds: 90)
        let suspended = try await fixture.service.send(
            .post, "\(path)/suspend", as: .tenantAdmin(fixture.tenant))
        #expect(suspended.status == 200)
        let refused = try await fixture.google("1", "third@ex.com", more: #","event_id":"c""#)
        #expect(refused.json["reason"]?.string == "user_suspended")
        let last = try await shown()
        #expect(last["last_sign_in_at"] == later["last_sign_in_at"])
        #expect(last["identities"] == later["identities"])
    }

    @Test func `counts that could not be written are written later, and pool events count`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        try await fixture.row("ann@ex.com")
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_77", email: "ann@ex.com")
        #expect(try await fixture.cognito(event).status == 200)
        clock.advance(seconds: 600)
        #expect(try await fixture.cognito(event).status == 200)
        await fixture.service.storage.writeSignIns()
        let written = try await fixture.count(
            """
            users WHERE tenant_id = \(fixture.tenant.id) AND last_sign_in_at = \(clock.now)
            """)
        #expect(written == 1)
    }

    @Test(.onOneServer)
    func `while the database is away one tenant's are tried, and all are written later`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        var places = [fixture]
        for slug in ["one", "two"] {
            places.append(
                ProvisioningFixture(
                    service: fixture.service, tenant: try await fixture.service.makeTenant(slug)))
        }
        for place in places {
            let slug = place.tenant.slug
            try await place.row("ann@\(slug).example")
            for _ in 0..<2 {
                clock.advance(seconds: 600)
                let answer = try await place.google(
                    slug, "ann@\(slug).example", more: #","event_id":"\#(clock.now)""#)
                #expect(answer.json["tenant"]?["slug"]?.string == slug, "\(answer.text)")
            }
        }
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        for statement: SQL in [
            "CREATE SEQUENCE tries",
            """
            CREATE FUNCTION be_away() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                PERFORM nextval('public.tries');
                RAISE 'away' USING ERRCODE = '53300';
            END $$
            """,
            "CREATE TRIGGER away BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION be_away()",
        ] { _ = try await administrator.query(statement) }
        await fixture.service.storage.writeSignIns()
        let tries = try await administrator.read("SELECT last_value FROM tries")
        #expect(try tries[0].get(0, as: Int.self) == 1)
        _ = try await administrator.query("DROP TRIGGER away ON users")
        await fixture.service.storage.writeSignIns()
        for (number, place) in places.enumerated() {
            let last = clock.now.adding(seconds: Int64(number - 2) * 1200)
            #expect(try await place.count("users WHERE last_sign_in_at = \(last)") == 1)
        }
    }

    @Test func `a dry run is no sign-in`() async throws {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        try await fixture.row("ann@ex.com")
        _ = try await fixture.google("1", "ann@ex.com")
        clock.advance(seconds: 600)
        let dry = try await fixture.service.send(
            .post, "/v1/provisioning/evaluate",
            json: #"{"provider":"google","subject":"1","email":"ann@ex.com"}"#,
            as: .tenantAdmin(fixture.tenant))
        #expect(dry.status == 200, "\(dry.text)")
        await fixture.service.storage.writeSignIns()
        let written = try await fixture.count(
            "users WHERE tenant_id = \(fixture.tenant.id) AND last_sign_in_at = \(clock.now)")
        #expect(written == 0)
    }
}
