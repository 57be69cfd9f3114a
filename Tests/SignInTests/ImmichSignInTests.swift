import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ImmichSignInTests {
    @Test func `I6 a sign-in by password answers the login response and three cookies`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let answer = try await fixture.signIn()
        let token = try #require(answer.json["accessToken"]?.string)
        func expectLogin(_ answer: TestAnswer) {
            let token = answer.json["accessToken"]?.string ?? ""
            expectRandomUUID(answer.json["userId"])
            expectAnswer(
                answer,
                #"{"accessToken":"\#(token)","userId":"\#(fixture.user.id)","#
                    + #""userEmail":"ann@acme.example","name":"Ann","isAdmin":true,"#
                    + #""shouldChangePassword":false,"profileImagePath":"","isOnboarded":true}"#,
                status: 201)
            #expect(answer.first("cache-control") == "no-store")
        }
        expectLogin(answer)
        expectCookies(answer, token: token, type: "password")
        let sessions = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/\(fixture.user.id)/sessions", as: .platformOwner)
        let session = sessions.json["items"]?.array?.first
        #expect(session?["client"]?.string == "immich")
        #expect(session?["device"]?.string == "Pixel 9, Android", "\(sessions.text)")
        // At a host of its own, over TLS, as the web page and the apps' own tests know it.
        let body = #"{"email":"ann@acme.example","password":"\#(ImmichFixture.password)"}"#
        let secure = try await fixture.service.send(
            .post, "/api/auth/login", json: body, fields: [Field("host", "photos.acme.example")],
            isTLS: true)
        expectLogin(secure)
        expectCookies(
            secure, token: secure.json["accessToken"]?.string ?? "", type: "password", path: "/",
            isSecure: true)
        let me = try await fixture.service.send(
            .get, "/api/users/me",
            fields: [
                Field("host", "photos.acme.example"),
                Field("cookie", "immich_access_token=\(token)"),
            ])
        #expect(me.status == 200)
    }

    @Test func `I10 a session's person is whole in both generations, by either header`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        for generation in ["v3", "v2"] {
            try await ImmichFixture.set(
                fixture.service, fixture.tenant, #"{"compat":"\#(generation)"}"#)
            let whole = try await fixture.wholeUser(
                of: fixture.user.id.description, generation: generation)
            for field in [
                Field("authorization", "Bearer \(token)"), Field("x-immich-user-token", token),
            ] {
                let me = try await fixture.send(.get, "/api/users/me", fields: [field])
                expectAnswer(me, whole)
                #expect(me.first("cache-control") == "no-store")
            }
        }
        expectError(try await fixture.send(.get, "/api/users/me"), 401, "Authentication required")
        for bad in ["x", String(token.dropLast()) + "!", String(token.reversed())] {
            let answer = try await fixture.send(.get, "/api/users/me", token: bad)
            #expect([401, 404].contains(answer.status), "\(answer.text)")
        }
        expectError(
            try await fixture.send(.get, "/api/users/me", token: "x"), 401, "Invalid user token")
    }

    @Test func `I10 a session is over when its time is, and another tenant's is not known here`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ImmichFixture.make(
            settings: #"{"token_seconds":600}"#, clock: clock)
        let token = try await fixture.token()
        try await fixture.service.makeTenant("other")
        try await fixture.service.manage(
            .put, "/v1/tenants/other/clients/immich", #"{"enabled":true}"#)
        let made = try await fixture.send(
            .post, "/api/api-keys", #"{"permissions":["all"]}"#, token: token)
        let key = made.json["secret"]?.string ?? ""
        func elsewhere() async throws {
            for credential in [token, key] {
                expectError(
                    try await fixture.service.send(
                        .get, "/t/other/immich/api/users/me",
                        fields: [Field("x-immich-user-token", credential)]),
                    404, "There is no such path.")
            }
        }
        try await elsewhere()
        clock.advance(seconds: 599)
        #expect(try await fixture.send(.get, "/api/users/me", token: token).status == 200)
        clock.advance(seconds: 1)
        expectError(
            try await fixture.send(.get, "/api/users/me", token: token), 401, "Invalid user token")
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/api-keys/\(made.json["apiKey"]?["id"]?.string ?? "")/revoke",
            "{}")
        // Good or not, it reads the same there.
        try await elsewhere()
    }

    @Test func `I14 every place of the token counts, two different ones do not`() async throws {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        let other = try await fixture.token()
        let path = "/api/auth/validateToken"
        for field in [
            Field("authorization", "Bearer \(token)"), Field("authorization", "bearer \(token)"),
            Field("x-immich-user-token", token), Field("x-immich-session-token", token),
            Field("x-api-key", token), Field("cookie", "a=b; immich_access_token=\(token)"),
        ] {
            let answer = try await fixture.send(.post, path, fields: [field])
            expectAnswer(answer, #"{"authStatus":true}"#)
        }
        let two = try await fixture.send(
            .post, path, token: other, fields: [Field("authorization", "Bearer \(token)")])
        expectError(two, 400, "There are different credentials; send one.")
        let withCookie = try await fixture.send(
            .post, path, token: "x", fields: [Field("cookie", "immich_access_token=\(token)")])
        expectError(withCookie, 401, "Invalid user token")
        expectError(try await fixture.send(.post, path), 401, "Authentication required")
        let inQuery = try await fixture.send(.post, "\(path)?apiKey=\(token)")
        expectError(inQuery, 400, "A credential must not be part of the URL.")
    }

    @Test
    func `I6 an unknown address, a wrong password and a missing one are refused in their words`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        expectError(try await fixture.signIn("wrong"), 401, "Incorrect email or password")
        let unknown = try await fixture.send(
            .post, "/api/auth/login", #"{"email":"bob@acme.example","password":"wrong"}"#)
        expectError(unknown, 401, "Incorrect email or password")
        let empty = try await fixture.send(.post, "/api/auth/login", #"{"email":"a@b.example"}"#)
        expectError(empty, 400, "password must be a string")
        let noJSON = try await fixture.send(.post, "/api/auth/login", "{")
        expectError(
            noJSON, 400, "The body cannot be read as JSON: a member name is expected at byte 1.")
        expectError(try await fixture.send(.get, "/api/photos"), 404, "There is no such path.")
        for (body, text) in [
            (#"{"password":"x"}"#, "email must be a string"),
            (#"{"email":"","password":"x"}"#, "email should not be empty"),
            (#"{"email":"ann","password":"x"}"#, "email must be an email"),
            (#"{"email":"a@b.example","password":""}"#, "password should not be empty"),
        ] {
            expectError(try await fixture.send(.post, "/api/auth/login", body), 400, text)
        }
        expectError(
            try await fixture.send(.get, "/api/auth/login"), 405, "GET is not served here.")
        try await ImmichFixture.set(
            fixture.service, fixture.tenant, #"{"password_login":false}"#)
        expectError(try await fixture.signIn(), 401, "Password login has been disabled")
    }

    @Test func `I11 signing out ends the session and clears the cookies`() async throws {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        let out = try await fixture.send(.post, "/api/auth/logout", token: token)
        expectAnswer(out, #"{"successful":true,"redirectUri":"/auth/login?autoLaunch=0"}"#)
        #expect(
            out.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
                == [
                    "immich_access_token", "immich_auth_type", "immich_is_authenticated",
                ].map { "\($0)=; Path=/t/acme/immich; Expires=Thu, 01 Jan 1970 00:00:00 GMT" })
        expectError(
            try await fixture.send(.get, "/api/users/me", token: token), 401, "Invalid user token")
        expectError(
            try await fixture.send(.post, "/api/auth/logout"), 401, "Authentication required")
    }

    @Test func `a suspended user or tenant is refused at once, and works again after resuming`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        func me() async throws -> Int {
            // A suspended tenant has no origins: the app itself asks.
            try await fixture.service.send(
                .get, "/t/acme/immich/api/users/me", fields: [Field("x-immich-user-token", token)]
            ).status
        }
        let user = "/v1/tenants/acme/users/\(fixture.user.id)"
        for path in [user, "/v1/tenants/acme"] {
            _ = try await fixture.service.send(.post, "\(path)/suspend", as: .platformOwner)
            #expect(try await me() == 403)
            _ = try await fixture.service.send(.post, "\(path)/resume", as: .platformOwner)
            #expect(try await me() == 200)
        }
    }

    @Test func `I15 the first admin signs up once where the client allows it`() async throws {
        let fixture = try await ImmichFixture.make()
        let body = #"{"email":"root@acme.example","password":"correct horse battery","name":"R"}"#
        expectError(
            try await fixture.send(.post, "/api/auth/admin-sign-up", body), 400,
            "The server already has an admin")
        let fresh = try await fixture.service.makeTenant("fresh")
        _ = try await fixture.service.send(
            .put, "/v1/tenants/fresh/clients/immich",
            json: #"{"enabled":true,"settings":{"admin_sign_up":true,"single_label_email":true}}"#,
            as: .tenantAdmin(fresh))
        let path = "/t/fresh/immich/api/auth/admin-sign-up"
        let local = body.replacing("root@acme.example", with: "aDmIn@LOCAL")
        let made = try await fixture.service.send(.post, path, json: local)
        let (id, created) = (made.json["id"], made.json["createdAt"])
        expectRandomUUID(id)
        expectDate(created)
        expectDate(made.json["updatedAt"])
        expectAnswer(
            made,
            #"{"id":"\#(id?.string ?? "")","email":"admin@local","name":"R","#
                + #""profileImagePath":"","avatarColor":"primary","#
                + #""profileChangedAt":"\#(created?.string ?? "")","isAdmin":true,"#
                + #""shouldChangePassword":true,"storageLabel":"admin","#
                + #""createdAt":"\#(created?.string ?? "")","#
                + #""updatedAt":"\#(made.json["updatedAt"]?.string ?? "")","deletedAt":null,"#
                + #""oauthId":"","quotaSizeInBytes":null,"quotaUsageInBytes":0,"#
                + #""status":"active","license":null,"clusterGroupId":"\#(fresh.id)"}"#,
            status: 201)
        expectError(
            try await fixture.service.send(.post, path, json: local), 400,
            "The server already has an admin")
        let clients = try await fixture.service.send(
            .get, "/v1/tenants/fresh/clients", as: .platformOwner)
        let client = clients.json["items"]?.array?.first { $0["name"]?.string == "immich" }
        #expect(client?["settings"]?["single_label_email"] == .bool(true), "\(clients.text)")
        #expect(client?["settings"]?["admin_sign_up"] == nil, "\(clients.text)")
        for (body, text) in [
            (#"{"password":"x","name":"R"}"#, "email must be a string"),
            (#"{"email":"a@b.example","name":"R"}"#, "password must be a string"),
            (#"{"email":"a@b.example","password":"x"}"#, "name must be a string"),
        ] {
            expectError(try await fixture.send(.post, "/api/auth/admin-sign-up", body), 400, text)
        }
    }

    @Test func `the rules decide on the owner of a password like on any person`() async throws {
        let fixture = try await ImmichFixture.make()
        for _ in 0..<2 { _ = try await fixture.token() }
        #expect(try await fixture.signIn("wrong").status == 401)
        let decisions = try await fixture.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        let items = decisions.json["items"]?.array ?? []
        #expect(items.map { $0["outcome"]?.string } == ["existing", "existing"])
        #expect(items.allSatisfy { $0["provider"]?.string == "password" }, "\(decisions.text)")
        #expect(items.allSatisfy { $0["user_id"]?.string == fixture.user.id.description })
        let identities = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/\(fixture.user.id)/identities", as: .platformOwner)
        #expect(identities.json["items"]?.array?.count == 1, "\(identities.text)")
    }

    @Test func `a credential in the address is refused, whatever else comes along`() async throws {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        for query in ["sessionKey=\(token)", "apiKey=\(token)", "apiKey=", "a=b&sessionKey=x"] {
            for credential in [nil, token] {
                expectError(
                    try await fixture.send(.get, "/api/users/me?\(query)", token: credential), 400,
                    "A credential must not be part of the URL.")
            }
        }
        func leaks() async throws -> [String?] {
            let events = try await fixture.service.send(
                .get, "/v1/tenants/acme/audit-events?action=api_key.leaked",
                as: .platformOwner)
            return (events.json["items"]?.array ?? []).map { $0["target"]?["name"]?.string }
        }
        #expect(try await leaks() == [])
        let made = try await fixture.send(
            .post, "/api/api-keys", #"{"name":"mine","permissions":["all"]}"#, token: token)
        let key = made.json["secret"]?.string ?? ""
        expectError(
            try await fixture.send(.get, "/api/users/me?apiKey=\(key)"), 400,
            "A credential must not be part of the URL.")
        #expect(try await leaks() == ["mine"], "\(made.text)")
    }
}
