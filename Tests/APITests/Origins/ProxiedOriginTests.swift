import HTTP
import JSON
import Storage
import TestSupport
import Testing

/// What a reverse proxy asks before it lets a page's request through.
@Suite(.cleansUp) struct ProxiedOriginTests {
    private static let page = "https://app.acme.example"

    private static func make() async throws -> (TestService, TenantRow, key: String) {
        let (service, tenant) = try await TestService.makeWithTenant()
        let made = try await service.manage(
            .post, "/v1/tenants/acme/api-keys", #"{"name":"proxy","scopes":["cors:read"]}"#)
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"\#(page)"}"#)
        return (service, tenant, made["key"]?.string ?? "")
    }

    private static func ask(
        _ service: TestService, _ key: String, origin: String?, query: String = "",
        method: HTTP.Method = .get, path: String = "/v1/cors/decision", _ more: [Field] = []
    ) async throws -> TestAnswer {
        try await service.send(
            method, path + query, as: .bearer(key),
            fields: (origin.map { [Field("origin", $0)] } ?? []) + more)
    }

    @Test func `an allowed page is 200 with the fields to copy, any other 403 without`()
        async throws
    {
        let (service, _, key) = try await Self.make()
        let allowed = try await Self.ask(service, key, origin: Self.page)
        #expect(allowed.status == 200, "\(allowed.text)")
        #expect(allowed.first("access-control-allow-origin") == Self.page)
        #expect(allowed.first("vary")?.contains("Origin") == true)
        #expect(allowed.first("cache-control") == "no-store")
        #expect(allowed.json["rule"]?.string == "exact")
        for origin in ["https://evil.example", "null", "", "\(Self.page), https://b.example"] {
            let post = [Field("x-original-method", "POST")]
            let refused = try await Self.ask(service, key, origin: origin, post)
            #expect(refused.status == 403, "\(origin): \(refused.text)")
            #expect(refused.first("access-control-allow-origin") == nil)
            #expect(refused.first("vary")?.contains("Origin") == true)
        }
        #expect(try await Self.ask(service, key, origin: nil).status == 200)
    }

    @Test func `a preflight is judged as one, by the method that the proxy names`() async throws {
        let (service, _, key) = try await Self.make()
        let asks = [
            Field("access-control-request-method", "PUT"),
            Field("access-control-request-headers", "authorization, content-type"),
        ]
        for name in ["x-original-method", "x-forwarded-method"] {
            let answer = try await Self.ask(
                service, key, origin: Self.page, asks + [Field(name, "OPTIONS")])
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.first("access-control-allow-methods")?.contains("PUT") == true)
            #expect(answer.first("access-control-max-age") == "600")
        }
        // Envoy asks with the request's own method, and appends its path.
        let envoy = try await Self.ask(
            service, key, origin: Self.page, method: .options,
            path: "/v1/cors/decision/orders/7", asks)
        #expect(envoy.status == 200, "\(envoy.text)")
        #expect(envoy.first("access-control-allow-headers")?.contains("authorization") == true)
        let odd = try await Self.ask(
            service, key, origin: Self.page,
            [
                Field("access-control-request-method", "GET"),
                Field("access-control-request-headers", "x-evil"),
                Field("x-original-method", "OPTIONS"),
            ])
        #expect(odd.status == 403)
    }

    @Test func `a client's cookies need an origin with credentials`() async throws {
        let (service, _, key) = try await Self.make()
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins",
            #"{"origin":"https://cred.acme.example","credentials":true}"#)
        let cookie = [Field("cookie", "session=x")]
        for (origin, status) in [(Self.page, 403), ("https://cred.acme.example", 200)] {
            let answer = try await Self.ask(
                service, key, origin: origin, query: "?client=immich", cookie)
            #expect(answer.status == status, "\(answer.text)")
            #expect(
                answer.first("access-control-allow-credentials")
                    == (status == 200 ? "true" : nil))
        }
        #expect(
            try await Self.ask(service, key, origin: Self.page, query: "?client=x").status
                == 404)
    }

    @Test func `a key asks about its own tenant, and a removed origin is refused at once`()
        async throws
    {
        let (service, _, key) = try await Self.make()
        try await service.makeTenant("other")
        for (query, status) in [
            ("?tenant=acme", 200), ("?tenant=other", 404), ("?tenant=x", 404),
        ] {
            let answer = try await Self.ask(service, key, origin: Self.page, query: query)
            #expect(answer.status == status, "\(query) \(answer.text)")
        }
        #expect(try await service.send(.get, "/v1/cors/decision").status == 401)
        // A page that asks for itself is judged like any other.
        let page = try await service.send(
            .get, "/v1/cors/decision", as: .platformOwner, fields: [Field("origin", Self.page)])
        #expect(page.status == 403)
        let list = try await service.send(
            .get, "/v1/tenants/acme/cors-origins", as: .platformOwner)
        let id = list.json["items"]?.array?.first?["id"]?.string ?? ""
        _ = try await service.send(
            .delete, "/v1/tenants/acme/cors-origins/\(id)", as: .platformOwner)
        #expect(try await Self.ask(service, key, origin: Self.page).status == 403)
    }
}
