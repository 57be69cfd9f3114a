import HTTP
import JSON
import Postgres
import SignIn
import Storage
import TestSupport
import Testing
import Text

struct TimeTrackerSessionTests {
    private static let over = "The session is over; sign in again."

    @Test func `who is signed in, until signing out, which always succeeds`() async throws {
        let stage = try await TimeTrackerStage.make()
        try await stage.invite()
        let signedIn = try await stage.signIn()
        let token = signedIn.json["access_token"]?.string
        let me = try await stage.send(.get, "/auth/me", token: token)
        #expect(me.status == 200)
        #expect(me.json == signedIn.json["user"])
        #expect(me.json.members?.map(\.name) == ["id", "username", "fullName", "email"])
        let out = try await stage.send(.post, "/auth/logout", token: token)
        #expect(out.status == 200)
        #expect(out.text == #"{"message":"Logged out successfully"}"#)
        expectOnlyError(try await stage.send(.get, "/auth/me", token: token), 401, Self.over)
        for stale in [token, "rubbish", nil] {
            #expect(try await stage.send(.post, "/auth/logout", token: stale).status == 200)
        }
        await stage.stop()
    }

    @Test func `only a bad credential is 401`() async throws {
        let stage = try await TimeTrackerStage.make()
        try await stage.invite()
        let signedIn = try await stage.signIn()
        let token = signedIn.json["access_token"]?.string ?? ""
        let id = signedIn.json["user"]?["id"]?.string ?? ""
        expectOnlyError(try await stage.send(.get, "/auth/me"), 401, "Authentication required")
        let changed = token.dropLast(2) + (token.hasSuffix("AA") ? "BB" : "AA")
        for bad in [String(changed), "a.b.c", "x", "gate_live_x"] {
            #expect(try await stage.send(.get, "/auth/me", token: bad).status == 401, "\(bad)")
        }
        expectOnlyError(
            try await stage.send(.get, "/time-entries", token: token), 404,
            "There is no such path.")
        let user = "/v1/tenants/acme/users/\(id)"
        for (path, text) in [
            (user, "The account is suspended."), ("/v1/tenants/acme", "The tenant is suspended."),
        ] {
            _ = try await stage.service.send(.post, "\(path)/suspend", as: .platformOwner)
            expectOnlyError(try await stage.send(.get, "/auth/me", token: token), 403, text)
            _ = try await stage.service.send(.post, "\(path)/resume", as: .platformOwner)
            #expect(try await stage.send(.get, "/auth/me", token: token).status == 200)
        }
        let other = try await stage.service.makeTenant("other")
        _ = try await stage.service.send(
            .put, "/v1/tenants/other/clients/timetracker", json: #"{"enabled":true}"#,
            as: .tenantAdmin(other))
        let foreign = try await stage.service.send(
            .get, "/t/other/timetracker/auth/me", as: .bearer(token))
        expectOnlyError(foreign, 404, "There is no such path.")
        // The app keeps its session: the token still is good where it belongs.
        #expect(try await stage.send(.get, "/auth/me", token: token).status == 200)
        await stage.stop()
    }

    @Test func `a fault of ours has the call's words, and is no 401`() async throws {
        let stage = try await TimeTrackerStage.make()
        try await stage.invite()
        let token = try await stage.signIn().json["access_token"]?.string
        let database = stage.service.database
        let owner = database.client(as: database.owner)
        _ = try await owner.query("REVOKE DELETE ON sessions FROM gatehouse_app")
        _ = try await owner.query("REVOKE INSERT ON login_states FROM gatehouse_app")
        await owner.close()
        let out = try await stage.send(.post, "/auth/logout", token: token)
        expectOnlyError(out, 500, "Failed to logout")
        expectOnlyError(try await stage.login(), 500, "Failed to initiate login")
        #expect(try await stage.send(.get, "/auth/me", token: token).status == 200)
        await stage.stop()
    }

    @Test func `the health of the server is told to anybody`() async throws {
        let stage = try await TimeTrackerStage.make()
        let health = try await stage.send(
            .get, "/health", fields: [Field("origin", "https://any.example")])
        #expect(health.status == 200 && health.text == #"{"status":"ok"}"#)
        #expect(health.first("access-control-allow-origin") == "*")
        let atHost = try await stage.service.send(
            .get, "/health", fields: [Field("host", "time.acme.example")])
        #expect(atHost.status == 200)
        await stage.stop()
    }

    @Test func `keys are made, listed and revoked in a session, and act as their person`()
        async throws
    {
        let stage = try await TimeTrackerStage.make()
        try await stage.invite()
        let signedIn = try await stage.signIn()
        let token = signedIn.json["access_token"]?.string
        let made = try await stage.send(.post, "/api-keys", #"{"name":"Zapier"}"#, token: token)
        #expect(made.status == 201, "\(made.text)")
        let names = ["id", "name", "prefix", "rawKey", "createdAt"]
        #expect(made.json.members?.map(\.name) == names)
        let key = try #require(made.json["rawKey"]?.string)
        #expect(made.json["prefix"]?.string == String(key.prefix(12)))
        let list = try await stage.send(.get, "/api-keys", token: token)
        let item = try #require(list.json.array?.first)
        #expect(item.members?.map(\.name) == ["id", "name", "prefix", "createdAt", "lastUsedAt"])
        #expect(item["id"] == made.json["id"] && item["lastUsedAt"] == .null)
        #expect(!list.text.contains(key))
        let me = try await stage.send(.get, "/auth/me", token: key)
        #expect(me.json == signedIn.json["user"])
        #expect(
            try await stage.send(.get, "/auth/me", fields: [Field("x-api-key", key)]).status
                == 200)
        // A key manages no keys, and ends no session.
        #expect(try await stage.send(.get, "/api-keys", token: key).status == 403)
        #expect(
            try await stage.send(.post, "/api-keys", #"{"name":"n"}"#, token: key).status == 403)
        let path = "/api-keys/\(made.json["id"]?.string ?? "")"
        #expect(try await stage.send(.delete, path, token: token).status == 204)
        expectOnlyError(
            try await stage.send(.delete, path, token: token), 404, "API key not found")
        #expect(try await stage.send(.get, "/auth/me", token: key).status == 401)
        #expect(try await stage.send(.get, "/api-keys", token: token).text == "[]")
        await stage.stop()
    }

    @Test func `a key's name has 1 to 255 characters, and another's key is not there`()
        async throws
    {
        let stage = try await TimeTrackerStage.make()
        try await stage.invite()
        let token = try await stage.signIn().json["access_token"]?.string
        let long = String(repeating: "é", count: 255)
        for body in ["{}", #"{"name":""}"#, #"{"name":7}"#, #"{"name":"\#(long)e"}"#] {
            expectOnlyError(
                try await stage.send(.post, "/api-keys", body, token: token), 400,
                "name must have 1 to 255 characters")
        }
        let made = try await stage.send(.post, "/api-keys", #"{"name":"\#(long)"}"#, token: token)
        #expect(made.status == 201, "\(made.text)")
        try await stage.invite("eve@acme.example")
        let asked = try await stage.begin()
        stage.grant(asked, email: "eve@acme.example")
        let eve = try await stage.exchange(asked.first("state") ?? "")
        for id in [made.json["id"]?.string ?? "", "x", "00000000-0000-4000-8000-000000000000"] {
            expectOnlyError(
                try await stage.send(
                    .delete, "/api-keys/\(id)", token: eve.json["access_token"]?.string),
                404, "API key not found")
        }
        expectOnlyError(try await stage.send(.get, "/api-keys"), 401, "Authentication required")
        await stage.stop()
    }

    @Test func `pages of an allowed origin read every answer, others are refused with 403`()
        async throws
    {
        let stage = try await TimeTrackerStage.make()
        _ = try await stage.service.send(
            .post, "/v1/tenants/acme/cors-origins",
            json: #"{"origin":"https://time.example","credentials":true}"#,
            as: .tenantAdmin(stage.tenant))
        let origin = Field("origin", "https://time.example")
        for (method, path, status) in [
            (HTTP.Method.get, "/auth/me", 401), (.post, "/auth/token", 400),
            (.post, "/auth/logout", 200), (.get, "/auth/login", 400), (.get, "/api-keys", 401),
            (.get, "/auth/callback", 400), (.put, "/time-entries", 404),
        ] {
            let answer = try await stage.send(method, path, fields: [origin])
            #expect(answer.status == status, "\(method) \(path) \(answer.text)")
            #expect(answer.first("access-control-allow-origin") == "https://time.example")
            #expect(answer.first("access-control-allow-credentials") == "true")
            let preflight = try await stage.send(
                .options, path,
                fields: [
                    origin, Field("access-control-request-method", method.rawValue),
                    Field("access-control-request-headers", "authorization,content-type"),
                ])
            #expect(preflight.status == 204, "\(path)")
            #expect(preflight.first("access-control-allow-origin") == "https://time.example")
        }
        let stranger = try await stage.send(
            .get, "/auth/me", fields: [Field("origin", "https://evil.example")])
        expectOnlyError(stranger, 403, "Origin not allowed")
        #expect(stranger.first("access-control-allow-origin") == nil)
        await stage.stop()
    }
}
