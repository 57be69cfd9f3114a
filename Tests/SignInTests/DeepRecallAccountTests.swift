import HTTP
import JSON
import TestSupport
import Testing
import Text

/// What the app asks with its token, and what a browser page around it asks before.
struct DeepRecallAccountTests {
    private static let replication = "/api/replication/token"

    @Test func `the app token is changed for a short replication token`() async throws {
        let stage = try await DeepRecallStage.make(
            settings: #"{"replication_audience":"replica.acme.example"}"#)
        try await stage.invite("ann@acme.example")
        let token = try await stage.signInWithGoogle()
        let answer = try await stage.send(.post, Self.replication, token: token)
        #expect(answer.status == 200, "\(answer.text)")
        let electric = try #require(answer.json["electric_token"]?.string)
        #expect(answer.text == #"{"electric_token":"\#(electric)","expires_in":900}"#)
        let claims = try stage.payload(electric)
        #expect(claims["sub"] == (try stage.payload(token))["userId"])
        #expect(claims["aud"]?.string == "replica.acme.example")
        #expect(claims["deviceId"]?.string == DeepRecallStage.device)
        #expect((claims["exp"]?.int ?? 0) - (claims["iat"]?.int ?? 0) == 900)
        // It opens nothing here.
        expectOnlyError(
            try await stage.send(.post, Self.replication, token: electric), 401, "JWT expired")
        expectOnlyError(
            try await stage.send(.get, "/api/user/status", token: electric), 401,
            "Authentication required")
        await stage.stop()
    }

    @Test func `without a bearer token, or with one that is over, replication is 401`()
        async throws
    {
        let stage = try await DeepRecallStage.make()
        try await stage.invite("ann@acme.example")
        let token = try await stage.signInWithGoogle()
        let missing = "Missing or invalid Authorization header"
        expectOnlyError(try await stage.send(.post, Self.replication), 401, missing)
        for value in ["Basic YTpi", "Bearer", "Bearer ", token] {
            expectOnlyError(
                try await stage.send(
                    .post, Self.replication, fields: [Field("authorization", value)]), 401, missing)
        }
        let cut = String(token.dropLast(2))
        for bad in ["garbage", cut, "a.b.c"] {
            expectOnlyError(
                try await stage.send(.post, Self.replication, token: bad), 401, "JWT expired")
        }
        let user = try stage.payload(token)["userId"]?.string ?? ""
        let ended = try await stage.service.send(
            .delete, "/v1/tenants/acme/users/\(user)/sessions", as: .platformOwner)
        #expect(ended.status < 300)
        expectOnlyError(
            try await stage.send(.post, Self.replication, token: token), 401, "JWT expired")
        await stage.stop()
    }

    @Test func `the status of an account counts sign-ins and none of the app's own things`()
        async throws
    {
        let stage = try await DeepRecallStage.make()
        try await stage.invite("ann@acme.example")
        let token = try await stage.signInWithGoogle()
        let answer = try await stage.send(.get, "/api/user/status", token: token)
        #expect(
            answer.text == #"{"identityCount":1,"isNew":false,"worksCount":0,"assetsCount":0,"#
                + #""annotationsCount":0}"#)
        expectOnlyError(
            try await stage.send(.get, "/api/user/status"), 401, "Authentication required")
        expectOnlyError(
            try await stage.send(.get, "/api/user/status", token: "x"), 401,
            "Authentication required")
        await stage.stop()
    }

    @Test func `the profile shows the sign-ins and takes a new name`() async throws {
        let stage = try await DeepRecallStage.make()
        try await stage.invite("ann@acme.example")
        let token = try await stage.signInWithGoogle()
        let first = try await stage.send(.get, "/api/profile", token: token)
        #expect(first.status == 200, "\(first.text)")
        #expect(
            first.json["user"]?.members?.map(\.name)
                == ["id", "email", "displayName", "avatarUrl", "createdAt", "updatedAt"])
        let identity = try #require(first.json["linkedIdentities"]?.array?.first)
        #expect(identity["provider"]?.string == "google")
        #expect(identity["providerUserId"]?.string == "10769")
        let changed = try await stage.send(
            .patch, "/api/profile", #"{"displayName":"Ann B."}"#, token: token)
        #expect(changed.status == 200 && changed.json["user"]?["displayName"]?.string == "Ann B.")
        expectOnlyError(
            try await stage.send(.patch, "/api/profile", "{}", token: token), 400,
            "No fields to update")
        expectOnlyError(try await stage.send(.get, "/api/profile"), 401, "Authentication required")
        await stage.stop()
    }

    @Test func `another tenant's token is not known here, and a suspended person's is 403`()
        async throws
    {
        let stage = try await DeepRecallStage.make()
        try await stage.invite("ann@acme.example")
        let token = try await stage.signInWithGoogle()
        let other = try await stage.service.makeTenant("other")
        _ = try await stage.service.send(
            .put, "/v1/tenants/other/clients/deeprecall", json: #"{"enabled":true}"#,
            as: .tenantAdmin(other))
        let foreign = try await stage.service.send(
            .get, "/t/other/deeprecall/api/user/status", as: .bearer(token))
        #expect(foreign.status == 404)
        let user = try stage.payload(token)["userId"]?.string ?? ""
        _ = try await stage.service.send(
            .post, "/v1/tenants/acme/users/\(user)/suspend", as: .platformOwner)
        #expect(try await stage.send(.get, "/api/user/status", token: token).status == 403)
        #expect(try await stage.send(.post, Self.replication, token: token).status == 403)
        await stage.stop()
    }

    private static let paths = [
        "/api/auth/exchange/google", "/api/auth/exchange/github", "/api/auth/github/device-code",
        "/api/auth/github/device-token", "/api/auth/github/poll", replication,
        "/api/user/status", "/api/profile",
        // Not ours, and asked for all the same.
        "/api/writes/batch", "/api/admin/sync-blob", "/api/avatars",
    ]

    @Test func `every path lets the app's page ask before, and no other page`() async throws {
        let stage = try await DeepRecallStage.make()
        for path in Self.paths {
            let method = ["/api/user/status", "/api/profile"].contains(path) ? "GET" : "POST"
            func ask(_ origin: String) async throws -> TestAnswer {
                try await stage.service.send(
                    .options, "/t/acme/deeprecall\(path)",
                    fields: [
                        Field("origin", origin), Field("access-control-request-method", method),
                        Field("access-control-request-headers", "authorization,content-type"),
                    ])
            }
            let allowed = try await ask(DeepRecallStage.origin)
            #expect(allowed.status == 204 && allowed.text.isEmpty, "\(path)")
            #expect(
                allowed.first("access-control-allow-origin") == DeepRecallStage.origin, "\(path)")
            #expect(allowed.first("access-control-allow-methods")?.contains(method) == true)
            let headers = allowed.first("access-control-allow-headers")?.lowercased() ?? ""
            #expect(headers.contains("authorization") && headers.contains("content-type"))
            #expect(allowed.first("access-control-max-age") == "600")
            let refused = try await ask("https://evil.example")
            expectOnlyError(refused, 403, "Origin not allowed")
            #expect(refused.first("access-control-allow-origin") == nil, "\(path)")
            #expect(refused.first("vary")?.contains("Origin") == true)
        }
        await stage.stop()
    }

    @Test func `what the app asks beyond signing in is not here, and its page may read that`()
        async throws
    {
        let stage = try await DeepRecallStage.make()
        for path in ["/api/writes/batch", "/api/avatars", "/api/profile/merge"] {
            let answer = try await stage.send(.post, path, "{}")
            expectOnlyError(answer, 404, "There is no such path.")
        }
        let evil = try await stage.service.send(
            .get, "/t/acme/deeprecall/api/user/status",
            fields: [Field("origin", "https://evil.example")])
        expectOnlyError(evil, 403, "Origin not allowed")
        await stage.stop()
    }
}
