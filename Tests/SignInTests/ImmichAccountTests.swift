import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

struct ImmichAccountTests {
    @Test func `a password is changed with the old one, which ends every other session`()
        async throws
    {
        let stage = try await ImmichStage.make()
        let (token, other) = (try await stage.token(), try await stage.token())
        let path = "/api/auth/change-password"
        let next = "staple battery horse"
        expectError(
            try await stage.send(
                .post, path, #"{"password":"wrong","newPassword":"\#(next)"}"#, token: token),
            400, "Wrong password")
        expectError(
            try await stage.send(
                .post, path,
                #"{"password":"\#(ImmichStage.password)","newPassword":"short"}"#, token: token),
            400, "The password must have at least 15 characters.")
        expectError(
            try await stage.send(
                .post, path,
                #"{"password":"\#(ImmichStage.password)","newPassword":"passwordpassword"}"#,
                token: token),
            400, "The password is among those that are guessed first; choose another.")
        let changed = try await stage.send(
            .post, path, #"{"password":"\#(ImmichStage.password)","newPassword":"\#(next)"}"#,
            token: token)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json["email"]?.string == "ann@acme.example")
        #expect(try await stage.send(.get, "/api/users/me", token: token).status == 200)
        expectError(
            try await stage.send(.get, "/api/users/me", token: other), 401, "Invalid user token")
        #expect(try await stage.signIn().status == 401)
        #expect(try await stage.signIn(next).status == 201)
        await stage.service.stop()
    }

    @Test func `without the old password only a fresh session may set a new one`() async throws {
        let stage = try await ImmichStage.make(settings: #"{"compat":"v2"}"#)
        let token = try await stage.token()
        let fresh = try await stage.send(
            .put, "/api/auth/change-password", #"{"password":"8letters"}"#, token: token)
        #expect(fresh.status == 200, "\(fresh.text)")
        #expect(fresh.json["clusterGroupId"] == nil)
        try await stage.service.storage.scope(stage.tenant.id).change(by: .system) { change in
            _ = try await change.query(
                """
                UPDATE sessions SET created_at = created_at - interval '5 minutes'
                WHERE tenant_id = \(stage.tenant.id)
                """)
        }
        for path in ["/api/auth/change-password", "/api/users/me"] {
            let late = try await stage.send(
                .put, path, #"{"password":"another1"}"#, token: token)
            expectError(late, 400, "Sign in again to change the password")
        }
        await stage.service.stop()
    }

    @Test func `a PIN is set, verified, changed and removed, and a wrong one is never 401`()
        async throws
    {
        let stage = try await ImmichStage.make()
        let token = try await stage.token()
        func pin(
            _ method: HTTP.Method, _ path: String, _ body: String?
        ) async throws -> TestAnswer {
            try await stage.send(method, "/api/auth/\(path)", body, token: token)
        }
        expectError(
            try await pin(.post, "pin-code/verify", #"{"pinCode":"1234"}"#), 400,
            "User does not have a PIN code")
        #expect(try await pin(.put, "pin-code", #"{"pinCode":"1234"}"#).status == 204)
        expectError(
            try await pin(.post, "pin-code", #"{"pinCode":"123456"}"#), 400,
            "User already has a PIN code")
        expectError(
            try await pin(.post, "pin-code/verify", #"{"pinCode":"9999"}"#), 400,
            "Wrong PIN code")
        let before = try await pin(.get, "status", nil)
        #expect(before.json["pinCode"] == .bool(true))
        #expect(before.json["isElevated"] == .bool(false))
        #expect(try await pin(.post, "session/unlock", #"{"pinCode":"1234"}"#).status == 204)
        let lifted = try await pin(.get, "status", nil)
        #expect(lifted.json["isElevated"] == .bool(true) && lifted.json["pinExpiresAt"] != nil)
        #expect(try await pin(.post, "session/lock", nil).status == 204)
        #expect(try await pin(.get, "status", nil).json["isElevated"] == .bool(false))
        #expect(
            try await pin(.put, "pin-code", #"{"pinCode":"1234","newPinCode":"123456"}"#).status
                == 204)
        #expect(try await pin(.post, "pin-code/verify", #"{"pinCode":"123456"}"#).status == 204)
        expectError(
            try await pin(.delete, "pin-code", "{}"), 400,
            "Either password or pinCode is required")
        expectError(
            try await pin(.delete, "pin-code", #"{"password":"wrong"}"#), 400, "Wrong password")
        let body = #"{"password":"\#(ImmichStage.password)"}"#
        #expect(try await pin(.delete, "pin-code", body).status == 204)
        expectError(
            try await pin(.post, "pin-code", #"{"pinCode":"12a4"}"#), 400,
            "pinCode must be 4 to 8 digits")
        await stage.service.stop()
    }

    @Test func `keys of the app are keys of the core, never wider than their maker`() async throws {
        let stage = try await ImmichStage.make()
        let token = try await stage.token()
        let made = try await stage.send(
            .post, "/api/api-keys", #"{"name":"cli","permissions":["user.read","apiKey.create"]}"#,
            token: token)
        #expect(made.status == 201, "\(made.text)")
        let secret = try #require(made.json["secret"]?.string)
        let id = try #require(made.json["apiKey"]?["id"]?.string)
        #expect(UUID(id) != nil && secret.hasPrefix("gate_live_"))
        let key = [Field("x-api-key", secret)]
        #expect(try await stage.send(.get, "/api/users/me", fields: key).status == 200)
        #expect(
            try await stage.send(.get, "/api/api-keys/me", fields: key).json["id"]?.string == id)
        expectError(
            try await stage.send(.get, "/api/api-keys", fields: key), 403,
            "Missing required permission: apiKey.read")
        expectError(
            try await stage.send(
                .post, "/api/api-keys", #"{"permissions":["all"]}"#, fields: key),
            400, "Cannot grant permissions you do not have")
        expectError(
            try await stage.send(
                .post, "/api/api-keys", #"{"permissions":["users:write"]}"#, token: token),
            400, "each value in permissions must be a permission")
        expectError(
            try await stage.send(.get, "/api/auth/status", fields: key), 403, "Forbidden")
        let rotated = try await stage.send(.post, "/api/api-keys/\(id)/rotate", token: token)
        #expect(rotated.status == 201 && rotated.json["secret"]?.string != secret)
        expectError(
            try await stage.send(.get, "/api/users/me", fields: key), 401, "Invalid API key")
        let list = try await stage.send(.get, "/api/api-keys", token: token)
        #expect(list.json.array?.count == 1)
        #expect(try await stage.send(.delete, "/api/api-keys/\(id)", token: token).status == 204)
        expectError(
            try await stage.send(.delete, "/api/api-keys/\(id)", token: token), 400,
            "API Key not found")
        await stage.service.stop()
    }

    @Test func `all of this app is neither a right at the tenant nor another app's key`()
        async throws
    {
        let stage = try await ImmichStage.make()
        let token = try await stage.token()
        let made = try await stage.send(
            .post, "/api/api-keys", #"{"name":"tool","permissions":["all"]}"#, token: token)
        let tool = [Field("x-api-key", try #require(made.json["secret"]?.string))]
        let managing = try await stage.service.send(
            .post, "/v1/tenants/acme/api-keys",
            json: #"{"name":"m","scopes":["users:write"],"#
                + #""owner":{"type":"user","id":"\#(stage.user.id)"}}"#, as: .platformOwner)
        #expect(managing.status == 201, "\(managing.text)")
        let id = try #require(managing.json["id"]?.string)
        expectError(
            try await stage.send(.post, "/api/api-keys/\(id)/rotate", fields: tool), 400,
            "Cannot grant permissions you do not have")
        #expect(
            try await stage.send(.post, "/api/api-keys/\(id)/rotate", token: token).status == 403)
        expectError(
            try await stage.send(
                .post, "/api/api-keys", #"{"permissions":["smtp"]}"#, fields: tool),
            400, "Cannot grant permissions you do not have")
        let own = try await stage.send(
            .post, "/api/api-keys", #"{"permissions":["all","asset.read"]}"#, fields: tool)
        #expect(own.status == 201, "\(own.text)")
        await stage.service.stop()
    }

    @Test func `strangers' guesses hold strangers back, not the owner's device`() async throws {
        let stage = try await ImmichStage.make()
        #expect(try await stage.signIn().status == 201)
        let stranger = [Field("devicemodel", "curl")]
        var statuses: [Int] = []
        for _ in 0..<8 {
            statuses.append(try await stage.signIn("guess", fields: stranger).status)
        }
        #expect(statuses.prefix(4) == [401, 401, 401, 401])
        #expect(statuses.last == 429)
        let locked = try await stage.signIn(fields: stranger)
        #expect(locked.status == 429 && locked.first("retry-after") != nil)
        #expect(try await stage.signIn().status == 201)
        let unknown = { (name: String) in
            try await stage.send(
                .post, "/api/auth/login", #"{"email":"\#(name)@acme.example","password":"x"}"#,
                fields: stranger
            ).status
        }
        for _ in 0..<5 { _ = try await unknown("nobody") }
        #expect(try await unknown("nobody") == 429)
        await stage.service.stop()
    }
}
