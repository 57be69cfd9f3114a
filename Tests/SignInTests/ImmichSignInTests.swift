import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

struct ImmichSignInTests {
    @Test func `the well-known document, ping and version answer without a credential`()
        async throws
    {
        let stage = try await ImmichStage.make(
            settings: #"{"version":{"major":2,"minor":3,"patch":1},"compat":"v2"}"#)
        let known = try await stage.send(.get, "/.well-known/immich")
        #expect(known.status == 200 && known.text == #"{"api":{"endpoint":"/api"}}"#)
        #expect(try await stage.send(.get, "/api/server/ping").text == #"{"res":"pong"}"#)
        let version = try await stage.send(.get, "/api/server/version")
        #expect(version.text == #"{"major":2,"minor":3,"patch":1}"#)
        let anywhere = try await stage.send(
            .get, "/api/server/ping", fields: [Field("origin", "https://any.example")])
        #expect(anywhere.status == 200)
        #expect(anywhere.first("access-control-allow-origin") == "*")
        let features = try await stage.send(.get, "/api/server/features")
        #expect(features.json.members?.count == 16)
        #expect(features.json["passwordLogin"] == .bool(true))
        #expect(features.json["oauth"] == .bool(false))
        let config = try await stage.send(.get, "/api/server/config")
        #expect(config.json.members?.count == 12)
        #expect(config.json["externalDomain"]?.string == "http://gatehouse.test/t/acme/immich")
        await stage.service.stop()
    }

    @Test func `a sign-in by password answers the login response and three cookies`() async throws {
        let stage = try await ImmichStage.make()
        let answer = try await stage.signIn()
        #expect(answer.status == 201)
        let token = try #require(answer.json["accessToken"]?.string)
        #expect(
            answer.text
                == #"{"accessToken":"\#(token)","userId":"\#(stage.user.id)","#
                + #""userEmail":"ann@acme.example","name":"Ann","isAdmin":true,"#
                + #""shouldChangePassword":false,"profileImagePath":"","isOnboarded":true}"#)
        let cookies = answer.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(cookies.count == 3)
        let shape = "; Max-Age=34560000; Path=/t/acme/immich; Expires="
        #expect(cookies[0].hasPrefix("immich_access_token=\(token)\(shape)"))
        #expect(cookies[0].hasSuffix(" GMT; HttpOnly; SameSite=Lax"))
        #expect(cookies[1].hasPrefix("immich_auth_type=password\(shape)"))
        #expect(cookies[1].hasSuffix(" GMT; HttpOnly; SameSite=Lax"))
        #expect(cookies[2].hasPrefix("immich_is_authenticated=true\(shape)"))
        #expect(cookies[2].hasSuffix(" GMT; SameSite=Lax"))
        #expect(answer.first("cache-control") == "no-store")

        let me = try await stage.send(.get, "/api/users/me", token: token)
        #expect(me.status == 200)
        #expect(me.json["id"]?.string == stage.user.id.description)
        #expect(me.json["isAdmin"] == .bool(true) && me.json["status"]?.string == "active")
        #expect(me.json["clusterGroupId"]?.string.flatMap { UUID($0) } != nil)
        let sessions = try await stage.service.send(
            .get, "/v1/tenants/acme/users/\(stage.user.id)/sessions", as: .platformOwner)
        let session = sessions.json["items"]?.array?.first
        #expect(session?["client"]?.string == "immich")
        await stage.service.stop()
    }

    @Test func `every place of the token counts, two different ones do not`() async throws {
        let stage = try await ImmichStage.make()
        let token = try await stage.token()
        let other = try await stage.token()
        let path = "/api/auth/validateToken"
        for field in [
            Field("authorization", "Bearer \(token)"), Field("authorization", "bearer \(token)"),
            Field("x-immich-user-token", token), Field("x-immich-session-token", token),
            Field("x-api-key", token), Field("cookie", "a=b; immich_access_token=\(token)"),
        ] {
            let answer = try await stage.send(.post, path, fields: [field])
            #expect(answer.status == 200, "\(field)")
            #expect(answer.text == #"{"authStatus":true}"#)
        }
        let two = try await stage.send(
            .post, path, token: other, fields: [Field("authorization", "Bearer \(token)")])
        #expect(two.status == 400)
        let withCookie = try await stage.send(
            .post, path, token: "x", fields: [Field("cookie", "immich_access_token=\(token)")])
        expectError(withCookie, 401, "Invalid user token")
        expectError(try await stage.send(.post, path), 401, "Authentication required")
        let inQuery = try await stage.send(.post, "\(path)?apiKey=\(token)")
        #expect(inQuery.status == 400)
        await stage.service.stop()
    }

    @Test func `an unknown address, a wrong password and a missing one are refused in their words`()
        async throws
    {
        let stage = try await ImmichStage.make()
        expectError(try await stage.signIn("wrong"), 401, "Incorrect email or password")
        let unknown = try await stage.send(
            .post, "/api/auth/login", #"{"email":"bob@acme.example","password":"wrong"}"#)
        expectError(unknown, 401, "Incorrect email or password")
        let empty = try await stage.send(.post, "/api/auth/login", #"{"email":"a@b.example"}"#)
        expectError(empty, 400, "password must be a string")
        let noJSON = try await stage.send(.post, "/api/auth/login", "{")
        expectError(noJSON, 400, "The body must be a JSON object.")
        expectError(try await stage.send(.get, "/api/photos"), 404, "There is no such path.")
        let method = try await stage.send(.get, "/api/auth/login")
        #expect(method.status == 405)
        try await ImmichStage.set(
            stage.service, stage.tenant, #"{"password_login":false}"#)
        expectError(try await stage.signIn(), 401, "Password login has been disabled")
        await stage.service.stop()
    }

    @Test func `signing out ends the session and clears the cookies`() async throws {
        let stage = try await ImmichStage.make()
        let token = try await stage.token()
        let out = try await stage.send(.post, "/api/auth/logout", token: token)
        #expect(out.status == 200)
        #expect(
            out.text == #"{"successful":true,"redirectUri":"/auth/login?autoLaunch=0"}"#)
        #expect(
            out.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
                == [
                    "immich_access_token", "immich_auth_type", "immich_is_authenticated",
                ].map { "\($0)=; Path=/t/acme/immich; Expires=Thu, 01 Jan 1970 00:00:00 GMT" })
        expectError(
            try await stage.send(.get, "/api/users/me", token: token), 401, "Invalid user token")
        expectError(
            try await stage.send(.post, "/api/auth/logout"), 401, "Authentication required")
        await stage.service.stop()
    }

    @Test func `a suspended user or tenant is refused at once, and works again after resuming`()
        async throws
    {
        let stage = try await ImmichStage.make()
        let token = try await stage.token()
        func me() async throws -> Int {
            try await stage.send(.get, "/api/users/me", token: token).status
        }
        let user = "/v1/tenants/acme/users/\(stage.user.id)"
        for path in [user, "/v1/tenants/acme"] {
            _ = try await stage.service.send(.post, "\(path)/suspend", as: .platformOwner)
            #expect(try await me() == 403)
            _ = try await stage.service.send(.post, "\(path)/resume", as: .platformOwner)
            #expect(try await me() == 200)
        }
        await stage.service.stop()
    }

    @Test func `the first admin signs up once where the client allows it`() async throws {
        let stage = try await ImmichStage.make()
        let body = #"{"email":"root@acme.example","password":"correct horse battery","name":"R"}"#
        expectError(
            try await stage.send(.post, "/api/auth/admin-sign-up", body), 400,
            "The server already has an admin")
        let fresh = try await stage.service.makeTenant("fresh")
        _ = try await stage.service.send(
            .put, "/v1/tenants/fresh/clients/immich",
            json: #"{"enabled":true,"settings":{"admin_sign_up":true,"single_label_email":true}}"#,
            as: .tenantAdmin(fresh))
        let path = "/t/fresh/immich/api/auth/admin-sign-up"
        let local = body.replacing("root@acme.example", with: "admin@local")
        let made = try await stage.service.send(.post, path, json: local)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["isAdmin"] == .bool(true))
        expectError(
            try await stage.service.send(.post, path, json: local), 400,
            "The server already has an admin")
        await stage.service.stop()
    }

    @Test func `a password's owner is decided of by the rules, like everybody`() async throws {
        let stage = try await ImmichStage.make()
        for _ in 0..<2 { _ = try await stage.token() }
        #expect(try await stage.signIn("wrong").status == 401)
        let decisions = try await stage.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        let items = decisions.json["items"]?.array ?? []
        #expect(items.map { $0["outcome"]?.string } == ["existing", "existing"])
        #expect(items.allSatisfy { $0["provider"]?.string == "password" }, "\(decisions.text)")
        #expect(items.allSatisfy { $0["user_id"]?.string == stage.user.id.description })
        let identities = try await stage.service.send(
            .get, "/v1/tenants/acme/users/\(stage.user.id)/identities", as: .platformOwner)
        #expect(identities.json["items"]?.array?.count == 1, "\(identities.text)")
        await stage.service.stop()
    }

    @Test func `a credential in the address is refused, whatever else comes along`() async throws {
        let stage = try await ImmichStage.make()
        let token = try await stage.token()
        for query in ["sessionKey=\(token)", "apiKey=\(token)", "apiKey=", "a=b&sessionKey=x"] {
            for credential in [nil, token] {
                expectError(
                    try await stage.send(.get, "/api/users/me?\(query)", token: credential), 400,
                    "A credential must not stand in the address.")
            }
        }
        func leaks() async throws -> [String?] {
            let events = try await stage.service.send(
                .get, "/v1/tenants/acme/audit-events?action=api_key.leaked",
                as: .platformOwner)
            return (events.json["items"]?.array ?? []).map { $0["target"]?["name"]?.string }
        }
        #expect(try await leaks() == [])
        let made = try await stage.send(
            .post, "/api/api-keys", #"{"name":"mine","permissions":["all"]}"#, token: token)
        let key = made.json["secret"]?.string ?? ""
        expectError(
            try await stage.send(.get, "/api/users/me?apiKey=\(key)"), 400,
            "A credential must not stand in the address.")
        #expect(try await leaks() == ["mine"], "\(made.text)")
        await stage.service.stop()
    }
}
