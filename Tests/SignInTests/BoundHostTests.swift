import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Clients at hosts of their own: the contract at the root, and nothing else there.
@Suite(.cleansUp) struct BoundHostTests {
    private struct Fixture {
        let service: TestService
        let tenant: TenantRow
        let provider: TestProvider

        init() async throws {
            service = try await TestService.make()
            tenant = try await service.makeTenant("acme")
            provider = try await TestProvider.start()
            for kind in ["oidc", "google"] {
                try await service.manage(
                    .post, "/v1/providers",
                    #"{"kind":"\#(kind)","name":"P","issuer":"\#(provider.issuer)","client_id":"#
                        + #""web","email_trust":"verified_claim"}"#)
            }
            for (client, kind, settings) in [
                ("relate", "oidc", ""), ("immich", "oidc", ""),
                ("timetracker", "oidc", #","app_url":"https://page.acme.example""#),
                ("thinkwork", "oidc", ""), ("deeprecall", "google", ""),
            ] {
                let callback = "https://\(client).acme.example/auth/callback"
                try await service.manage(
                    .put, "/v1/tenants/acme/clients/\(client)",
                    #"{"enabled":true,"hosts":["\#(client).acme.example"],"redirect_uris":"#
                        + #"["\#(callback)"],"settings":{"provider":"\#(kind)"\#(settings)}}"#)
            }
            try await service.manage(
                .post, "/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
            try await service.manage(
                .post, "/v1/tenants/acme/cors-origins", #"{"origin":"capacitor://localhost"}"#)
        }

        /// At the host of that client.
        func send(
            _ client: String, _ method: HTTP.Method, _ path: String, _ json: String? = nil,
            fields: [Field] = []
        ) async throws -> TestAnswer {
            try await service.send(
                method, path, json: json,
                fields: fields + [Field("host", "\(client).acme.example")], isTLS: true)
        }

        func token(_ claims: [String: String?] = [:]) -> String {
            provider.mint(clientID: "web", now: Timestamp.systemClock()).token(claims)
        }
    }

    @Test func `each client answers at the root of its host, and nothing else does`()
        async throws
    {
        let fixture = try await Fixture()
        for (client, path) in [
            ("relate", "/api/discovery"), ("relate", "/config/config.json"),
            ("immich", "/.well-known/immich"), ("immich", "/api/server/ping"),
            ("timetracker", "/health"), ("thinkwork", "/api/auth/options"),
        ] {
            #expect(try await fixture.send(client, .get, path).status == 200, "\(client) \(path)")
            for other in ["relate", "immich", "timetracker", "thinkwork", "deeprecall"]
            where other != client {
                let answer = try await fixture.send(other, .get, path)
                #expect(answer.status == 404, "\(other) \(path)")
            }
        }
        // Neither our own paths nor other mounts are reached by way of a client's host.
        for client in ["relate", "immich", "timetracker", "thinkwork", "deeprecall"] {
            for path in ["/v1/me", "/v1/tenants", "/console/", "/t/acme/immich/api/server/ping"] {
                let answer = try await fixture.send(client, .get, path)
                #expect(answer.status == 404, "\(client) \(path)")
            }
        }
    }

    @Test func `the mail app gets its key at its host and uses it there`() async throws {
        let fixture = try await Fixture()
        let bearer = [Field("authorization", "Bearer \(fixture.token())")]
        let profile = try await fixture.send("relate", .get, "/api/profile", fields: bearer)
        #expect(profile.json["email"]?.string == "ann@example.com", "\(profile.text)")
        let made = try await fixture.send(
            "relate", .post, "/api/smtp-credentials/mobile",
            #"{"deviceName":"Pixel","platform":"android"}"#, fields: bearer)
        let key = [Field("authorization", "ApiKey \(made.json["apiKey"]?.string ?? "")")]
        #expect(try await fixture.send("relate", .get, "/api/profile", fields: key).status == 200)
        // By its path it is the same client.
        let byPath = try await fixture.service.send(
            .get, "/t/acme/relate/api/profile", fields: key)
        #expect(byPath.status == 200)
        #expect(try await fixture.send("relate", .get, "/api/profile").status == 401)
    }

    @Test
    func `the reader app exchanges its token at a host, with slashes twice and from its page`()
        async throws
    {
        let fixture = try await Fixture()
        let origin = Field("origin", "capacitor://localhost")
        let asked = try await fixture.send(
            "deeprecall", .options, "//api/auth/exchange/google",
            fields: [
                origin, Field("access-control-request-method", "POST"),
                Field("access-control-request-headers", "content-type"),
            ])
        #expect(asked.status == 204)
        #expect(asked.first("access-control-allow-origin") == "capacitor://localhost")
        let done = try await fixture.send(
            "deeprecall", .post, "//api/auth/exchange/google",
            #"{"id_token":"\#(fixture.token())","device_id":"mobile-1"}"#, fields: [origin])
        #expect(done.status == 200, "\(done.text)")
        #expect(done.first("access-control-allow-origin") == "capacitor://localhost")
        let bearer = Field("authorization", "Bearer \(done.json["app_jwt"]?.string ?? "")")
        for path in ["/api/profile", "//api/user/status"] {
            #expect(
                try await fixture.send("deeprecall", .get, path, fields: [bearer]).status == 200)
        }
        // It is no session of another client, at its host neither.
        let foreign = try await fixture.send("timetracker", .get, "/auth/me", fields: [bearer])
        #expect(foreign.status == 401)
        let page = try await fixture.send(
            "deeprecall", .post, "/api/auth/exchange/google", "{}",
            fields: [Field("origin", "https://evil.example")])
        #expect(page.status == 403 && page.first("access-control-allow-origin") == nil)
    }

    @Test func `a web page comes back to its host, and its cookies are the host's`() async throws {
        let fixture = try await Fixture()
        let begun = try await fixture.send("timetracker", .get, "/auth/login")
        #expect(begun.status == 302, "\(begun.text)")
        let asked = FormText(String((begun.first("location") ?? "").drop { $0 != "?" }.dropFirst()))
        #expect(asked.first("redirect_uri") == "https://timetracker.acme.example/auth/callback")
        let cookie = begun.first("set-cookie") ?? ""
        #expect(cookie.contains("; Path=/; "))
        let token = fixture.token(["nonce": "\"\(asked.first("nonce") ?? "")\""])
        fixture.provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        let back = try await fixture.send(
            "timetracker", .get, "/auth/callback?code=c&state=\(asked.first("state") ?? "")",
            fields: [Field("cookie", String(cookie.prefix { $0 != ";" }))])
        #expect(back.first("location") == "https://page.acme.example/auth/callback?success=true")
        let session = String((back.first("set-cookie") ?? "").prefix { $0 != ";" })
        let me = try await fixture.send(
            "timetracker", .get, "/auth/me", fields: [Field("cookie", session)])
        #expect(me.json["email"]?.string == "ann@example.com", "\(me.text)")
    }

    @Test func `a host below a domain that another tenant has proved is not bound`() async throws {
        let fixture = try await Fixture()
        try await fixture.service.makeTenant("other")
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/domains", #"{"domain":"acme.example"}"#)
        func bind(_ host: String, _ tenant: String) async throws -> Int {
            try await fixture.service.send(
                .put, "/v1/tenants/\(tenant)/clients/immich",
                json: #"{"enabled":true,"hosts":["\#(host)"]}"#, as: .platformOwner
            ).status
        }
        // An unproved claim blocks no other tenant.
        #expect(try await bind("photos2.acme.example", "other") == 200)
        #expect(try await bind("elsewhere.example", "other") == 200)
        let domains = try await fixture.service.send(
            .get, "/v1/tenants/acme/domains", as: .platformOwner)
        let id = domains.json["items"]?.array?.first?["id"]?.string ?? ""
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/domains/\(id)/verify", #"{"method":"operator"}"#)
        for host in ["acme.example", "photos2.acme.example", "a.b.acme.example:8443"] {
            #expect(try await bind(host, "other") == 409, "\(host)")
        }
        #expect(try await bind("notacme.example", "other") == 200)
        #expect(try await bind("photos3.acme.example", "acme") == 200)
    }
}
