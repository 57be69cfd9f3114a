import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The policy as browsers meet it.
@Suite(.cleansUp) struct OriginsPolicyTests {
    private static let path = "/v1/tenants/acme/cors-origins"
    private static let app = "https://app.example"

    private struct Fixture {
        var service: TestService
        var tenant: TenantRow

        func list(_ origin: String) async throws {
            let made = try await service.send(
                .post, OriginsPolicyTests.path, json: #"{"origin":"\#(origin)"}"#,
                as: .platformOwner)
            #expect(made.status == 201)
        }

        func get(
            _ path: String, _ origins: String..., as credential: TestService.Credential = .anonymous
        ) async throws -> TestAnswer {
            try await service.send(
                .get, path, as: credential, fields: origins.map { Field("origin", $0) })
        }

        func preflight(
            _ path: String, _ origin: String, _ method: String, headers: String? = nil
        ) async throws -> TestAnswer {
            var fields = [
                Field("origin", origin), Field("access-control-request-method", method),
            ]
            if let headers { fields.append(Field("access-control-request-headers", headers)) }
            return try await service.send(.options, path, fields: fields)
        }
    }

    private func makeFixture() async throws -> Fixture {
        let (service, tenant) = try await TestService.makeWithTenant()
        return Fixture(service: service, tenant: tenant)
    }

    private func expectRefused(_ answer: TestAnswer) {
        #expect(answer.status == 403)
        #expect(answer.json["code"]?.string == "origin_not_allowed")
        #expect(
            answer.json["error"]?.string
                == "The request is not allowed from this origin; `POST /v1/cors/evaluate` names "
                + "the reason.")
        #expect(answer.first("access-control-allow-origin") == nil)
        #expect(answer.first("vary")?.contains("Origin") == true)
    }

    private func expectOpen(_ answer: TestAnswer, _ origin: String = app) {
        #expect(answer.first("access-control-allow-origin") == origin)
        #expect(answer.first("access-control-allow-credentials") == nil)
        #expect(answer.first("vary")?.contains("Origin") == true)
    }

    @Test func `without Origin there is no CORS but Vary`() async throws {
        let fixture = try await makeFixture()
        let answer = try await fixture.get(Self.path)
        #expect(answer.status == 401)
        #expect(answer.first("access-control-allow-origin") == nil)
        #expect(answer.first("vary")?.contains("Origin") == true)
    }

    @Test func `an empty Origin is ignored for reading and refused for writing`() async throws {
        let fixture = try await makeFixture()
        let reading = try await fixture.get(Self.path, "")
        #expect(reading.status == 401)
        expectRefused(
            try await fixture.service.send(
                .post, Self.path, json: "{}", fields: [Field("origin", "")]))
    }

    @Test func `two origins are 400`() async throws {
        let fixture = try await makeFixture()
        let lines = try await fixture.get(Self.path, Self.app, Self.app)
        #expect(lines.status == 400)
        for list in ["\(Self.app) \(Self.app)", "\(Self.app),\(Self.app)"] {
            let answer = try await fixture.get(Self.path, list)
            #expect(answer.status == 400)
        }
    }

    @Test func `null, another case, a trailing slash and strangers are refused`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        for origin in ["null", "HTTPS://App.Example", "\(Self.app)/", "https://b.example"] {
            expectRefused(try await fixture.get(Self.path, origin))
        }
    }

    @Test func `our own origin is never refused`() async throws {
        let fixture = try await makeFixture()
        let answer = try await fixture.service.send(
            .get, Self.path, as: .platformOwner,
            fields: [Field("origin", "http://gatehouse.test")])
        #expect(answer.status == 200)
        #expect(answer.first("access-control-allow-origin") == nil)
    }

    @Test func `a listed origin reads successes and errors alike`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        let early = try await fixture.get(Self.path, Self.app)
        #expect(early.status == 401)
        expectOpen(early)
        #expect(early.first("access-control-expose-headers")?.contains("etag") == true)
        let missing = try await fixture.get("/v1/tenants/acme/nothing", Self.app)
        #expect(missing.status == 404)
        expectOpen(missing)
        let method = try await fixture.service.send(
            .patch, Self.path, fields: [Field("origin", Self.app)])
        #expect(method.status == 405)
        expectOpen(method)
    }

    @Test func `a preflight names the route's own methods`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        let answer = try await fixture.preflight(
            Self.path, Self.app, "PUT", headers: "Authorization, If-Match")
        #expect(answer.status == 204)
        #expect(answer.bytes.isEmpty)
        expectOpen(answer)
        #expect(answer.first("access-control-max-age") == "600")
        #expect(answer.first("access-control-allow-methods")?.contains("PUT") == true)
        #expect(answer.first("access-control-allow-methods")?.contains("PATCH") == false)
        #expect(
            answer.first("vary")?.contains("Access-Control-Request-Headers") == true)
    }

    @Test func `a preflight for another method, header or origin is refused`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        expectRefused(try await fixture.preflight(Self.path, Self.app, "PATCH"))
        expectRefused(try await fixture.preflight(Self.path, Self.app, "GET", headers: "x-a"))
        expectRefused(try await fixture.preflight(Self.path, "https://b.example", "GET"))
    }

    @Test func `an unknown route's preflight passes, so that the page sees the 404`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        let answer = try await fixture.preflight("/v1/tenants/acme/nothing", Self.app, "GET")
        #expect(answer.status == 204)
    }

    @Test func `OPTIONS without a method is no preflight`() async throws {
        let fixture = try await makeFixture()
        let answer = try await fixture.service.send(.options, Self.path)
        #expect(answer.status == 204)
        #expect(answer.first("allow")?.contains("PUT") == true)
    }

    @Test func `a wildcard covers one label while its domain is verified`() async throws {
        let fixture = try await makeFixture()
        try await verifyDomain(fixture.service, fixture.tenant)
        try await fixture.list("https://*.example.com")
        expectOpen(
            try await fixture.get(Self.path, "https://a.example.com"), "https://a.example.com")
        for origin in [
            "https://example.com", "https://a.b.example.com", "https://evilexample.com",
            "http://a.example.com", "https://.example.com",
        ] { expectRefused(try await fixture.get(Self.path, origin)) }
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            try await change.query(
                "/* test */ DELETE FROM domains WHERE tenant_id = \(change.tenant)")
        }
        expectRefused(try await fixture.get(Self.path, "https://a.example.com"))
    }

    @Test func `a development server is an exact row`() async throws {
        let fixture = try await makeFixture()
        let origin = "http://localhost:5173"
        expectRefused(try await fixture.get(Self.path, origin))
        try await fixture.list(origin)
        expectOpen(try await fixture.get(Self.path, origin), origin)
        expectRefused(try await fixture.get(Self.path, "http://localhost:5174"))
    }

    @Test func `a removed origin is refused on the next request`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        expectOpen(try await fixture.get(Self.path, Self.app))
        let put = try await fixture.service.send(
            .put, Self.path, json: #"{"items":[]}"#, as: .platformOwner,
            fields: [Field("if-match", "*")])
        #expect(put.status == 200)
        expectRefused(try await fixture.get(Self.path, Self.app))
    }

    @Test func `a suspended tenant's origins count for nothing`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        _ = try await fixture.service.send(
            .post, "/v1/tenants/acme/suspend", as: .platformOwner)
        expectRefused(try await fixture.get(Self.path, Self.app))
    }

    @Test func `an origin of one tenant does not count at another, and two tenants may share one`()
        async throws
    {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        try await fixture.service.makeTenant("other")
        expectRefused(try await fixture.get("/v1/tenants/other/cors-origins", Self.app))
        _ = try await fixture.service.send(
            .post, "/v1/tenants/other/cors-origins", json: #"{"origin":"\#(Self.app)"}"#,
            as: .platformOwner)
        expectOpen(try await fixture.get("/v1/tenants/other/cors-origins", Self.app))
        expectOpen(try await fixture.get(Self.path, Self.app))
    }

    @Test func `the platform's rows count everywhere`() async throws {
        let fixture = try await makeFixture()
        expectRefused(try await fixture.get("/v1/tenants", Self.app))
        _ = try await fixture.service.send(
            .post, "/v1/cors-origins", json: #"{"origin":"\#(Self.app)"}"#, as: .platformOwner)
        for path in ["/v1/tenants", Self.path, "/v1/me", "/v1/tenants/none/users", "/v1/none"] {
            expectOpen(try await fixture.get(path, Self.app))
        }
    }

    @Test func `a path without a tenant lets any tenant's preflight pass and no more`() async throws
    {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        let answer = try await fixture.preflight("/v1/me", Self.app, "GET")
        #expect(answer.status == 204)
        expectOpen(answer)
        expectRefused(try await fixture.get("/v1/me", Self.app))
        expectRefused(try await fixture.preflight("/v1/tenants", Self.app, "GET"))
        // The locator names the tenant even where the key is not known.
        let key = TestService.Credential.bearer(
            try #require(
                APIKeySecret.make(environment: .live, locator: fixture.tenant.locator)
            ).text)
        let refusal = try await fixture.get("/v1/me", Self.app, as: key)
        #expect(refusal.status == 401)
        expectOpen(refusal)
    }

    @Test func `the console's cookie from another origin is refused`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        expectRefused(try await fixture.get(Self.path, Self.app, as: .platformOwner))
    }

    @Test func `a document for everyone goes to any origin`() async throws {
        let fixture = try await makeFixture()
        let answer = try await fixture.get("/openapi.json", "https://any.example")
        #expect(answer.first("access-control-allow-origin") == "*")
    }

    @Test func `evaluation tells the very headers`() async throws {
        let fixture = try await makeFixture()
        try await fixture.list(Self.app)
        let body =
            #"{"tenant":"acme","origin":"\#(Self.app)","method":"POST","request_headers":["authorization"]}"#
        let told = try await fixture.service.send(
            .post, "/v1/cors/evaluate", json: body, as: .tenantAdmin(fixture.tenant))
        #expect(told.status == 200)
        #expect(told.json["allowed"]?.bool == true)
        #expect(told.json["rule"]?.string == "exact")
        #expect(told.json["preflight"]?["status"]?.int == 204)
        let headers = told.json["response"]?["headers"]
        #expect(headers?["access-control-allow-origin"]?.string == Self.app)
        let stranger = try await fixture.service.send(
            .post, "/v1/cors/evaluate",
            json: #"{"tenant":"acme","origin":"https://b.example","method":"GET"}"#,
            as: .platformOwner)
        #expect(stranger.json["allowed"]?.bool == false)
        #expect(stranger.json["reason"]?.string == "origin_not_listed")
        let other = try await fixture.service.makeTenant("other")
        #expect(
            try await fixture.service.send(
                .post, "/v1/cors/evaluate", json: body, as: .tenantAdmin(other)
            ).status == 404)
        #expect(
            try await fixture.service.send(.post, "/v1/cors/evaluate", json: body).status == 401)
    }
}
