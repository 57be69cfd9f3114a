import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ClientsTests {
    private static let path = "/v1/tenants/acme/clients"

    @Test func `every contract is listed, off until it is set, and set whole`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        try await service.proveDomain("acme.example", of: "acme")
        let empty = try await service.send(.get, Self.path, as: .tenantAdmin(acme))
        #expect(empty.status == 200)
        let first = try #require(
            empty.json["items"]?.array?.first { $0["name"] == .string("immich") })
        #expect(first["enabled"] == .bool(false) && first["created_at"] == .null)
        #expect(try await service.send(.get, "/t/acme/immich/api/server/ping").status == 404)
        let set = try await service.send(
            .put, "\(Self.path)/immich",
            json: """
                {"enabled":true,"hosts":["Photos.Acme.example:8443","photos.acme.example"],
                "redirect_uris":["app.immich:///oauth-callback"],
                "settings":{"token_seconds":3600,"compat":"v2"}}
                """, as: .tenantAdmin(acme))
        #expect(set.status == 200, "\(set.text)")
        #expect(
            set.json["hosts"]
                == .array([.string("photos.acme.example:8443"), .string("photos.acme.example")]))
        #expect(set.json["settings"]?["token_seconds"]?.int == 3600)
        #expect(try await service.send(.get, "/t/acme/immich/api/server/ping").status == 200)
        #expect(try await service.send(.get, "/t/\(acme.id)/immich/api/server/ping").status == 200)
        let audit = try await service.send(
            .get, "/v1/tenants/acme/audit-events?action=client.updated", as: .tenantAdmin(acme))
        #expect(audit.json["items"]?.array?.count == 1)
        let off = try await service.send(
            .put, "\(Self.path)/immich", json: "{}", as: .tenantAdmin(acme))
        #expect(off.json["enabled"] == .bool(false) && off.json["hosts"] == .array([]))
        #expect(try await service.send(.get, "/t/acme/immich/api/server/ping").status == 404)
    }

    @Test func `another tenant cannot bind a port of a bound host`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        func bind(_ host: String, _ tenant: TenantRow) async throws -> Int {
            try await service.send(
                .put, "/v1/tenants/\(tenant.slug)/clients/immich",
                json: #"{"enabled":true,"hosts":["\#(host)"]}"#, as: .platformOwner
            ).status
        }
        #expect(try await bind("photos.acme.example", acme) == 200)
        #expect(try await bind("photos.acme.example:8443", other) == 409)
        #expect(try await bind("photos.acme.example:8443", acme) == 200)
    }

    @Test func `bad input, an unknown client, another tenant and missing rights are refused`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let bad = try await service.send(
            .put, "\(Self.path)/immich",
            json: """
                {"enabled":1,"hosts":["a/b"],"redirect_uris":["javascript:alert(1)","/x"]}
                """, as: .tenantAdmin(acme))
        #expect(bad.status == 422)
        let pointers = bad.json["errors"]?.array?.compactMap { $0["pointer"]?.string }
        #expect(pointers == ["/enabled", "/hosts/0", "/redirect_uris/0", "/redirect_uris/1"])
        let settings = try await service.send(
            .put, "\(Self.path)/immich", json: #"{"settings":{"colour":1,"compat":"v9"}}"#,
            as: .tenantAdmin(acme))
        #expect(settings.status == 422)
        #expect(
            settings.json["errors"]?.array?.compactMap { $0["pointer"]?.string }
                == ["/settings/colour", "/settings/compat"])
        let unknown = try await service.send(
            .put, "\(Self.path)/nothing", json: "{}", as: .tenantAdmin(acme))
        #expect(unknown.status == 404)
        #expect(try await service.send(.get, Self.path).status == 401)
        #expect(try await service.send(.get, Self.path, as: .tenantAdmin(other)).status == 404)
        let support = try await service.session(role: .support, tenant: acme.id)
        #expect(try await service.send(.get, Self.path, as: .session(support)).status == 403)
    }

    @Test func `a host belongs to one client of the whole server, and answers at its root`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let body = #"{"enabled":true,"hosts":["photos.example"]}"#
        func put(_ tenant: TenantRow, _ json: String) async throws -> Int {
            try await service.send(
                .put, "/v1/tenants/\(tenant.slug)/clients/immich", json: json,
                as: .platformOwner
            ).status
        }
        #expect(try await put(acme, body) == 200)
        #expect(try await put(other, body) == 409)
        let host = [Field("host", "Photos.example")]
        let ping = try await service.send(.get, "//api//server/ping", fields: host)
        #expect(ping.status == 200, "\(ping.text)")
        #expect(try await service.send(.get, "/v1/tenants", fields: host).status == 404)
        let stranger = try await service.send(
            .get, "/v1/me", fields: [Field("host", "evil.example")])
        #expect(stranger.status == 421)
        for (name, value) in [
            ("vary", "Origin"), ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
        ] { #expect(stranger.response.first(name) == value, "\(name)") }
        let own = try await service.send(
            .get, "/v1/me", fields: [Field("host", "gatehouse.test")])
        #expect(own.status == 401)
        #expect(try await put(acme, #"{"enabled":true}"#) == 200)
        #expect(try await service.send(.get, "/api/server/ping", fields: host).status == 421)
        #expect(try await put(other, body) == 200)
    }

    @Test func `pages of an allowed origin read answers and refusals, others nothing`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        func ask(_ path: String, _ origin: String) async throws -> TestAnswer {
            try await fixture.service.send(
                .get, ImmichFixture.mount + path, fields: [Field("origin", origin)])
        }
        let page = "https://photos.example"
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"\#(page)","credentials":true}"#)
        for path in ["/api/users/me", "/api/none"] {
            let answer = try await ask(path, page)
            #expect(answer.status >= 400)
            expectReadable(answer, at: page)
            #expect(answer.first("access-control-allow-credentials") == "true")
        }
        let stranger = try await ask("/api/users/me", "https://evil.example")
        expectError(stranger, 403, "Origin not allowed")
        #expect(stranger.first("access-control-allow-origin") == nil)
    }

    @Test func `a client that is off answers 404 in its own format`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let page = "https://web.acme.example"
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"\#(page)"}"#)
        for client in ["relate", "immich", "timetracker", "thinkwork", "deeprecall"] {
            let path = ["timetracker": "/auth/me", "immich": "/api/users/me"][client]
            let answer = try await service.send(
                .get, "/t/acme/\(client)\(path ?? "/api/profile")",
                fields: [Field("origin", page), Field("authorization", "Bearer x")])
            expectReadable(answer, at: page)
            switch client {
            case "relate": expectNotFound(answer)
            case "immich": expectError(answer, 404, "There is no such path.")
            default: expectOnlyError(answer, 404, "There is no such path.")
            }
        }
    }
}
