import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct TimeTrackerSessionTests {
    private static let over = "The session has ended; sign in again."

    @Test func `T4 T5 a session is valid until its sign-out, which always succeeds`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let signedIn = try await fixture.signIn()
        let token = signedIn.json["access_token"]?.string
        let me = try await fixture.send(.get, "/auth/me", token: token)
        let id = signedIn.json["user"]?["id"]?.string ?? ""
        expectAnswer(
            me,
            #"{"id":"\#(id)","username":"johndoe","fullName":"John Doe","#
                + #""email":"johndoe@acme.example"}"#)
        #expect(me.first("cache-control") == "no-store")
        let signedOut = #"{"message":"Logged out successfully"}"#
        expectAnswer(try await fixture.send(.post, "/auth/logout", token: token), signedOut)
        expectOnlyError(try await fixture.send(.get, "/auth/me", token: token), 401, Self.over)
        for stale in [token, "rubbish", nil] {
            expectAnswer(try await fixture.send(.post, "/auth/logout", token: stale), signedOut)
        }
    }

    @Test func `T4 only a bad credential is 401`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let signedIn = try await fixture.signIn()
        let token = signedIn.json["access_token"]?.string ?? ""
        let id = signedIn.json["user"]?["id"]?.string ?? ""
        expectOnlyError(try await fixture.send(.get, "/auth/me"), 401, "Authentication required")
        let changed = token.dropLast(2) + (token.hasSuffix("AA") ? "BB" : "AA")
        for bad in [String(changed), "a.b.c", "x", "gate_live_x"] {
            let answer = try await fixture.send(.get, "/auth/me", token: bad)
            #expect(answer.status == 401, "\(bad)")
            #expect(answer.json.members?.map(\.name) == ["error"])
        }
        expectOnlyError(
            try await fixture.send(.get, "/time-entries", token: token), 404,
            "There is no such path.")
        let user = "/v1/tenants/acme/users/\(id)"
        for (path, text) in [
            (user, "The account is suspended."), ("/v1/tenants/acme", "The tenant is suspended."),
        ] {
            _ = try await fixture.service.send(.post, "\(path)/suspend", as: .platformOwner)
            // A suspended tenant has no origins: the app itself asks.
            let refused = try await fixture.service.send(
                .get, "\(TimeTrackerFixture.mount)/auth/me", as: .bearer(token))
            expectOnlyError(refused, 403, text)
            _ = try await fixture.service.send(.post, "\(path)/resume", as: .platformOwner)
            #expect(try await fixture.send(.get, "/auth/me", token: token).status == 200)
        }
        let other = try await fixture.service.makeTenant("other")
        _ = try await fixture.service.send(
            .put, "/v1/tenants/other/clients/timetracker", json: #"{"enabled":true}"#,
            as: .tenantAdmin(other))
        let foreign = try await fixture.service.send(
            .get, "/t/other/timetracker/auth/me", as: .bearer(token))
        expectOnlyError(foreign, 404, "There is no such path.")
        // The app keeps its session: the token still is good where it belongs.
        #expect(try await fixture.send(.get, "/auth/me", token: token).status == 200)
    }

    @Test func `T1 T3 T5 an internal fault has the call's words, and is no 401`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let token = try await fixture.signIn().json["access_token"]?.string
        let begun = try await fixture.begin()
        fixture.grant(begun)
        let database = fixture.service.database
        let owner = database.client(as: database.owner)
        _ = try await owner.query("REVOKE DELETE ON sessions FROM gatehouse_app")
        _ = try await owner.query("REVOKE INSERT ON login_states FROM gatehouse_app")
        _ = try await owner.query("REVOKE INSERT ON sessions FROM gatehouse_app")
        let out = try await fixture.send(.post, "/auth/logout", token: token)
        expectOnlyError(out, 500, "Failed to logout")
        expectOnlyError(try await fixture.login(), 500, "Failed to initiate login")
        expectOnlyError(
            try await fixture.exchange(begun.first("state") ?? ""), 500,
            "Failed to exchange token: the server could not finish it; try again.")
        #expect(try await fixture.send(.get, "/auth/me", token: token).status == 200)
    }

    @Test func `T8 the health of the server needs no credential`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        let health = try await fixture.send(.get, "/health")
        expectAnswer(health, #"{"status":"ok"}"#)
        #expect(health.first("access-control-allow-origin") == "*")
        let atHost = try await fixture.service.send(
            .get, "/health", fields: [Field("host", "time.acme.example")])
        #expect(atHost.status == 200)
    }

    @Test func `T7 keys are made, listed and revoked in a session, and act as their person`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let signedIn = try await fixture.signIn()
        let token = signedIn.json["access_token"]?.string
        let made = try await fixture.send(.post, "/api-keys", #"{"name":"Zapier"}"#, token: token)
        let key = try #require(made.json["rawKey"]?.string)
        let id = made.json["id"]?.string ?? ""
        let created = made.json["createdAt"]?.string ?? ""
        expectRandomUUID(made.json["id"])
        expectDate(made.json["createdAt"])
        let start = #"{"id":"\#(id)","name":"Zapier","prefix":"\#(key.prefix(12))","#
        expectAnswer(
            made, start + #""rawKey":"\#(key)","createdAt":"\#(created)"}"#, status: 201)
        #expect(made.first("cache-control") == "no-store")
        expectAnswer(
            try await fixture.send(.get, "/api-keys", token: token),
            "[" + start + #""createdAt":"\#(created)","lastUsedAt":null}]"#)
        let me = try await fixture.send(.get, "/auth/me", token: key)
        #expect(me.json == signedIn.json["user"])
        #expect(
            try await fixture.send(.get, "/auth/me", fields: [Field("x-api-key", key)]).status
                == 200)
        let used = try await fixture.send(.get, "/api-keys", token: token)
        let last = used.json.array?.first?["lastUsedAt"]
        expectDate(last)
        expectAnswer(
            used,
            "[" + start
                + #""createdAt":"\#(created)","lastUsedAt":"\#(last?.string ?? "")"}]"#)
        // A key manages no keys, and ends no session.
        let managing = "Only a signed-in session may manage API keys."
        expectOnlyError(try await fixture.send(.get, "/api-keys", token: key), 403, managing)
        expectOnlyError(
            try await fixture.send(.post, "/api-keys", #"{"name":"n"}"#, token: key), 403, managing)
        let path = "/api-keys/\(made.json["id"]?.string ?? "")"
        expectEmpty(try await fixture.send(.delete, path, token: token), 204)
        expectOnlyError(
            try await fixture.send(.delete, path, token: token), 404, "API key not found")
        #expect(try await fixture.send(.get, "/auth/me", token: key).status == 401)
        #expect(try await fixture.send(.get, "/api-keys", token: token).text == "[]")
    }

    @Test func `T7 a key's name has 1 to 255 characters, and another's key is not there`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        try await fixture.invite()
        let token = try await fixture.signIn().json["access_token"]?.string
        let long = String(repeating: "é", count: 255)
        for body in ["{}", #"{"name":""}"#, #"{"name":7}"#, #"{"name":"\#(long)e"}"#] {
            expectOnlyError(
                try await fixture.send(.post, "/api-keys", body, token: token), 400,
                "name must have 1 to 255 characters")
        }
        let made = try await fixture.send(.post, "/api-keys", #"{"name":"\#(long)"}"#, token: token)
        #expect(made.status == 201, "\(made.text)")
        try await fixture.invite("eve@acme.example")
        let asked = try await fixture.begin()
        fixture.grant(asked, email: "eve@acme.example")
        let eve = try await fixture.exchange(asked.first("state") ?? "")
        for id in [made.json["id"]?.string ?? "", "x", "00000000-0000-4000-8000-000000000000"] {
            expectOnlyError(
                try await fixture.send(
                    .delete, "/api-keys/\(id)", token: eve.json["access_token"]?.string),
                404, "API key not found")
        }
        expectOnlyError(try await fixture.send(.get, "/api-keys"), 401, "Authentication required")
    }

    @Test func `pages of an allowed origin read every answer, others are refused with 403`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        let calls: [(method: HTTP.Method, path: String, status: Int)] = [
            (.get, "/auth/me", 401), (.post, "/auth/token", 400), (.post, "/auth/logout", 200),
            (.get, "/auth/login", 400), (.get, "/api-keys", 401), (.post, "/api-keys", 401),
            (.delete, "/api-keys/1", 401), (.get, "/auth/callback", 400),
            // Time entries are not served here.
            (.put, "/time-entries", 404), (.get, "/clients", 404),
        ]
        for (method, path, status) in calls {
            let answer = try await fixture.send(method, path)
            #expect(answer.status == status, "\(method) \(path) \(answer.text)")
            #expect(answer.first("access-control-allow-credentials") == "true")
        }
        try await fixture.expectPreflights(calls.map { ($0.method, $0.path) })
        let stranger = try await fixture.service.send(
            .get, "\(TimeTrackerFixture.mount)/auth/me",
            fields: [Field("origin", "https://evil.example")])
        expectOnlyError(stranger, 403, "Origin not allowed")
        #expect(stranger.first("access-control-allow-origin") == nil)
    }
}
