import HTTP
import JSON
import Runtime
import Storage
import TestSupport
import Testing
import Text

/// Thinkwork's web, mobile and service callers against a Cognito pool of our own making.
@Suite(.cleansUp) struct ThinkWorkTests {
    @Test func `W4 the signed-in user is read with the token bare or with its scheme`() async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let token = try await fixture.join("ann@acme.example", role: "admin")
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users", as: .tenantAdmin(fixture.tenant))
        let id = try #require(users.json["items"]?.array?.first?["id"]?.string)
        let tenant = fixture.tenant.id.description
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
            let answer = try await fixture.send(.get, path, fields: [field])
            expectAnswer(answer, me)
            #expect(answer.first("cache-control") == "no-store")
        }
        for (header, value, foreign) in [
            ("x-tenant-id", tenant, "00000000-0000-4000-8000-000000000000"),
            ("x-thinkwork-tenant-id", tenant, "00000000-0000-4000-8000-000000000000"),
            ("x-tenant-slug", "acme", "other"), ("x-thinkwork-tenant-slug", "acme", "other"),
        ] {
            let own = try await fixture.send(
                .get, "/api/auth/me", token: token, fields: [Field(header, value)])
            expectAnswer(own, me)
            let other = try await fixture.send(
                .get, "/api/auth/me", token: token, fields: [Field(header, foreign)])
            expectOnlyError(other, 404, "There is no such tenant.")
        }
        expectOnlyError(
            try await fixture.send(.get, "/api/auth/me?tenantId=other", token: token), 404,
            "There is no such tenant.")
        for method in [HTTP.Method.post, .put, .delete] {
            let answer = try await fixture.send(method, "/api/auth/me", token: token)
            expectOnlyError(answer, 405, "\(method.rawValue) is not served here.")
            #expect(answer.first("allow") == "GET, HEAD, OPTIONS")
        }
    }

    @Test func `W4 a person without an active row reads the reason, and nothing is written`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        func me(_ token: String) async throws -> JSONValue {
            let answer = try await fixture.send(.get, "/api/auth/me", token: token)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.json
        }
        expectAnswer(
            try await fixture.send(
                .get, "/api/auth/me", token: fixture.token("eve@other.example")),
            #"{"email":"eve@other.example","userId":null,"tenantId":null,"role":null,"#
                + #""name":"Ann","tenantSelectionRequired":false,"availableTenants":[],"#
                + #""migrationRequired":false,"note":"user_not_bootstrapped"}"#)
        try await fixture.invite("ann@acme.example")
        // An invited person's row is not theirs before its sign-in is linked.
        let pending = try await me(fixture.token())
        #expect(pending["note"]?.string == "user_not_bootstrapped")
        #expect(pending["userId"] == .null && pending["tenantId"] == .null)
        let decisions = try await fixture.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        #expect(decisions.json["items"] == .array([]))
        let token = try await fixture.join("bob@acme.example")
        let id = try #require(try await me(token)["userId"]?.string)
        _ = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(id)/suspend", as: .platformOwner)
        expectAnswer(
            try await fixture.send(.get, "/api/auth/me", token: token),
            #"{"email":"bob@acme.example","userId":null,"tenantId":null,"role":null,"#
                + #""name":"Ann","tenantSelectionRequired":false,"availableTenants":[],"#
                + #""migrationRequired":false,"note":"tenant_membership_inactive"}"#)
    }

    @Test func `W9 the web page reads its tenant, and nobody else's`() async throws {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let other = try await fixture.service.makeTenant("other")
        let token = try await fixture.join("ann@acme.example")
        let own = fixture.tenant
        for name in [own.id.description, own.slug] {
            expectAnswer(
                try await fixture.send(.get, "/api/tenants/\(name)", token: token),
                #"{"id":"\#(own.id)","name":"\#(own.name)","slug":"acme","plan":null,"#
                    + #""logo_url":null,"created_at":"\#(own.createdAt)","#
                    + #""updated_at":"\#(own.updatedAt)"}"#)
        }
        let stranger = fixture.token("eve@other.example")
        for (name, token) in [
            (other.id.description, token), ("other", token), ("nobody", token),
            (own.id.description, stranger),
        ] {
            expectOnlyError(
                try await fixture.send(.get, "/api/tenants/\(name)", token: token), 404,
                "Tenant not found")
        }
        expectOnlyError(
            try await fixture.send(.get, "/api/tenants/acme"), 401, "Authentication required")
    }

    @Test func `W11 signing out ends the refresh token at the pool`() async throws {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let token = try await fixture.join("ann@acme.example")
        let path = "/api/auth/revoke"
        fixture.provider.set("/oauth2/revoke", .init(""))
        expectAnswer(
            try await fixture.send(.post, path, #"{"refreshToken":"r-1"}"#, token: token),
            #"{"revoked":true}"#)
        #expect(fixture.provider.lastBody(of: "/oauth2/revoke") == "token=r-1&client_id=web")
        fixture.provider.set(
            "/oauth2/revoke", .init(status: 400, #"{"error":"invalid_grant"}"#))
        #expect(
            try await fixture.send(.post, path, #"{"refreshToken":"over"}"#, token: token).status
                == 200)
        fixture.provider.set(
            "/oauth2/revoke", .init(status: 400, #"{"error":"unsupported_token_type"}"#))
        expectOnlyError(
            try await fixture.send(.post, path, #"{"refreshToken":"r"}"#, token: token), 502,
            "Unable to revoke session")
        for body in ["{}", #"{"refreshToken":""}"#, #"{"refreshToken":7}"#] {
            expectOnlyError(
                try await fixture.send(.post, path, body, token: token), 400,
                "A valid refresh token is required")
        }
        expectOnlyError(
            try await fixture.send(.post, path, #"{"refreshToken":"r"}"#), 401,
            "Authentication required")
    }

    @Test func `W4 W7 W8 a token that is not the pool's, not an id token or not ours is 401`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        _ = try await fixture.join("ann@acme.example")
        let bad = [
            "x", "a.b.c", fixture.token("ann@acme.example", ["token_use": "\"access\""]),
            fixture.token("ann@acme.example", ["aud": "\"other\""]),
            fixture.token("ann@acme.example", ["exp": "1000"]),
            fixture.token(
                "ann@acme.example", ["iss": "\"https://evil.example/\(ThinkWorkFixture.pool)\""]),
            String(fixture.token().dropLast(4)) + "AAAA",
        ]
        for token in bad {
            for (method, path) in [
                (HTTP.Method.get, "/api/auth/me"), (.post, "/api/auth/enrollment/auto-link"),
                (.post, "/api/tenants/acme/invites"),
            ] {
                expectOnlyError(
                    try await fixture.send(method, path, token: token), 401, "Unauthorized")
            }
        }
        for (method, path) in [
            (HTTP.Method.get, "/api/auth/me"), (.post, "/api/auth/enrollment/auto-link"),
            (.post, "/api/tenants/acme/invites"),
        ] {
            expectOnlyError(
                try await fixture.send(method, path), 401, "Authentication required")
        }
        let two = try await fixture.send(
            .get, "/api/auth/me", token: fixture.token(), fields: [Field("x-api-key", "k")])
        expectOnlyError(two, 400, "There are different credentials; send one.")
    }

    @Test func `every hostile id token is 401 with one text, and its reason stands in the log`()
        async throws
    {
        let log = CapturedLog()
        let fixture = try await ThinkWorkFixture.make(logger: log.logger)
        try await fixture.addPool()
        let mint = TokenMint(
            issuer: "\(fixture.provider.issuer)/\(ThinkWorkFixture.pool)", clientID: "web",
            key: fixture.provider.key, now: Timestamp.systemClock())
        // What no header line can hold is not sent.
        let tokens = mint.hostile(ahead: 3600).filter { token in
            !token.text.isEmpty && token.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        for token in tokens {
            let answer = try await fixture.send(.get, "/api/auth/me", token: token.text)
            #expect(answer.status == 401, "\(token)")
            #expect(answer.text == #"{"error":"Unauthorized"}"#, "\(token)")
        }
        #expect(log.lines.count { $0.contains("sign-in: id token: ") } == tokens.count)
        #expect(!log.text.contains("eyJ"))
    }

    @Test func `W7 auto-link takes up what waits for the person, and admits no other person`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        func link(_ token: String) async throws -> TestAnswer {
            try await fixture.send(.post, "/api/auth/enrollment/auto-link", token: token)
        }
        let token = try await fixture.join("ann@acme.example")
        expectAnswer(try await link(token), #"{"outcome":"already_linked"}"#)
        expectAnswer(
            try await link(fixture.token("eve@other.example")), #"{"outcome":"not_linked"}"#)
        try await fixture.invite("bob@acme.example")
        let unproved = fixture.token("bob@acme.example", ["email_verified": "\"false\""])
        #expect(try await link(unproved).text == #"{"outcome":"not_linked"}"#)
        // The address belongs to a person who signs in otherwise: that row is not taken over.
        let okta = fixture.token(
            "ann@acme.example",
            [
                "cognito:username": "\"Okta_7\"", "sub": "\"pool okta\"",
                "identities": #"[{"providerName":"Okta","userId":"7"}]"#,
            ])
        expectOnlyError(try await link(okta), 409, "identity_conflict")
        // Where everyone may sign up, this endpoint still makes no user.
        let open = try await fixture.service.send(
            .put, "/v1/tenants/acme/policy", json: #"{"sign_up":"open"}"#,
            as: .tenantAdmin(fixture.tenant), fields: [Field("if-match", "*")])
        #expect(open.status == 200, "\(open.text)")
        let another = try await link(fixture.token("new@else.example"))
        #expect(another.text == #"{"outcome":"not_linked"}"#)
    }

    @Test func `W8 an admin invites a person, who becomes a member`() async throws {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let admin = try await fixture.join("ann@acme.example", role: "admin")
        let body = #"{"email":"Bob@acme.example","name":"Bob"}"#
        let path = "/api/tenants/acme/invites"
        let hidden = try await fixture.send(
            .post, path, #"{"email":"bob@acme.example","name":"a\u202eb"}"#, token: admin)
        #expect(hidden.status == 400 && hidden.text.contains("U+202E"), "\(hidden.text)")
        let made = try await fixture.send(.post, path, body, token: admin)
        let id = try #require(made.json["id"]?.string)
        let tenant = fixture.tenant.id.description
        func rest(_ status: String, role: String = "member") -> String {
            #""id":"\#(id)","tenantId":"\#(tenant)","principalType":"user","#
                + #""principalId":"\#(id)","role":"\#(role)","status":"\#(status)","#
                + #""email":"Bob@acme.example"}"#
        }
        expectRandomUUID(.string(id))
        expectAnswer(made, #"{"alreadyMember":false,"# + rest("active"), status: 201)
        // Bob is merely invited: no member yet, and another role is the invite's from then on.
        for (more, role) in [("", "member"), (#","role":"manager""#, "manager"), ("", "manager")] {
            let again = try await fixture.send(
                .post, path, #"{"email":"bob@acme.example"\#(more)}"#, token: admin)
            expectAnswer(
                again, #"{"alreadyMember":false,"# + rest("pending", role: role), status: 201)
        }
        _ = try await fixture.send(
            .post, "/api/auth/enrollment/auto-link", token: fixture.token("bob@acme.example"))
        let member = try await fixture.send(.post, path, body, token: admin)
        expectAnswer(member, #"{"alreadyMember":true,"# + rest("active", role: "manager"))
        let bob = try await fixture.send(
            .get, "/api/auth/me", token: fixture.token("bob@acme.example"))
        #expect(bob.json["userId"]?.string == id && bob.json["name"]?.string == "Bob")
        // The role that is asked for is the role that the answer names.
        let manager = try await fixture.send(
            .post, path, #"{"email":"mia@acme.example","role":"manager"}"#, token: admin)
        let miaID = manager.json["id"]?.string ?? ""
        expectAnswer(
            manager,
            #"{"alreadyMember":false,"id":"\#(miaID)","tenantId":"\#(tenant)","#
                + #""principalType":"user","principalId":"\#(miaID)","role":"manager","#
                + #""status":"active","email":"mia@acme.example"}"#, status: 201)
        expectOnlyError(
            try await fixture.send(.post, path, "{}", token: admin), 400,
            "email is required and must look like an email address")
        for email in [#""x""#, "7", "null", #""""#] {
            expectOnlyError(
                try await fixture.send(.post, path, #"{"email":\#(email)}"#, token: admin), 400,
                "email is required and must look like an email address")
        }
        expectOnlyError(
            try await fixture.send(
                .post, path, #"{"email":"c@acme.example","role":"owner"}"#, token: admin),
            400, "role must be member, manager or admin")
        for slug in ["other", "00000000-0000-4000-8000-000000000000"] {
            expectOnlyError(
                try await fixture.send(.post, "/api/tenants/\(slug)/invites", body, token: admin),
                404, "There is no such tenant.")
        }
    }

    @Test func `W8 an inviter gives no more than his own role, by token or by key`() async throws {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let path = "/api/tenants/acme/invites"
        func invite(_ role: String, _ token: String?, _ fields: [Field] = []) async throws -> Int {
            try await fixture.send(
                .post, path, #"{"email":"\#(role)@new.example","role":"\#(role)"}"#,
                token: token, fields: fields
            ).status
        }
        let member = try await fixture.join("member@acme.example")
        let manager = try await fixture.join("manager@acme.example", role: "manager")
        #expect(try await invite("member", member) == 403)
        #expect(try await invite("member", fixture.token("eve@other.example")) == 403)
        #expect(try await invite("admin", manager) == 403)
        #expect(try await invite("manager", manager) == 201)
        let ofAdmin = #"users:write","invites:write","api-keys:write","hooks:signup"#
        for (scope, status, wide) in [
            ("invites:write", 201, 403), ("invites:read", 403, 403), (ofAdmin, 201, 201),
        ] {
            let key = try await fixture.service.send(
                .post, "/v1/tenants/acme/api-keys",
                json: #"{"name":"service","scopes":["\#(scope)"]}"#,
                as: .tenantAdmin(fixture.tenant))
            let secret = try #require(key.json["key"]?.string, "\(key.text)")
            #expect(try await invite("member", nil, [Field("x-api-key", secret)]) == status)
            #expect(
                try await invite("admin", nil, [Field("authorization", "Bearer \(secret)")])
                    == wide)
        }
        let audit = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=invite.created",
            as: .tenantAdmin(fixture.tenant))
        let actors = audit.json["items"]?.array?.compactMap { $0["actor"]?["type"]?.string }
        #expect(actors?.contains("key") == true && actors?.contains("user") == true)
    }

    @Test func `W8 a caller who may not invite gets 403 and no more`() async throws {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let path = "/api/tenants/acme/invites"
        let body = #"{"email":"bob@acme.example"}"#
        for token in [
            try await fixture.join("member@acme.example"), fixture.token("eve@other.example"),
        ] {
            expectOnlyError(
                try await fixture.send(.post, path, body, token: token), 403, "Forbidden")
        }
        let manager = try await fixture.join("manager@acme.example", role: "manager")
        expectOnlyError(
            try await fixture.send(
                .post, path, #"{"email":"bob@acme.example","role":"admin"}"#, token: manager),
            403, "You may not give this role.")
    }

    @Test func `W3 W9 W10 a call that is not served is 404, which an allowed page can read`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let token = try await fixture.join("ann@acme.example", role: "admin")
        let calls: [(HTTP.Method, String)] = [
            // W3
            (.post, "/graphql"),
            // W9
            (.get, "/api/tenants"), (.get, "/api/tenants/by-slug/acme"),
            (.put, "/api/tenants/acme"), (.get, "/api/tenants/acme/members"),
            (.post, "/api/tenants/acme/members"), (.put, "/api/tenants/acme/members/1"),
            (.delete, "/api/tenants/acme/members/1"), (.get, "/api/tenants/acme/settings"),
            (.put, "/api/tenants/acme/settings"),
            // W10
            (.get, "/api/tenants/acme/mcp-admin-keys"), (.post, "/api/tenants/acme/mcp-admin-keys"),
            (.delete, "/api/tenants/acme/mcp-admin-keys/1"),
            (.get, "/api/tenants/acme/brain-api-keys"),
            (.post, "/api/tenants/acme/brain-api-keys"),
            (.delete, "/api/tenants/acme/brain-api-keys/1"),
        ]
        for (method, path) in calls {
            let answer = try await fixture.send(
                method, path, method == .get ? nil : "{}", token: token)
            expectOnlyError(answer, 404, "There is no such path.")
        }
        try await fixture.expectPreflights(calls.map { ($0.0, $0.1) })
    }

    @Test func `a page sends a preflight before each call that is served`() async throws {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.expectPreflights([
            (.get, "/api/auth/me"), (.post, "/api/auth/enrollment/auto-link"),
            (.post, "/api/tenants/acme/invites"),
        ])
        let evil = try await fixture.service.send(
            .get, "\(ThinkWorkFixture.mount)/api/auth/me",
            fields: [Field("origin", "https://evil.example")])
        expectOnlyError(evil, 403, "Origin not allowed")
        #expect(evil.first("access-control-allow-origin") == nil)
    }
}
