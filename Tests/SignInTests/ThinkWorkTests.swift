import HTTP
import JSON
import Observability
import Storage
import TestSupport
import Testing
import Text

/// Thinkwork's web, mobile and service callers against a Cognito pool of our own making.
struct ThinkWorkTests {
    private static let pool = "eu-central-1_abc"

    private struct Stage {
        let service: TestService
        let tenant: TenantRow
        let provider: TestProvider

        static func make(settings: String = "{}", logger: Logger? = nil) async throws -> Stage {
            let service = try await TestService.make(logger: logger)
            let tenant = try await service.makeTenant("acme")
            let set = try await service.send(
                .put, "/v1/tenants/acme/clients/thinkwork",
                json: #"{"enabled":true,"settings":\#(settings)}"#, as: .tenantAdmin(tenant))
            #expect(set.status == 200, "\(set.text)")
            return Stage(
                service: service, tenant: tenant, provider: try await TestProvider.start())
        }

        func stop() async {
            await provider.stop()
            await service.stop()
        }

        @discardableResult
        func addPool(_ more: String = "") async throws -> TestAnswer {
            let made = try await service.send(
                .post, "/v1/providers",
                json: #"{"kind":"cognito","name":"Pool","issuer":"\#(pool)","client_id":"web","#
                    + #""email_trust":"verified_claim","upstreams":[{"name":"Google"},"#
                    + #"{"name":"Okta"}],"endpoints":{"issuer":"\#(provider.issuer)/\#(pool)","#
                    + #""authorization_endpoint":"\#(provider.issuer)/a","#
                    + #""token_endpoint":"\#(provider.issuer)/t","#
                    + #""jwks_uri":"\#(provider.issuer)/keys"}\#(more)}"#,
                as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
            return made
        }

        /// What the pool gives a person who came from Google.
        func token(
            _ email: String = "ann@acme.example", _ changes: [String: String?] = [:]
        ) -> String {
            var claims: [String: String?] = [
                "iss": "\"\(provider.issuer)/\(pool)\"", "token_use": "\"id\"",
                "email": "\"\(email)\"", "email_verified": "true", "name": "\"Ann\"",
                "cognito:username": "\"Google_\(email)\"", "sub": "\"pool \(email)\"",
                "identities": #"[{"providerName":"Google","userId":"\#(email)"}]"#,
            ]
            for (name, value) in changes { claims[name] = value }
            return provider.mint(clientID: "web", now: Timestamp.systemClock()).token(claims)
        }

        /// As the web sends it: the token bare, the tenant beside it.
        func send(
            _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil,
            fields: [Field] = []
        ) async throws -> TestAnswer {
            let bare = token.map { [Field("authorization", $0)] } ?? []
            return try await service.send(
                method, "/t/acme/thinkwork\(path)", json: json, fields: fields + bare)
        }

        func invite(_ email: String, role: String = "member") async throws {
            let answer = try await service.send(
                .post, "/v1/tenants/acme/invites",
                json: #"{"email":"\#(email)","role":"\#(role)"}"#, as: .platformOwner)
            #expect(answer.status == 201, "\(answer.text)")
        }

        /// Takes the invite up at the app's own door.
        func join(_ email: String, role: String = "member") async throws -> String {
            try await invite(email, role: role)
            let token = token(email)
            let linked = try await send(.post, "/api/auth/enrollment/auto-link", token: token)
            #expect(linked.text == #"{"outcome":"linked"}"#)
            return token
        }
    }

    @Test func `who is signed in, with the token bare or with its scheme`() async throws {
        let stage = try await Stage.make()
        try await stage.addPool()
        let token = try await stage.join("ann@acme.example", role: "admin")
        let users = try await stage.service.send(
            .get, "/v1/tenants/acme/users", as: .tenantAdmin(stage.tenant))
        let id = try #require(users.json["items"]?.array?.first?["id"]?.string)
        let tenant = stage.tenant.id.description
        let me =
            #"{"email":"ann@acme.example","userId":"\#(id)","tenantId":"\#(tenant)","#
            + #""role":"admin","name":"Ann","tenantSelectionRequired":false,"#
            + #""availableTenants":[{"tenantId":"\#(tenant)","role":"admin"}],"#
            + #""migrationRequired":false}"#
        for (path, field) in [
            ("/api/auth/me", Field("authorization", token)),
            ("/api/auth/me", Field("authorization", "Bearer \(token)")),
            ("/api/auth/me?tenantId=\(tenant)", Field("authorization", token)),
            ("/api/auth/me?tenantId=acme", Field("authorization", token)),
        ] {
            let answer = try await stage.send(.get, path, fields: [field])
            #expect(answer.status == 200 && answer.text == me, "\(answer.text)")
            #expect(answer.first("cache-control") == "no-store")
        }
        for header in ["x-tenant-id", "x-thinkwork-tenant-id"] {
            let own = try await stage.send(
                .get, "/api/auth/me", token: token, fields: [Field(header, tenant)])
            #expect(own.text == me)
            let other = try await stage.send(
                .get, "/api/auth/me", token: token,
                fields: [Field(header, "00000000-0000-4000-8000-000000000000")])
            expectOnlyError(other, 404, "There is no such tenant.")
        }
        let post = try await stage.send(.post, "/api/auth/me", token: token)
        #expect(post.status == 405)
        #expect(post.json.members?.map(\.name) == ["error"])
        await stage.stop()
    }

    @Test func `a person without a living row is told which, and nothing is written`()
        async throws
    {
        let stage = try await Stage.make()
        try await stage.addPool()
        func me(_ token: String) async throws -> JSONValue {
            let answer = try await stage.send(.get, "/api/auth/me", token: token)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.json
        }
        let stranger = try await me(stage.token("eve@other.example"))
        #expect(stranger["note"]?.string == "user_not_bootstrapped")
        for name in ["userId", "tenantId", "role"] { #expect(stranger[name] == .null) }
        #expect(stranger["availableTenants"] == .array([]))
        try await stage.invite("ann@acme.example")
        #expect(try await me(stage.token())["note"]?.string == "user_not_bootstrapped")
        let decisions = try await stage.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        #expect(decisions.json["items"] == .array([]))
        let token = try await stage.join("bob@acme.example")
        let id = try #require(try await me(token)["userId"]?.string)
        _ = try await stage.service.send(
            .post, "/v1/tenants/acme/users/\(id)/suspend", as: .platformOwner)
        let suspended = try await me(token)
        #expect(suspended["note"]?.string == "tenant_membership_inactive")
        #expect(suspended["tenantId"] == .null && suspended["availableTenants"] == .array([]))
        await stage.stop()
    }

    @Test func `a token that is not the pool's, not an id token or not ours is 401`() async throws {
        let stage = try await Stage.make()
        try await stage.addPool()
        _ = try await stage.join("ann@acme.example")
        let bad = [
            "x", "a.b.c", stage.token("ann@acme.example", ["token_use": "\"access\""]),
            stage.token("ann@acme.example", ["aud": "\"other\""]),
            stage.token("ann@acme.example", ["exp": "1000"]),
            stage.token("ann@acme.example", ["iss": "\"https://evil.example/\(Self.pool)\""]),
            String(stage.token().dropLast(4)) + "AAAA",
        ]
        for token in bad {
            for (method, path) in [
                (HTTP.Method.get, "/api/auth/me"), (.post, "/api/auth/enrollment/auto-link"),
                (.post, "/api/tenants/acme/invites"),
            ] {
                expectOnlyError(
                    try await stage.send(method, path, token: token), 401, "Unauthorized")
            }
        }
        expectOnlyError(try await stage.send(.get, "/api/auth/me"), 401, "Authentication required")
        let two = try await stage.send(
            .get, "/api/auth/me", token: stage.token(), fields: [Field("x-api-key", "k")])
        #expect(two.status == 400)
        await stage.stop()
    }

    @Test func `every hostile id token is 401 with one text, and its reason stands in the log`()
        async throws
    {
        let log = CapturedLog()
        let stage = try await Stage.make(logger: log.logger)
        try await stage.addPool()
        let mint = TokenMint(
            issuer: "\(stage.provider.issuer)/\(Self.pool)", clientID: "web",
            key: stage.provider.key, now: Timestamp.systemClock())
        // What no header line can hold is not sent.
        let tokens = mint.hostile(ahead: 3600).filter { token in
            !token.text.isEmpty && token.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        for token in tokens {
            let answer = try await stage.send(.get, "/api/auth/me", token: token.text)
            #expect(answer.status == 401, "\(token)")
            #expect(answer.text == #"{"error":"Unauthorized"}"#, "\(token)")
        }
        #expect(log.lines.count { $0.contains("sign-in: id token: ") } == tokens.count)
        #expect(!log.text.contains("eyJ"))
        await stage.stop()
    }

    @Test func `auto-link takes up what waits for the person, and lets in nobody else`()
        async throws
    {
        let stage = try await Stage.make()
        try await stage.addPool()
        func link(_ token: String) async throws -> TestAnswer {
            try await stage.send(.post, "/api/auth/enrollment/auto-link", token: token)
        }
        let token = try await stage.join("ann@acme.example")
        #expect(try await link(token).text == #"{"outcome":"already_linked"}"#)
        let stranger = try await link(stage.token("eve@other.example"))
        #expect(stranger.status == 200 && stranger.text == #"{"outcome":"not_linked"}"#)
        try await stage.invite("bob@acme.example")
        let unproved = stage.token("bob@acme.example", ["email_verified": "\"false\""])
        #expect(try await link(unproved).text == #"{"outcome":"not_linked"}"#)
        // The address is a person's who signs in otherwise: nobody takes that row over.
        let okta = stage.token(
            "ann@acme.example",
            [
                "cognito:username": "\"Okta_7\"", "sub": "\"pool okta\"",
                "identities": #"[{"providerName":"Okta","userId":"7"}]"#,
            ])
        expectOnlyError(try await link(okta), 409, "identity_conflict")
        // Where everyone may sign up, this door still makes nobody.
        let open = try await stage.service.send(
            .put, "/v1/tenants/acme/policy", json: #"{"sign_up":"open"}"#,
            as: .tenantAdmin(stage.tenant), fields: [Field("if-match", "*")])
        #expect(open.status == 200, "\(open.text)")
        let another = try await link(stage.token("new@else.example"))
        #expect(another.text == #"{"outcome":"not_linked"}"#)
        await stage.stop()
    }

    @Test func `the options are the pool's providers, and without a sure pool none`() async throws {
        let stage = try await Stage.make(settings: #"{"password":true}"#)
        let path = "/api/auth/options?platform=mobile&host=acme.thinkwork.example"
        let nothing = #"{"password":{"enabled":false},"oauthOptions":[]}"#
        #expect(try await stage.send(.get, path).text == nothing)
        try await stage.addPool()
        let answer = try await stage.send(
            .get, path, fields: [Field("origin", "https://any.example")])
        func option(_ key: String, _ name: String) -> String {
            #"{"key":"\#(key)","label":"Continue with \#(name)","icon":"\#(key)","#
                + #""provider":"\#(name)","providerSpecific":true,"#
                + #""route":{"type":"cognitoHostedUi","clientId":"web","#
                + #""identityProvider":"\#(name)"}}"#
        }
        #expect(
            answer.text
                == #"{"password":{"enabled":true,"clientId":"web"},"oauthOptions":["#
                + "\(option("google", "Google")),\(option("okta", "Okta"))]}")
        #expect(answer.first("cache-control") == "no-store")
        #expect(answer.first("access-control-allow-origin") == "*")
        for platform in ["web", "desktop", "cli"] {
            #expect(
                try await stage.send(.get, "/api/auth/options?platform=\(platform)").status == 200)
        }
        expectOnlyError(
            try await stage.send(.get, "/api/auth/options?platform=tv"), 400,
            "platform must be web, mobile, desktop or cli")
        await stage.stop()
    }

    @Test func `an admin asks a person in, who is a member from then on`() async throws {
        let stage = try await Stage.make()
        try await stage.addPool()
        let admin = try await stage.join("ann@acme.example", role: "admin")
        let body = #"{"email":"Bob@acme.example","name":"Bob"}"#
        let path = "/api/tenants/acme/invites"
        let made = try await stage.send(.post, path, body, token: admin)
        let id = try #require(made.json["id"]?.string)
        let tenant = stage.tenant.id.description
        let rest =
            #""id":"\#(id)","tenantId":"\#(tenant)","principalType":"user","#
            + #""principalId":"\#(id)","role":"member","status":"active","#
            + #""email":"Bob@acme.example"}"#
        #expect(made.status == 201 && made.text == #"{"alreadyMember":false,"# + rest)
        for _ in 0..<2 {
            let again = try await stage.send(.post, path, body, token: admin)
            #expect(again.status == 200 && again.text == #"{"alreadyMember":true,"# + rest)
            // The second time Bob has signed in meanwhile.
            _ = try await stage.send(
                .post, "/api/auth/enrollment/auto-link", token: stage.token("bob@acme.example"))
        }
        let bob = try await stage.send(
            .get, "/api/auth/me", token: stage.token("bob@acme.example"))
        #expect(bob.json["userId"]?.string == id && bob.json["name"]?.string == "Bob")
        for email in [#""x""#, "7", "null", #""""#] {
            expectOnlyError(
                try await stage.send(.post, path, #"{"email":\#(email)}"#, token: admin), 400,
                "email is required and must look like an email address")
        }
        expectOnlyError(
            try await stage.send(
                .post, path, #"{"email":"c@acme.example","role":"owner"}"#, token: admin),
            400, "role must be member, manager or admin")
        for slug in ["other", "00000000-0000-4000-8000-000000000000"] {
            expectOnlyError(
                try await stage.send(.post, "/api/tenants/\(slug)/invites", body, token: admin),
                404, "There is no such tenant.")
        }
        await stage.stop()
    }

    @Test func `nobody gives more than they have, by token or by key`() async throws {
        let stage = try await Stage.make()
        try await stage.addPool()
        let path = "/api/tenants/acme/invites"
        func invite(_ role: String, _ token: String?, _ fields: [Field] = []) async throws -> Int {
            try await stage.send(
                .post, path, #"{"email":"\#(role)@new.example","role":"\#(role)"}"#,
                token: token, fields: fields
            ).status
        }
        let member = try await stage.join("member@acme.example")
        let manager = try await stage.join("manager@acme.example", role: "manager")
        #expect(try await invite("member", member) == 403)
        #expect(try await invite("member", stage.token("eve@other.example")) == 403)
        #expect(try await invite("admin", manager) == 403)
        #expect(try await invite("manager", manager) == 201)
        for (scope, status) in [("invites:write", 201), ("invites:read", 403)] {
            let key = try await stage.service.send(
                .post, "/v1/tenants/acme/api-keys",
                json: #"{"name":"service","scopes":["\#(scope)"]}"#,
                as: .tenantAdmin(stage.tenant))
            let secret = try #require(key.json["key"]?.string, "\(key.text)")
            #expect(try await invite("member", nil, [Field("x-api-key", secret)]) == status)
            #expect(
                try await invite("admin", nil, [Field("authorization", "Bearer \(secret)")])
                    == status)
        }
        let audit = try await stage.service.send(
            .get, "/v1/tenants/acme/audit-events?action=invite.created",
            as: .tenantAdmin(stage.tenant))
        let actors = audit.json["items"]?.array?.compactMap { $0["actor"]?["type"]?.string }
        #expect(actors?.contains("key") == true && actors?.contains("user") == true)
        await stage.stop()
    }

    @Test func `rows that are not served are 404 that an allowed page reads`() async throws {
        let stage = try await Stage.make()
        _ = try await stage.service.send(
            .post, "/v1/tenants/acme/cors-origins", json: #"{"origin":"https://tw.example"}"#,
            as: .tenantAdmin(stage.tenant))
        let origin = Field("origin", "https://tw.example")
        for (method, path, status) in [
            (HTTP.Method.get, "/api/auth/me", 401), (.post, "/api/auth/enrollment/consume", 404),
            (.get, "/api/tenants", 404), (.get, "/api/tenants/acme/mcp-admin-keys", 404),
            (.post, "/api/tenants/acme/invites", 401),
        ] {
            let answer = try await stage.send(method, path, fields: [origin])
            #expect(answer.status == status, "\(path) \(answer.text)")
            #expect(answer.json.members?.map(\.name) == ["error"])
            #expect(answer.first("access-control-allow-origin") == "https://tw.example")
            let preflight = try await stage.send(
                .options, path,
                fields: [
                    origin, Field("access-control-request-method", method.rawValue),
                    Field(
                        "access-control-request-headers",
                        "authorization,content-type,x-api-key,x-tenant-id,x-tenant-slug,"
                            + "x-thinkwork-deployment-token,x-thinkwork-tenant-id,"
                            + "x-thinkwork-tenant-slug"),
                ])
            #expect(preflight.status == 204, "\(path)")
        }
        await stage.stop()
    }
}
