import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// What a key can make of itself, of others and of new keys.
@Suite(.cleansUp) struct KeyBoundsTests {
    private static let path = "/v1/tenants/acme/api-keys"
    private static let bounds =
        #","expires_at":"2098-01-01T00:00:00Z","allowed_ips":["127.0.0.0/8"],"#
        + #""rate_limit":{"per_minute":50}"#

    private func bounded(_ service: TestService, _ more: String = bounds) async throws -> MadeKey {
        try await service.makeKey(#""api-keys:write","api-keys:read","users:read""#, more)
    }

    private func expectRefused(
        _ answer: TestAnswer, _ pointers: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == 403, "\(answer.text)", sourceLocation: sourceLocation)
        let told = answer.json["errors"]?.array?.compactMap { $0["pointer"]?.string } ?? []
        #expect(told == pointers, sourceLocation: sourceLocation)
    }

    @Test func `a key does not widen itself, and may narrow itself`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let key = try await bounded(service)
        let target = "\(Self.path)/\(key.id)"
        let widened = try await service.send(
            .patch, target, json: #"{"expires_at":null,"allowed_ips":[],"rate_limit":null}"#,
            as: key.credential)
        expectRefused(widened, ["/expires_at", "/allowed_ips", "/rate_limit"])
        for (change, pointer) in [
            (#"{"expires_at":"2098-01-01T00:00:01Z"}"#, "/expires_at"),
            (#"{"allowed_ips":["127.0.0.1","10.0.0.1"]}"#, "/allowed_ips"),
            (#"{"allowed_ips":["126.0.0.0/7"]}"#, "/allowed_ips"),
            (#"{"rate_limit":{"per_minute":51}}"#, "/rate_limit"),
        ] {
            expectRefused(
                try await service.send(.patch, target, json: change, as: key.credential),
                [pointer])
        }
        expectRefused(
            try await service.send(
                .patch, target, json: #"{"scopes":["api-keys:write","smtp"]}"#, as: key.credential),
            [])
        let narrowed = try await service.send(
            .patch, target,
            json: #"{"name":"n","allowed_ips":["127.0.0.1"],"rate_limit":{"per_minute":40},"#
                + #""allowed_origins":["https://a.example"],"#
                + #""expires_at":"2097-01-01T00:00:00Z","scopes":["api-keys:write"]}"#,
            as: key.credential)
        #expect(narrowed.status == 200, "\(narrowed.text)")
        #expect(narrowed.json["rate_limit"]?["per_minute"]?.int == 40)
    }

    @Test func `a key created by a key gets its maker's bounds by default and never wider ones`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let origins = #","allowed_origins":["https://*.a.example"]"#
        let key = try await bounded(service, Self.bounds + origins)
        let page = [Field("origin", "https://x.a.example")]
        func make(_ more: String) async throws -> TestAnswer {
            try await service.send(
                .post, Self.path, json: #"{"name":"heir","scopes":["users:read"]\#(more)}"#,
                as: key.credential, fields: page)
        }
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"https://x.a.example"}"#)
        let heir = try await make("")
        #expect(heir.status == 201, "\(heir.text)")
        for name in ["expires_at", "allowed_ips", "allowed_origins", "rate_limit"] {
            #expect(heir.json[name] == key.json[name], "\(name)")
        }
        #expect(heir.json["created_by"]?["type"]?.string == "key")
        #expect(heir.json["created_by"]?["id"]?.string == key.id)
        expectRefused(
            try await make(
                #","expires_at":null,"allowed_ips":[],"allowed_origins":[],"rate_limit":null"#),
            ["/expires_at", "/allowed_ips", "/allowed_origins", "/rate_limit"])
        expectRefused(
            try await make(#","allowed_origins":["https://b.example"]"#),
            [
                "/allowed_origins"
            ])
        let narrower = try await make(
            #","allowed_ips":["127.1.0.0/16"],"allowed_origins":["https://y.a.example"]"#)
        #expect(narrower.status == 201, "\(narrower.text)")
    }

    @Test func `a limit is shared with the keys that were made under it`() async throws {
        let clock = TestClock()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        let key = try await bounded(service, #","rate_limit":{"per_minute":4}"#)
        let heirs = [
            try await service.makeKey(#""users:read""#, as: key.credential),
            try await service.makeKey(
                #""users:read""#, #","rate_limit":{"per_minute":3}"#, as: key.credential),
        ]
        // Two uses made them; two are left for all three.
        func status(_ key: MadeKey) async throws -> Int {
            try await service.send(.get, "/v1/me", as: key.credential).status
        }
        #expect(try await status(heirs[1]) == 200)
        #expect(try await status(heirs[1]) == 429, "its own limit is three")
        #expect(try await status(heirs[0]) == 200, "a refusal takes nothing from the others")
        for one in heirs + [key] { #expect(try await status(one) == 429) }
        #expect(try await service.verdict(heirs[0].secret) == "rate_limited")
        clock.advance(seconds: 60)
        #expect(try await status(heirs[0]) == 200)
    }

    @Test func `a key changes and rotates only what lies within it`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let key = try await bounded(service)
        let wide = try await service.makeKey(#""users:read""#)
        let within = try await service.makeKey(#""users:read""#, Self.bounds)
        for (verb, body) in [
            ("rotate", #"{"grace_seconds":60}"#), ("cut", nil), ("rollback", nil),
        ] {
            let answer = try await service.send(
                .post, "\(Self.path)/\(wide.id)/\(verb)", json: body, as: key.credential)
            expectRefused(answer, ["/expires_at", "/allowed_ips", "/rate_limit"])
        }
        let renamed = try await service.send(
            .patch, "\(Self.path)/\(wide.id)", json: #"{"name":"n"}"#, as: key.credential)
        expectRefused(renamed, ["/expires_at", "/allowed_ips", "/rate_limit"])
        #expect(try await service.verdict(wide.secret) == "valid")
        let own = "\(Self.path)/\(within.id)"
        let widened = try await service.send(
            .patch, own, json: #"{"rate_limit":null}"#, as: key.credential)
        expectRefused(widened, ["/rate_limit"])
        let rotated = try await service.send(
            .post, "\(own)/rotate", json: #"{"grace_seconds":60}"#, as: key.credential)
        #expect(rotated.status == 200, "\(rotated.text)")
        let cut = try await service.send(.post, "\(own)/cut", as: key.credential)
        #expect(cut.status == 200, "\(cut.text)")
        // To revoke takes nothing for oneself.
        let revoked = try await service.send(
            .post, "\(Self.path)/\(wide.id)/revoke", as: key.credential)
        #expect(revoked.status == 200, "\(revoked.text)")
    }

    @Test func `a key of the platform bounds what it makes in a tenant`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let key = try await service.makeKey(
            #""api-keys:write","users:read""#, Self.bounds, at: "/v1/api-keys")
        let heir = try await service.makeKey(#""users:read""#, as: key.credential)
        #expect(heir.json["expires_at"] == key.json["expires_at"])
        #expect(heir.json["allowed_ips"] == key.json["allowed_ips"])
        let wider = try await service.send(
            .post, "/v1/api-keys", json: #"{"name":"k","scopes":[],"expires_at":null}"#,
            as: key.credential)
        expectRefused(wider, ["/expires_at"])
    }

    @Test func `what a person creates in a session expires only if an expiry is given`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let made = try await service.makeKey(#""smtp""#, as: .tenantAdmin(tenant))
        #expect(made.json["expires_at"] == .null)
        #expect(made.json["created_by"]?["type"]?.string == "operator")
    }
}
