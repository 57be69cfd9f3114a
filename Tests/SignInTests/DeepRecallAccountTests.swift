import HTTP
import JSON
import TestSupport
import Testing
import Text

/// What the app asks with its token, and what a browser page around it asks before.
@Suite(.cleansUp) struct DeepRecallAccountTests {
    private static let replication = "/api/replication/token"

    @Test func `D5 the app token is changed for a short replication token`() async throws {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        var electric = ""
        for (settings, audience) in [
            ("{}", "electric"),
            (#"{"replication_audience":"replica.acme.example"}"#, "replica.acme.example"),
        ] {
            try await fixture.service.manage(
                .put, "/v1/tenants/acme/clients/deeprecall",
                #"{"enabled":true,"settings":\#(settings)}"#)
            let answer = try await fixture.send(.post, Self.replication, token: token)
            electric = try #require(answer.json["electric_token"]?.string)
            expectAnswer(answer, #"{"electric_token":"\#(electric)","expires_in":900}"#)
            #expect(answer.first("cache-control") == "no-store")
            try await fixture.expectSigned(electric, type: "JWT")
            let claims = try fixture.payload(electric)
            #expect(claims["sub"] == (try fixture.payload(token))["userId"])
            #expect(claims["aud"]?.string == audience)
            #expect(claims["deviceId"]?.string == DeepRecallFixture.device)
            #expect((claims["exp"]?.int ?? 0) - (claims["iat"]?.int ?? 0) == 900)
        }
        // It opens nothing here.
        expectOnlyError(
            try await fixture.send(.post, Self.replication, token: electric), 401, "JWT expired")
        expectOnlyError(
            try await fixture.send(.get, "/api/user/status", token: electric), 401,
            "Authentication required")
    }

    @Test func `D5 without a bearer token, or with one that is over, replication is 401`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        let missing = "Missing or invalid Authorization header"
        expectOnlyError(try await fixture.send(.post, Self.replication), 401, missing)
        for value in ["Basic YTpi", "Bearer", "Bearer ", token] {
            expectOnlyError(
                try await fixture.send(
                    .post, Self.replication, fields: [Field("authorization", value)]), 401, missing)
        }
        let cut = String(token.dropLast(2))
        for bad in ["garbage", cut, "a.b.c"] {
            expectOnlyError(
                try await fixture.send(.post, Self.replication, token: bad), 401, "JWT expired")
        }
        let short = try await DeepRecallFixture.make(settings: #"{"token_seconds":900}"#)
        try await short.invite("ann@acme.example")
        let old = try await short.signInWithGoogle()
        short.clock.advance(seconds: 899)
        #expect(try await short.send(.post, Self.replication, token: old).status == 200)
        short.clock.advance(seconds: 1)
        expectOnlyError(
            try await short.send(.post, Self.replication, token: old), 401, "JWT expired")
        let user = try fixture.payload(token)["userId"]?.string ?? ""
        let ended = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(user)/sessions", as: .platformOwner)
        #expect(ended.status < 300)
        expectOnlyError(
            try await fixture.send(.post, Self.replication, token: token), 401, "JWT expired")
    }

    @Test func `D7 the status of an account counts sign-ins; the app's own counts are 0`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        let answer = try await fixture.send(.get, "/api/user/status", token: token)
        expectAnswer(
            answer,
            #"{"identityCount":1,"isNew":false,"worksCount":0,"assetsCount":0,"#
                + #""annotationsCount":0}"#)
        expectOnlyError(
            try await fixture.send(.get, "/api/user/status"), 401, "Authentication required")
        expectOnlyError(
            try await fixture.send(.get, "/api/user/status", token: "x"), 401,
            "Authentication required")
    }

    @Test func `D8 the profile shows the sign-ins and takes a new name`() async throws {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        let first = try await fixture.send(.get, "/api/profile", token: token)
        func expectProfile(_ answer: TestAnswer, _ name: String) {
            let user = answer.json["user"]
            let identity = answer.json["linkedIdentities"]?.array?.first
            let (id, created) = (user?["id"], user?["createdAt"])
            let updated = user?["updatedAt"]
            expectRandomUUID(id)
            expectRandomUUID(identity?["id"])
            for date in [created, updated, identity?["createdAt"]] { expectDate(date) }
            expectAnswer(
                answer,
                #"{"user":{"id":"\#(id?.string ?? "")","email":"ann@acme.example","#
                    + #""displayName":"\#(name)","avatarUrl":null,"#
                    + #""createdAt":"\#(created?.string ?? "")","#
                    + #""updatedAt":"\#(updated?.string ?? "")"},"linkedIdentities":[{"#
                    + #""id":"\#(identity?["id"]?.string ?? "")","provider":"google","#
                    + #""providerUserId":"10769","email":"ann@acme.example","#
                    + #""displayName":"\#(name)","avatarUrl":null,"#
                    + #""createdAt":"\#(identity?["createdAt"]?.string ?? "")"}]}"#)
        }
        expectProfile(first, "Ann")
        expectProfile(
            try await fixture.send(
                .patch, "/api/profile", #"{"displayName":"Ann B."}"#, token: token), "Ann B.")
        expectProfile(try await fixture.send(.get, "/api/profile", token: token), "Ann B.")
        expectOnlyError(
            try await fixture.send(.patch, "/api/profile", "{}", token: token), 400,
            "No fields to update")
        expectOnlyError(
            try await fixture.send(.get, "/api/profile"), 401, "Authentication required")
    }

    @Test func `another tenant's token is not known here, and a suspended person's is 403`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        let other = try await fixture.service.makeTenant("other")
        _ = try await fixture.service.send(
            .put, "/v1/tenants/other/clients/deeprecall", json: #"{"enabled":true}"#,
            as: .tenantAdmin(other))
        let foreign = try await fixture.service.send(
            .get, "/t/other/deeprecall/api/user/status", as: .bearer(token))
        #expect(foreign.status == 404)
        let user = try fixture.payload(token)["userId"]?.string ?? ""
        _ = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/suspend", as: .platformOwner)
        #expect(try await fixture.send(.get, "/api/user/status", token: token).status == 403)
        #expect(try await fixture.send(.post, Self.replication, token: token).status == 403)
    }

    @Test func `D8 the app's configuration has no secret, whatever is set`() async throws {
        let fixture = try await DeepRecallFixture.make()
        let empty = #"{"electricUrl":"","electricSourceId":"","electricSecret":""}"#
        expectAnswer(try await fixture.send(.get, "/api/config"), empty)
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/deeprecall",
            #"{"enabled":true,"settings":{"replication_url":"https://sync.acme.example/v1/shape","#
                + #""replication_source":"acme-1"}}"#)
        let config = try await fixture.send(.get, "/api/config")
        expectAnswer(
            config,
            #"{"electricUrl":"https://sync.acme.example/v1/shape","electricSourceId":"acme-1","#
                + #""electricSecret":""}"#)
        #expect(config.first("access-control-allow-origin") == "*")
    }

    @Test func `D6 every path lets the app's page ask before, and no other page`() async throws {
        let fixture = try await DeepRecallFixture.make()
        let calls: [(method: HTTP.Method, path: String)] = [
            (.post, "/api/auth/exchange/google"), (.post, "/api/auth/exchange/github"),
            (.post, "/api/auth/github/device-code"), (.post, "/api/auth/github/device-token"),
            (.post, "/api/auth/github/poll"), (.post, Self.replication),
            (.get, "/api/user/status"), (.get, "/api/profile"), (.patch, "/api/profile"),
            (.post, "/api/profile/link/github"), (.delete, "/api/profile/link/google"),
            // Not ours, and asked for all the same.
            (.post, "/api/profile/merge"), (.post, "/api/writes/batch"),
            (.post, "/api/admin/sync-blob"), (.post, "/api/avatars"),
            // The base address ended in a slash.
            (.post, "//api/auth/exchange/google"),
        ]
        try await fixture.expectPreflights(calls)
        for (method, path) in calls {
            let refused = try await fixture.service.send(
                .options, DeepRecallFixture.mount + path,
                fields: [
                    Field("origin", "https://evil.example"),
                    Field("access-control-request-method", method.rawValue),
                ])
            #expect(refused.status == 403 && refused.text == "Origin not allowed", "\(path)")
            #expect(refused.first("content-type") == "text/plain; charset=utf-8")
        }
    }

    @Test func `D8 what the app asks beyond signing in is not here, and its page may read that`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        for path in ["/api/writes/batch", "/api/avatars", "/api/profile/merge"] {
            let answer = try await fixture.send(.post, path, "{}")
            expectOnlyError(answer, 404, "There is no such path.")
        }
        // Its web page's own sign-in, which is another library's.
        for path in ["/api/auth/session", "/api/auth/csrf", "/api/auth/providers"] {
            let answer = try await fixture.send(.get, path)
            expectOnlyError(answer, 404, "There is no such path.")
        }
        let evil = try await fixture.service.send(
            .get, "/t/acme/deeprecall/api/user/status",
            fields: [Field("origin", "https://evil.example")])
        expectOnlyError(evil, 403, "Origin not allowed")
    }
}
