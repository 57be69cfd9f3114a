import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Rows of the edge-case table that need the database or the wire, by their ids.
@Suite(.cleansUp) struct ProvisioningRowsTests {
    private static let invites = "/v1/tenants/acme/invites"

    private static func post(
        _ fixture: ProvisioningFixture, _ path: String, _ json: String
    ) async throws -> TestAnswer {
        try await fixture.service.send(.post, path, json: json, as: .platformOwner)
    }

    @Test func `I8 I14 one live invite an address, whose old token dies when it is sent again`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let old = try await fixture.invited("ann@ex.com")
        let again = try await Self.post(fixture, Self.invites, #"{"email":"Ann@ex.com"}"#)
        #expect(again.status == 200)
        #expect(again.json["token"] == nil)
        let new = try await fixture.resent("ann@ex.com")
        #expect(try await fixture.accept(old).status == 404)
        #expect(try await fixture.count("invites WHERE status = 'pending'") == 1)
        let clear = try await fixture.count(
            "invites i WHERE i::text LIKE \("%" + new.dropFirst(6) + "%")")
        #expect(clear == 0)
        #expect(try await fixture.accept(new).status == 200)
    }

    @Test func `I11 I12 an active user is not invited again, and a suspended one is refused`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.row("ann@ex.com")
        let user = try await fixture.google("1", "ann@ex.com").json["user"]?["id"]?.string ?? ""
        let active = try await Self.post(fixture, Self.invites, #"{"email":"ann@ex.com"}"#)
        #expect(active.status == 409)
        #expect(active.json["conflicting_id"]?.string == user)
        _ = try await Self.post(fixture, "/v1/tenants/acme/users/\(user)/suspend", "{}")
        let suspended = try await Self.post(fixture, Self.invites, #"{"email":"ann@ex.com"}"#)
        #expect(suspended.status == 409)
        #expect(suspended.json["code"]?.string == "user_suspended")
    }

    @Test func `I15 a sign-in that the vendor lost is answered again the same`() async throws {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        try await fixture.invite("ann@ex.com", role: "manager")
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_1", email: "ann@ex.com")
        let first = try await fixture.cognito(event)
        // Beyond the retry's window too.
        for seconds in [0, 1200] as [Int64] {
            clock.advance(seconds: seconds)
            #expect(try await fixture.cognito(event).bytes == first.bytes)
        }
        #expect(try await fixture.count("audit_events WHERE action = 'invite.accepted'") == 1)
    }

    @Test func `U9 a deleted user is refused until a new invite of the address`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.row("ann@ex.com")
        let user = try await fixture.google("1", "ann@ex.com").json["user"]?["id"]?.string ?? ""
        let path = "/v1/tenants/acme/users/\(user)"
        _ = try await fixture.service.send(.delete, path, as: .platformOwner)
        let deleted = try await fixture.google("1", "ann@ex.com")
        #expect(deleted.json["reason"]?.string == "user_deleted", "\(deleted.text)")
        try await fixture.invite("ann@ex.com")
        let back = try await fixture.google("1", "ann@ex.com")
        #expect(["linked", "created"].contains(back.json["outcome"]?.string), "\(back.text)")
        #expect(back.json["user"]?["id"]?.string != user)
    }

    @Test(arguments: [false, true])
    func `U10 after the purge the address and the sign-in are fresh`(byHand: Bool) async throws {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let issued = try await fixture.service.manage(
            .post, "/v1/api-keys", #"{"name":"hook","scopes":["hooks:signup"]}"#)
        let key = issued["key"]?.string ?? ""
        // A key, since no console session lasts as long.
        func google() async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"google","subject":"1","email":"ann@ex.com","#
                    + #""email_verified":true}"#, as: .bearer(key))
        }
        try await fixture.row("ann@ex.com")
        let user = try await google().json["user"]?["id"]?.string ?? ""
        let path = "/v1/tenants/acme/users/\(user)"
        _ = try await fixture.service.send(.delete, path, as: .platformOwner)
        #expect(try await google().json["reason"]?.string == "user_deleted")
        if byHand {
            let asked = try await fixture.service.send(
                .delete, path + "?purge=true", as: .platformOwner)
            let confirm = asked.json["confirm"]?.string ?? ""
            _ = try await fixture.service.send(
                .delete, path + "?purge=true&confirm=\(confirm)", as: .platformOwner)
        } else {
            clock.advance(seconds: 30 * 86_400)
            #expect(try await fixture.service.storage.sweep { _, _ in })
        }
        // Beyond the window in which a retry is answered the same.
        clock.advance(seconds: 86_400)
        #expect(try await fixture.count("users") == 0)
        #expect(try await google().json["reason"]?.string == "no_tenant")
        clock.advance(seconds: 86_400)
        try await fixture.row("ann@ex.com")
        let back = try await google()
        #expect(back.status == 200, "\(back.text)")
        #expect(back.json["user"]?["id"]?.string != user)
    }

    @Test func `U14 a tenant and a role in the person's own attributes count for nothing`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.row("ann@ex.com")
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_1", email: "ann@ex.com"
        ).replacing(
            #""email_verified""#,
            with: #""custom:tenant_id":"other","custom:role":"admin","email_verified""#)
        #expect(try await fixture.cognito(event).status == 200)
        #expect(try await fixture.count("users WHERE role = 'member' AND status = 'active'") == 1)
    }

    @Test func `U15 large, twofold and odd members are refused or count as absent`() async throws {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.row("ann@ex.com")
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_1", email: "ann@ex.com")
        let large = event.replacing(
            #""version":"1""#, with: #""version":"\#(String(repeating: "x", count: 300_000))""#)
        #expect(try await fixture.cognito(large).status == 413)
        let twofold = event.replacing(
            #""version":"1""#, with: #""version":"1","userName":"Google_2""#)
        #expect(try await fixture.cognito(twofold).status == 400)
        let odd = event.replacing(#""email":"ann@ex.com""#, with: #""email":["ann@ex.com"]"#)
        #expect(try await fixture.cognito(odd).status == 403)
        #expect(
            try await fixture.count("decisions WHERE reason = 'email_missing'", platform: true) == 1
        )
        let bool = event.replacing(#""email_verified":"true""#, with: #""email_verified":true"#)
        #expect(try await fixture.cognito(bool).status == 200)
    }

    @Test func `U16 without the database a hook is refused with 503 and nothing is let in`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let key = try await Self.post(
            fixture, "/v1/api-keys", #"{"name":"hook","scopes":["hooks:signup"]}"#)
        #expect(key.status == 201, "\(key.text)")
        await fixture.service.storage.app.close()
        let answer = try await fixture.service.send(
            .post, "/v1/hooks/pre-signup/cognito",
            json: ProvisioningFixture.event(
                "PreSignUp_ExternalProvider", userName: "Google_1", email: "ann@ex.com"),
            as: .bearer(key.json["key"]?.string ?? ""))
        #expect(answer.status == 503)
        #expect(answer.first("retry-after") != nil)
    }

    @Test func `D1 D2 D4 a domain is verified once, and a public one cannot be claimed`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        _ = try await fixture.service.makeTenant("other")
        var statuses: [Int] = []
        for tenant in ["acme", "other"] {
            let path = "/v1/tenants/\(tenant)/domains"
            let claimed = try await Self.post(fixture, path, #"{"domain":"ex.com"}"#)
            #expect(claimed.status == 201, "\(claimed.text)")
            let verified = try await Self.post(
                fixture, "\(path)/\(claimed.json["id"]?.string ?? "")/verify",
                #"{"method":"operator"}"#)
            statuses.append(verified.status)
        }
        #expect(statuses == [200, 409])
        for name in ["gmail.com", "qq.com", "co.uk", "github.io", "192.0.2.1"] {
            let refused = try await Self.post(
                fixture, "/v1/tenants/acme/domains", #"{"domain":"\#(name)"}"#)
            #expect(refused.status == 422, "\(name)")
        }
    }
}
