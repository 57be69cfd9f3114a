import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Rows of the origins' table that need two tenants, a failure or an answer of a rare kind.
@Suite(.cleansUp) struct OriginRowsTests {
    private static let app = "https://app.example"
    private static let origin = [Field("origin", app)]

    /// Two tenants, of which the first lists an origin.
    private static func make() async throws -> (TestService, acme: TenantRow, other: TenantRow) {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        try await list(service, app)
        return (service, acme, other)
    }

    private static func list(
        _ service: TestService, _ origin: String, at path: String = "/v1/tenants/acme/cors-origins"
    ) async throws {
        try await service.manage(.post, path, #"{"origin":"\#(origin)"}"#)
    }

    private static func key(
        _ service: TestService, _ tenant: String
    ) async throws -> (text: String, as: TestService.Credential) {
        let made = try await service.manage(
            .post, "/v1/tenants/\(tenant)/api-keys",
            #"{"name":"k","scopes":["users:read","keys:verify"]}"#)
        let text = made["key"]?.string ?? ""
        return (text, .bearer(text))
    }

    private static func expectRefused(
        _ answer: TestAnswer, _ comment: Comment = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == 403, comment, sourceLocation: sourceLocation)
        #expect(
            answer.json["code"]?.string == "origin_not_allowed", comment,
            sourceLocation: sourceLocation)
        let names = answer.response.fields.map { String($0.name) }
        #expect(
            !names.contains { $0.hasPrefix("access-control-") }, comment,
            sourceLocation: sourceLocation)
        #expect(
            answer.first("vary")?.contains("Origin") == true, comment,
            sourceLocation: sourceLocation)
    }

    private static func expectReadable(
        _ answer: TestAnswer, _ status: Int, _ origin: String = app, _ comment: Comment = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(
            answer.first("access-control-allow-origin") == origin, comment,
            sourceLocation: sourceLocation)
        #expect(
            answer.first("access-control-expose-headers")?.contains("retry-after") == true,
            comment, sourceLocation: sourceLocation)
        #expect(
            answer.first("access-control-allow-credentials") == nil, comment,
            sourceLocation: sourceLocation)
        #expect(
            answer.first("vary")?.contains("Origin") == true, comment,
            sourceLocation: sourceLocation)
    }

    @Test func `an origin of one tenant with a key of another is 403 where no path names one`()
        async throws
    {
        let (service, _, _) = try await Self.make()
        let own = try await Self.key(service, "acme")
        let foreign = try await Self.key(service, "other")
        let form = [Field("content-type", "application/x-www-form-urlencoded")]
        let calls: [(HTTP.Method, String, String?, [Field])] = [
            (.get, "/v1/me", nil, []),
            (.post, "/v1/api-keys/verify", #"{"key":"\#(own.text)"}"#, []),
            (.post, "/v1/api-keys/verify-batch", #"{"keys":[{"key":"\#(own.text)"}]}"#, []),
            (.post, "/oauth/introspect", "token=\(own.text)", form),
        ]
        for (method, path, body, fields) in calls {
            func ask(_ key: TestService.Credential) async throws -> TestAnswer {
                try await service.send(
                    method, path, json: body, as: key, fields: fields + Self.origin)
            }
            let preflight = try await service.send(
                .options, path,
                fields: Self.origin + [
                    Field("access-control-request-method", method.rawValue),
                    Field("access-control-request-headers", "authorization"),
                ])
            #expect(preflight.status == 204, "\(path)")
            Self.expectRefused(try await ask(foreign.as), "\(path)")
            Self.expectRefused(try await ask(.anonymous), "\(path)")
            let answer = try await ask(own.as)
            Self.expectReadable(answer, answer.status)
            #expect(answer.status < 300, "\(path): \(answer.text)")
        }
        // A path that names a tenant says no more than that nothing is there.
        let path = "/v1/tenants/acme/users"
        Self.expectReadable(
            try await service.send(.get, path, as: foreign.as, fields: Self.origin), 404)
        Self.expectReadable(
            try await service.send(.get, path, as: own.as, fields: Self.origin), 200)
    }

    @Test func `an access token's tenant is asked for its origin before the token is looked at`()
        async throws
    {
        let (service, acme, other) = try await Self.make()
        let mint = TokenMint(
            issuer: "http://gatehouse.test", clientID: "app", key: try SigningKey(),
            now: Timestamp.systemClock())
        for (tenant, status) in [(acme, 401), (other, 403)] {
            let token = mint.token(["tid": "\"\(tenant.id)\""])
            let answer = try await service.send(
                .get, "/v1/me", as: .bearer(token), fields: Self.origin)
            #expect(answer.status == status, "\(answer.text)")
            if status == 403 {
                Self.expectRefused(answer)
            } else {
                Self.expectReadable(answer, 401)
            }
        }
    }

    @Test func `an invite's token in the body names the tenant whose origins may ask`() async throws
    {
        let (service, _, _) = try await Self.make()
        for (tenant, isAllowed) in [("acme", true), ("other", false)] {
            let made = try await service.manage(
                .post, "/v1/tenants/\(tenant)/invites",
                #"{"email":"ann@ex.com","delivery":"link"}"#)
            let answer = try await service.send(
                .post, "/v1/invites/preview",
                json: #"{"token":"\#(made["token"]?.string ?? "")"}"#, fields: Self.origin)
            if isAllowed {
                Self.expectReadable(answer, 200)
            } else {
                Self.expectRefused(answer)
            }
        }
    }

    @Test func `an app's scheme is one row as any other, and no cookie goes with it`() async throws
    {
        let (service, _, _) = try await Self.make()
        let path = "/v1/tenants/acme/users"
        for origin in [
            "capacitor://localhost", "ionic://localhost", "tauri://localhost",
            "http://tauri.localhost", "app://localhost", "https://localhost",
            "chrome-extension://abcdefghijklmnop", "moz-extension://0a1b2c3d",
        ] {
            let fields = [Field("origin", origin)]
            Self.expectRefused(try await service.send(.get, path, fields: fields), "\(origin)")
            try await Self.list(service, origin)
            Self.expectReadable(
                try await service.send(.get, path, fields: fields), 401, origin)
            let preflight = try await service.send(
                .options, path,
                fields: fields + [Field("access-control-request-method", "POST")])
            #expect(preflight.status == 204)
            #expect(preflight.first("access-control-allow-origin") == origin)
            #expect(preflight.first("access-control-allow-credentials") == nil)
            // The next port and the next name are other origins.
            for other in ["\(origin):1", "\(origin)2"] {
                Self.expectRefused(
                    try await service.send(.get, path, fields: [Field("origin", other)]),
                    "\(other)")
            }
        }
        for scheme in ["file", "data", "custom", "javascript"] {
            let refused = try await service.send(
                .post, "/v1/tenants/acme/cors-origins",
                json: #"{"origin":"\#(scheme)://localhost"}"#, as: .platformOwner)
            #expect(refused.status == 422, "\(scheme)")
        }
    }

    @Test func `an origin is allowed until it expires, for preflights and requests`()
        async throws
    {
        let clock = TestClock()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        let end = clock.now.adding(seconds: 600)
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins",
            #"{"origin":"\#(Self.app)","expires_at":"\#(end)"}"#)
        let path = "/v1/tenants/acme/users"
        let asking = Self.origin + [Field("access-control-request-method", "GET")]
        clock.advance(seconds: 599)
        Self.expectReadable(
            try await service.send(.get, path, fields: Self.origin), 401)
        #expect(try await service.send(.options, path, fields: asking).status == 204)
        clock.advance(seconds: 1)
        Self.expectRefused(try await service.send(.get, path, fields: Self.origin))
        Self.expectRefused(try await service.send(.options, path, fields: asking))
    }

    @Test func `OPTIONS with an origin and without a method is held to the lists as well`()
        async throws
    {
        let (service, _, _) = try await Self.make()
        let path = "/v1/tenants/acme/users"
        let answer = try await service.send(.options, path, fields: Self.origin)
        Self.expectReadable(answer, 204)
        #expect(answer.first("allow")?.contains("POST") == true)
        #expect(answer.first("access-control-allow-methods") == nil)
        #expect(answer.bytes.isEmpty)
        Self.expectRefused(
            try await service.send(
                .options, path, fields: [Field("origin", "https://evil.example")]))
    }

    @Test func `without an Origin a success has no CORS fields but Vary`() async throws {
        let (service, _, _) = try await Self.make()
        let key = try await Self.key(service, "acme")
        for fields in [[], [Field("origin", "")]] {
            let answer = try await service.send(
                .get, "/v1/tenants/acme/users", as: key.as, fields: fields)
            #expect(answer.status == 200, "\(answer.text)")
            let names = answer.response.fields.map { String($0.name) }
            #expect(!names.contains { $0.hasPrefix("access-control-") })
            #expect(answer.first("vary")?.contains("Origin") == true)
        }
    }

    @Test func `an allowed page can read a 500, and no other page can`()
        async throws
    {
        let (service, _, _) = try await Self.make()
        let key = try await Self.key(service, "acme")
        let path = "/v1/tenants/acme/users"
        _ = try await service.send(.get, path, as: key.as, fields: Self.origin)
        let administrator = service.database.client(as: service.database.administrator)
        _ = try await administrator.query("ALTER TABLE users RENAME TO users_away")
        let answer = try await service.send(.get, path, as: key.as, fields: Self.origin)
        Self.expectReadable(answer, 500)
        #expect(!answer.text.contains("users"))
        Self.expectRefused(
            try await service.send(
                .get, path, as: key.as, fields: [Field("origin", "https://evil.example")]))
    }

    @Test func `a page of a listed origin can read a 503`() async throws {
        let (service, _, _) = try await Self.make()
        try await Self.list(service, Self.app, at: "/v1/cors-origins")
        let provider = try await TestProvider.start()
        try await service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"Test","issuer":"\#(provider.issuer)","client_id":"web"}"#)
        provider.set(TestProvider.keysPath, .init(status: 500, "{}"))
        let token = provider.mint(clientID: "web", now: Timestamp.systemClock()).token()
        let answer = try await service.send(
            .post, "/v1/provisioning/sign-in", json: "{}", as: .bearer(token),
            fields: Self.origin)
        Self.expectReadable(answer, 503)
        #expect(answer.first("retry-after") != nil)
    }

    @Test func `a redirect is readable by the page that may ask, and sends no other anywhere`()
        async throws
    {
        let (service, _, _) = try await Self.make()
        let provider = try await TestProvider.start()
        try await service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"Test","issuer":"\#(provider.issuer)","client_id":"web"}"#)
        let redirect = "timetracker://oauth/callback"
        try await service.manage(
            .put, "/v1/tenants/acme/clients/timetracker",
            #"{"enabled":true,"redirect_uris":["\#(redirect)"]}"#)
        let path = "/t/acme/timetracker/auth/login?redirect_uri=\(redirect)"
        let answer = try await service.send(.get, path, fields: Self.origin)
        Self.expectReadable(answer, 302)
        #expect(answer.first("location")?.hasPrefix(provider.issuer) == true)
        let refused = try await service.send(
            .get, path, fields: [Field("origin", "https://evil.example")])
        #expect(refused.status == 403)
        #expect(refused.first("location") == nil)
        #expect(refused.first("access-control-allow-origin") == nil)
    }
}
