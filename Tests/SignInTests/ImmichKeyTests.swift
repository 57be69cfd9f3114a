import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// `api-keys`: the app's keys, which are the core's.
@Suite(.cleansUp) struct ImmichKeyTests {
    /// The members of a key; its dates are taken from the answer.
    private func members(
        _ key: JSONValue?, _ name: String, _ permissions: [String]
    ) -> String {
        let (id, created, updated) = (key?["id"], key?["createdAt"], key?["updatedAt"])
        expectRandomUUID(id)
        expectDate(created)
        expectDate(updated)
        let list = permissions.map { #""\#($0)""# }.joined(separator: ",")
        return #""id":"\#(id?.string ?? "")","name":"\#(name)","permissions":[\#(list)],"#
            + #""createdAt":"\#(created?.string ?? "")","updatedAt":"\#(updated?.string ?? "")""#
    }

    private func expectCreated(
        _ answer: TestAnswer, _ name: String, _ permissions: [String], flattens: Bool = true
    ) {
        let secret = answer.json["secret"]?.string ?? ""
        #expect(secret.hasPrefix("gate_live_"))
        let key = members(answer.json["apiKey"], name, permissions)
        expectAnswer(
            answer,
            #"{"secret":"\#(secret)","apiKey":{\#(key)}\#(flattens ? "," + key : "")}"#,
            status: 201)
        #expect(answer.first("cache-control") == "no-store")
    }

    @Test func `I16 a key is made, read, changed and rotated, in both generations' forms`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ImmichFixture.make(clock: clock)
        let token = try await fixture.token()
        func send(
            _ method: HTTP.Method, _ path: String, _ body: String? = nil
        ) async throws -> TestAnswer {
            try await fixture.send(method, "/api/api-keys\(path)", body, token: token)
        }
        let made = try await send(.post, "", #"{"name":"cli","permissions":["user.read"]}"#)
        expectCreated(made, "cli", ["user.read"])
        let id = made.json["id"]?.string ?? ""
        let key = [Field("x-api-key", made.json["secret"]?.string ?? "")]
        let own = try await fixture.send(.get, "/api/api-keys/me", fields: key)
        expectAnswer(own, "{\(members(made.json, "cli", ["user.read"]))}")
        expectAnswer(try await send(.get, "/\(id)"), own.text)
        expectAnswer(try await send(.get, ""), "[\(own.text)]")
        clock.advance(seconds: 60)
        let changed = try await send(
            .put, "/\(id)", #"{"name":"tool","permissions":["user.read","all"]}"#)
        expectAnswer(changed, "{\(members(changed.json, "tool", ["user.read", "all"]))}")
        #expect(changed.json["createdAt"] == made.json["createdAt"])
        #expect(changed.json["updatedAt"]?.string == "\(clock.now)")
        let named = try await send(.put, "/\(id)", #"{"name":"again"}"#)
        #expect(named.json["permissions"] == changed.json["permissions"])
        let rotated = try await send(.post, "/\(id)/rotate")
        expectCreated(rotated, "again", ["user.read", "all"])
        #expect(rotated.json["id"]?.string == id)
        try await ImmichFixture.set(fixture.service, fixture.tenant, #"{"compat":"v2"}"#)
        expectCreated(
            try await send(.post, "", #"{"permissions":["all"]}"#), "API Key", ["all"],
            flattens: false)
        for (body, text) in [
            ("{}", "permissions must contain 1 to 200 elements"),
            (#"{"permissions":[]}"#, "permissions must contain 1 to 200 elements"),
            (#"{"permissions":[7]}"#, "each value in permissions must be a permission"),
            (
                #"{"name":"","permissions":["all"]}"#,
                "[name] Too small: expected string to have >=1 characters"
            ),
        ] {
            let answer = try await send(.post, "", body)
            #expect(answer.status == 400)
            #expect(answer.json["message"] == .array([.string(text)]), "\(answer.text)")
        }
        expectError(try await fixture.send(.get, "/api/api-keys"), 401, "Authentication required")
        expectError(
            try await fixture.send(.get, "/api/api-keys/me", token: token), 403, "Forbidden")
    }

    @Test func `I16 keys of the app are keys of the core, never wider than their maker`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        let made = try await fixture.send(
            .post, "/api/api-keys", #"{"name":"cli","permissions":["user.read","apiKey.create"]}"#,
            token: token)
        let secret = try #require(made.json["secret"]?.string)
        let id = try #require(made.json["apiKey"]?["id"]?.string)
        let key = [Field("x-api-key", secret)]
        #expect(try await fixture.send(.get, "/api/users/me", fields: key).status == 200)
        expectError(
            try await fixture.send(.get, "/api/api-keys", fields: key), 403,
            "Missing required permission: apiKey.read")
        expectError(
            try await fixture.send(
                .post, "/api/api-keys", #"{"permissions":["all"]}"#, fields: key),
            400, "Cannot grant permissions you do not have")
        expectError(
            try await fixture.send(
                .post, "/api/api-keys", #"{"permissions":["users:write"]}"#, token: token),
            400, "each value in permissions must be a permission")
        expectError(
            try await fixture.send(.get, "/api/auth/status", fields: key), 403, "Forbidden")
        let rotated = try await fixture.send(.post, "/api/api-keys/\(id)/rotate", token: token)
        #expect(rotated.status == 201 && rotated.json["secret"]?.string != secret)
        expectError(
            try await fixture.send(.get, "/api/users/me", fields: key), 401, "Invalid API key")
        expectEmpty(try await fixture.send(.delete, "/api/api-keys/\(id)", token: token), 204)
        for (method, path) in [
            (HTTP.Method.delete, id), (.get, id), (.put, id), (.post, "\(id)/rotate"),
            (.get, "no-id"), (.delete, UUID.random().description),
        ] {
            expectError(
                try await fixture.send(
                    method, "/api/api-keys/\(path)", method == .put ? "{}" : nil, token: token),
                400, "API Key not found")
        }
    }

    /// A person of another tenant asks for what Ann has: her keys and her devices.
    @Test func `another tenant's key and device are as those that are not there`() async throws {
        let fixture = try await ImmichFixture.make()
        let service = fixture.service
        let token = try await fixture.token()
        let made = try await fixture.send(
            .post, "/api/api-keys", #"{"name":"k","permissions":["all"]}"#, token: token)
        let key = try #require(made.json["apiKey"]?["id"]?.string, "\(made.text)")
        let devices = try await fixture.send(.get, "/api/sessions", token: token)
        let device = try #require(devices.json.array?.first?["id"]?.string, "\(devices.text)")
        let other = try await service.makeTenant("other")
        try await service.manage(.put, "/v1/tenants/other/clients/immich", #"{"enabled":true}"#)
        _ = try await service.makeUser(
            "eve@o.example", name: "Eve", role: .admin, password: ImmichFixture.password, in: other)
        func ask(
            _ method: HTTP.Method, _ path: String, _ json: String? = nil, as eve: String? = nil
        ) async throws -> TestAnswer {
            try await service.send(
                method, "/t/other/immich" + path, json: json,
                fields: ImmichFixture.device + [Field("accept", "application/json")]
                    + (eve.map { [Field("x-immich-user-token", $0)] } ?? []))
        }
        let login = #"{"email":"eve@o.example","password":"\#(ImmichFixture.password)"}"#
        let signedIn = try await ask(.post, "/api/auth/login", login)
        let eve = try #require(signedIn.json["accessToken"]?.string, "\(signedIn.text)")
        let before = try await service.database.content(of: fixture.tenant.id)
        let none = UUID.random().description
        for (method, path, json, id) in [
            (HTTP.Method.get, "/api/api-keys/", nil, key),
            (.put, "/api/api-keys/", #"{"name":"mine","permissions":["all"]}"#, key),
            (.post, "/api/api-keys/", "{}", "\(key)/rotate"), (.delete, "/api/api-keys/", nil, key),
            (.delete, "/api/sessions/", nil, device),
        ] as [(HTTP.Method, String, String?, String)] {
            let given = try await ask(method, path + id, json, as: eve)
            let bare = id.replacing("/rotate", with: "")
            let unknown = try await ask(
                method, path + id.replacing(bare, with: none), json, as: eve)
            // As the app's own server answers for what is not there.
            #expect(given.status == 400, "\(method) \(path) \(given.text)")
            #expect(
                given.status == unknown.status && given.json["message"] == unknown.json["message"])
        }
        let after = try await service.database.content(of: fixture.tenant.id)
        #expect(after.filter { before[$0.key] != $0.value }.map(\.key) == [])
        #expect(try await fixture.send(.get, "/api/api-keys/\(key)", token: token).status == 200)
    }

    @Test func `I16 all of this app is neither a right at the tenant nor another app's key`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        let made = try await fixture.send(
            .post, "/api/api-keys", #"{"name":"tool","permissions":["all"]}"#, token: token)
        let tool = [Field("x-api-key", try #require(made.json["secret"]?.string))]
        let managing = try await fixture.service.send(
            .post, "/v1/tenants/acme/api-keys",
            json: #"{"name":"m","scopes":["users:write"],"#
                + #""owner":{"type":"user","id":"\#(fixture.user.id)"}}"#, as: .platformOwner)
        #expect(managing.status == 201, "\(managing.text)")
        let id = try #require(managing.json["id"]?.string)
        expectError(
            try await fixture.send(.post, "/api/api-keys/\(id)/rotate", fields: tool), 400,
            "Cannot grant permissions you do not have")
        #expect(
            try await fixture.send(.post, "/api/api-keys/\(id)/rotate", token: token).status == 403)
        expectError(
            try await fixture.send(
                .post, "/api/api-keys", #"{"permissions":["smtp"]}"#, fields: tool),
            400, "Cannot grant permissions you do not have")
        let own = try await fixture.send(
            .post, "/api/api-keys", #"{"permissions":["all","asset.read"]}"#, fields: tool)
        #expect(own.status == 201, "\(own.text)")
    }
}
