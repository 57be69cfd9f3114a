import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Pages of other origins that a browser adds the app's cookie for: only an origin that is listed
/// with credentials may act with it.
@Suite(.cleansUp) struct CookieOriginTests {
    private struct Fixture {
        let base: ImmichFixture
        let token: String

        init() async throws {
            base = try await ImmichFixture.make()
            token = try await base.token()
            let service = base.service
            let domain = try await service.manage(
                .post, "/v1/tenants/acme/domains", #"{"domain":"acme.example"}"#)
            try await service.manage(
                .post, "/v1/tenants/acme/domains/\(domain["id"]?.string ?? "")/verify",
                #"{"method":"operator"}"#)
            for origin in [
                #""https://nocred.other.example""#, #""https://*.acme.example""#,
                #""capacitor://localhost""#, #""https://cred.other.example","credentials":true"#,
            ] {
                try await service.manage(
                    .post, "/v1/tenants/acme/cors-origins", #"{"origin":\#(origin)}"#)
            }
        }

        /// As a browser sends it for a page that asked for cookies to go along.
        func send(
            _ path: String, _ json: String? = nil, origin: String, fields: [Field] = []
        ) async throws -> TestAnswer {
            try await base.service.send(
                .post, ImmichFixture.mount + path, json: json,
                fields: fields + [
                    Field("origin", origin), Field("cookie", "immich_access_token=\(token)"),
                    Field("sec-fetch-site", "same-site"),
                ])
        }

        func keys() async throws -> Int {
            let list = try await base.send(.get, "/api/api-keys", token: token)
            #expect(list.status == 200, "\(list.text)")
            return list.json.array?.count ?? -1
        }
    }

    private static let others = [
        "https://nocred.other.example", "https://takenover.acme.example", "capacitor://localhost",
    ]

    @Test func `an origin without credentials does not act with the cookie`() async throws {
        let fixture = try await Fixture()
        let key = #"{"name":"csrf","permissions":["all"]}"#
        for origin in Self.others {
            for (path, body) in [
                ("/api/api-keys", key), ("/api/auth/logout", nil),
                ("/api/oauth/callback", #"{"url":"https://x.example?state=s&code=c"}"#),
            ] {
                let answer = try await fixture.send(path, body, origin: origin)
                expectError(answer, 403, "Origin not allowed")
                #expect(answer.first("access-control-allow-origin") == nil)
            }
        }
        #expect(try await fixture.keys() == 0)
        let told = try await fixture.base.service.manage(
            .post, "/v1/cors/evaluate",
            #"{"tenant":"acme","path":"/t/acme/immich/api/api-keys","method":"POST","#
                + #""origin":"https://nocred.other.example","credentials":true}"#)
        #expect(told["allowed"] == .bool(false))
        #expect(told["reason"]?.string == "credentials_not_allowed")
        #expect(told["rule"]?.string == "exact")
    }

    @Test func `an origin with credentials acts with the cookie, and every one signs in by header`()
        async throws
    {
        let fixture = try await Fixture()
        let made = try await fixture.send(
            "/api/api-keys", #"{"name":"own","permissions":["all"]}"#,
            origin: "https://cred.other.example")
        #expect(made.status == 201, "\(made.text)")
        #expect(made.first("access-control-allow-credentials") == "true")
        #expect(try await fixture.keys() == 1)
        for origin in Self.others {
            // A credential in a header field is the page's own; the cookie does not count then.
            let answer = try await fixture.send(
                "/api/auth/validateToken", origin: origin,
                fields: [Field("authorization", "Bearer \(fixture.token)")])
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.first("access-control-allow-origin") == origin)
            #expect(answer.first("access-control-allow-credentials") == nil)
            // An empty field holds none.
            let empty = try await fixture.send(
                "/api/auth/validateToken", origin: origin, fields: [Field("x-api-key", "")])
            #expect(empty.status == 403, "\(empty.text)")
        }
    }

    @Test func `a page without credentials is given no cookie of another person's session`()
        async throws
    {
        let fixture = try await Fixture()
        let body = #"{"email":"ann@acme.example","password":"\#(ImmichFixture.password)"}"#
        for (origin, cookies) in [
            ("https://nocred.other.example", 0), ("https://cred.other.example", 3),
        ] {
            let answer = try await fixture.base.service.send(
                .post, "\(ImmichFixture.mount)/api/auth/login", json: body,
                fields: [Field("origin", origin)])
            #expect(answer.status == 201, "\(answer.text)")
            #expect(
                answer.response.fields.filter { $0.name == "set-cookie" }.count == cookies)
        }
    }

    @Test func `the timetracker's cookie is held to the same`() async throws {
        let fixture = try await TimeTrackerFixture.make(
            settings: #"{"app_url":"https://web.acme.example"}"#)
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"https://nocred.other.example"}"#)
        for name in ["timetracker_session", "timetracker_state"] {
            for path in ["/auth/logout", "/api-keys"] {
                let answer = try await fixture.service.send(
                    .post, TimeTrackerFixture.mount + path, json: #"{"name":"csrf"}"#,
                    fields: [
                        Field("origin", "https://nocred.other.example"),
                        Field("cookie", "\(name)=x"),
                    ])
                expectOnlyError(answer, 403, "Origin not allowed")
            }
        }
    }

    @Test func `a bound host's own pages may write at its mount, and no other pages may`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let body = #"{"email":"ann@acme.example","password":"\#(ImmichFixture.password)"}"#
        func signIn(
            from origin: String, isTLS: Bool = false, at host: String = "photos.acme.example"
        ) async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/api/auth/login", json: body,
                fields: [Field("host", host), Field("origin", origin)], isTLS: isTLS)
        }
        for (origin, isTLS) in [
            ("https://photos.acme.example", true), ("https://photos.acme.example", false),
            ("http://photos.acme.example", false),
        ] {
            let answer = try await signIn(from: origin, isTLS: isTLS)
            #expect(answer.status == 201, "\(origin) \(answer.text)")
            #expect(answer.first("access-control-allow-origin") == nil)
            #expect(answer.response.fields.filter { $0.name == "set-cookie" }.count == 3)
        }
        for (origin, isTLS) in [
            ("http://photos.acme.example", true), ("https://photos.acme.example:8443", true),
            ("https://mail.acme.example", true), ("https://PHOTOS.acme.example", true),
        ] {
            expectError(
                try await signIn(from: origin, isTLS: isTLS), 403, "Origin not allowed")
        }
        // By its path the client is at our own host, where that page is a stranger.
        let byPath = try await fixture.service.send(
            .post, "\(ImmichFixture.mount)/api/auth/login", json: body,
            fields: [Field("origin", "https://photos.acme.example")])
        expectError(byPath, 403, "Origin not allowed")
    }

    @Test(arguments: ["relate", "immich", "timetracker", "thinkwork", "deeprecall"])
    func `a body that needs no preflight is not read as JSON`(_ client: String) async throws {
        let (service, _) = try await TestService.makeWithTenant()
        try await service.manage(
            .put, "/v1/tenants/acme/clients/\(client)", #"{"enabled":true}"#)
        let path =
            switch client {
            case "relate": "/api/smtp-credentials"
            case "immich": "/api/auth/login"
            case "timetracker": "/auth/token"
            case "thinkwork": "/api/tenants/acme/invites"
            default: "/api/auth/exchange/google"
            }
        func send(_ fields: [Field]) async throws -> TestAnswer {
            // Without a type of its own the test's sender would name JSON.
            try await service.send(
                .post, "/t/acme/\(client)\(path)", json: "{}", fields: fields)
        }
        for type in [
            "text/plain", "text/plain; charset=application/json",
            "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
            "application/jsonx", "",
        ] {
            let answer = try await send([Field("content-type", type)])
            #expect(answer.status == 415, "\(type): \(answer.text)")
            let text = answer.json["error"]?.string ?? ""
            let said = client == "immich" ? answer.json["message"]?.string ?? "" : text
            #expect(said == "The body must be application/json.", "\(answer.text)")
        }
        for type in ["application/json", "Application/JSON ; charset=utf-8"] {
            let answer = try await send([Field("content-type", type)])
            #expect(answer.status != 415, "\(type): \(answer.text)")
        }
    }
}
