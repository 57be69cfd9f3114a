import Domain
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// What the overview says waits for an operator, and how many each list then has.
@Suite(.cleansUp) struct AttentionTests {
    private static let acme = "/v1/tenants/acme"

    private struct Item: Equatable {
        var kind: String
        var tenant: String?
        var count: Int
    }

    private func items(
        _ service: TestService, as who: TestService.Credential = .platformOwner
    ) async throws -> [Item] {
        let answer = try await service.send(.get, "/v1/stats/overview", as: who)
        // The callers of these tests are sessions without a password.
        let waiting = (answer.json["attention"]?.array ?? []).filter {
            $0["kind"]?.string != "sign_in_unset"
        }
        return waiting.map {
            Item(
                kind: $0["kind"]?.string ?? "", tenant: $0["tenant"]?["slug"]?.string,
                count: $0["count"]?["value"]?.int ?? -1)
        }
    }

    private func total(_ service: TestService, _ path: String) async throws -> Int? {
        let answer = try await service.send(.get, Self.acme + path, as: .platformOwner)
        return answer.json["total"]?["value"]?.int
    }

    /// Makes one of each kind that waits, and one beside it that does not.
    private func fill(_ service: TestService, _ tenant: UUID) async throws {
        for days in [3, 13, 40] {
            let end = service.storage.clock().adding(seconds: Int64(days) * 86_400)
            _ = try await service.manage(
                .post, Self.acme + "/api-keys",
                #"{"name":"k\#(days)","scopes":["users:read"],"expires_at":"\#(end)"}"#)
        }
        for name in ["one.example", "two.example", "three.example"] {
            _ = try await service.manage(
                .post, Self.acme + "/domains", #"{"domain":"\#(name)"}"#)
        }
        for name in ["ann", "bob", "eve"] {
            _ = try await service.manage(
                .post, Self.acme + "/invites", #"{"email":"\#(name)@acme.example"}"#)
            _ = try await service.manage(
                .post, Self.acme + "/users", #"{"email":"\#(name)@asking.example"}"#)
        }
        _ = try await service.storage.scope(tenant).change(by: .system) { change in
            try await change.query(
                """
                UPDATE domains SET status = 'verified', verified_at = \(change.now), method = 'dns',
                    lost_at = CASE WHEN domain = 'two.example' THEN \(change.now)::timestamptz END
                WHERE tenant_id = \(tenant) AND domain <> 'one.example'
                """)
            try await change.query(
                """
                UPDATE invites SET delivery_status = CASE WHEN email_key LIKE 'ann%' THEN 'refused'
                    WHEN email_key LIKE 'bob%' THEN 'bounced' ELSE 'sent' END
                WHERE tenant_id = \(tenant)
                """)
            try await change.query(
                """
                UPDATE users SET status = 'pending', source = 'approval'
                WHERE tenant_id = \(tenant) AND email_key LIKE '%@asking.example'
                    AND email_key NOT LIKE 'eve%'
                """)
        }
        for _ in 0..<2 {
            _ = try await service.send(
                .get, Self.acme + "/users", fields: [Field("origin", "https://shop.example")])
        }
    }

    @Test func `each number is that of its list, and an empty list is not shown`()
        async throws
    {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        try await service.makeTenant("other")
        #expect(try await items(service) == [])
        try await fill(service, tenant.id)
        let expected = [
            Item(kind: "join_requests", tenant: "acme", count: 2),
            Item(kind: "domains_unproved", tenant: "acme", count: 2),
            Item(kind: "mail_failed", tenant: "acme", count: 2),
            Item(kind: "keys_ending", tenant: "acme", count: 2),
            Item(kind: "origins_refused", tenant: "acme", count: 1),
        ]
        #expect(try await items(service) == expected)
        #expect(try await items(service, as: .tenantAdmin(tenant)) == expected)
        let lists = [
            "/users?awaiting_approval=true", "/domains?unproved=true",
            "/invites?status=pending&delivery_status=refused,bounced", "/api-keys?ends_within=14",
        ]
        for (list, item) in zip(lists, expected) {
            #expect(try await total(service, list) == item.count, "\(list)")
        }
        #expect(try await total(service, "/domains") == 3)
        #expect(try await total(service, "/api-keys?ends_within=60") == 3)
        let wrong = try await service.send(
            .get, Self.acme + "/api-keys?ends_within=0", as: .platformOwner)
        #expect(wrong.status == 422)
    }

    @Test func `a tenant's operator sees only its tenant, as far as the role may read`()
        async throws
    {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let other = try #require(try await service.makeTenant("other") as TenantRow?)
        try await fill(service, tenant.id)
        #expect(try await items(service, as: .tenantAdmin(other)) == [])
        let auditor = try await service.session(role: .auditor, tenant: tenant.id)
        let kinds = try await items(service, as: .session(auditor)).map(\.kind)
        #expect(!kinds.contains("join_requests") && kinds.contains("domains_unproved"))
        let key = try await service.manage(
            .post, Self.acme + "/api-keys", #"{"name":"r","scopes":["users:read"]}"#)
        let secret = try #require(key["key"]?.string)
        #expect(try await items(service, as: .bearer(secret)) == [])
    }

    @Test func `old keys with admin-equivalent scopes are listed until these are given again`()
        async throws
    {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let developer = try await service.session(role: .developer, tenant: tenant.id)
        let bound = #""allowed_ips":["0.0.0.0/0","::/0"]"#
        func key(
            _ scope: String, isBound: Bool = false, isBefore: Bool = true,
            at path: String = AttentionTests.acme + "/api-keys"
        ) async throws -> MadeKey {
            let made = try await service.makeKey("\"\(scope)\"", at: path)
            if isBound { try await service.manage(.patch, "\(path)/\(made.id)", "{\(bound)}") }
            let home = path == "/v1/api-keys" ? UUID.platform : tenant.id
            _ = try await service.storage.scope(home).change(by: .system) { change in
                try await change.query(
                    """
                    UPDATE api_keys SET given_before = \(isBefore)
                    WHERE tenant_id = \(home) AND id = \(UUID(made.id))
                    """)
            }
            return made
        }
        func make(by type: String, _ id: String, _ key: MadeKey) async throws {
            _ = try await service.storage.scope(tenant.id).change(by: .system) { change in
                try await change.query(
                    """
                    UPDATE api_keys SET created_by_type = \(type), created_by_id = \(id)
                    WHERE tenant_id = \(tenant.id) AND id = \(UUID(key.id))
                    """)
            }
        }
        let bounded = try await key("policy:write", isBound: true)
        _ = try await key("clients:write")
        _ = try await key("hooks:signup", isBound: true)
        _ = try await key("policy:write", isBound: true, isBefore: false)
        _ = try await key("users:write", isBound: true)
        let (ofKey, ofDeveloper) = (try await key("clients:write"), try await key("hooks:signup"))
        try await make(by: "key", bounded.id, ofKey)
        let me = try await service.send(.get, "/v1/me", as: .session(developer))
        try await make(by: "operator", me.json["id"]?.string ?? "", ofDeveloper)
        // The command line covers an admin.
        try await make(by: "operator", UUID.platform.description, key("clients:write"))
        let wide = try await key("operators:write", isBound: true, at: "/v1/api-keys")
        func counts() async throws -> [String] {
            try await items(service).filter { $0.kind == "keys_given_before" }
                .map { "\($0.tenant ?? "platform") \($0.count)" }
        }
        #expect(try await counts() == ["acme 3", "platform 1"])
        #expect(try await total(service, "/api-keys?given_before=true") == 3)
        let own = try await items(service, as: .tenantAdmin(tenant))
        #expect(own.filter { $0.kind == "keys_given_before" }.map(\.count) == [3])
        // Who does not cover an admin gives nothing anew.
        let refused = try await service.send(
            .patch, Self.acme + "/api-keys/\(bounded.id)", json: #"{"scopes":["policy:write"]}"#,
            as: .session(developer))
        #expect(refused.json["given_before"] == .bool(true), "\(refused.text)")
        let given = try await service.manage(
            .patch, Self.acme + "/api-keys/\(bounded.id)", #"{"scopes":["policy:write"]}"#)
        #expect(given["given_before"] == .bool(false))
        #expect(try await counts() == ["acme 2", "platform 1"])
        try await service.manage(.post, Self.acme + "/api-keys/\(ofKey.id)/rotate", "{}")
        try await service.manage(.post, Self.acme + "/api-keys/\(ofDeveloper.id)/revoke", "{}")
        try await service.manage(.patch, "/v1/api-keys/\(wide.id)", #"{"scopes":["users:read"]}"#)
        #expect(try await counts() == [])
    }

    @Test func `of a kind the tenants with most stand first, and that there are more is said`()
        async throws
    {
        let service = try await TestService.make()
        for number in 1...7 {
            let tenant = try await service.makeTenant("t\(number)")
            _ = try await service.storage.scope(tenant.id).change(by: .system) { change in
                try await change.query(
                    """
                    INSERT INTO domains (tenant_id, id, domain, display, token, created_at)
                    SELECT anchor.id, md5(n::text)::uuid, 'd' || n || '.example', 'd',
                        repeat('0', 32), \(change.now)
                    FROM \(SQL.anchor(of: tenant.id)), generate_series(1, \(number)::int) AS n
                    WHERE anchor.id = \(tenant.id)
                    """)
            }
        }
        let answer = try await service.send(.get, "/v1/stats/overview", as: .platformOwner)
        let found = (answer.json["attention"]?.array ?? []).filter {
            $0["kind"]?.string != "sign_in_unset"
        }
        #expect(found.map { $0["tenant"]?["slug"]?.string } == ["t7", "t6", "t5", "t4", "t3"])
        #expect(
            found.map { $0["more_tenants"]?.bool } == [false, false, false, false, true])
        #expect(found.first?["count"]?["exact"]?.bool == true)
    }

    @Test func `the first steps tell which are done`() async throws {
        let service = try await TestService.make()
        func done(_ who: TestService.Credential = .platformOwner) async throws -> [String] {
            let answer = try await service.send(.get, "/v1/stats/overview", as: who)
            return (answer.json["first_steps"]?.members ?? [])
                .filter { $0.value.bool == true }.map(\.name)
        }
        #expect(try await done() == [])
        let tenant = try await service.makeTenant("acme")
        try await service.makeTenant("other")
        _ = try await service.manage(
            .post, Self.acme + "/invites", #"{"email":"ann@acme.example"}"#)
        _ = try await service.manage(
            .post, "/v1/providers", #"{"kind":"google","name":"G","client_id":"web"}"#)
        #expect(try await done() == ["tenant", "invite", "provider"])
        // The provider is the platform's own.
        #expect(try await done(.tenantAdmin(tenant)) == ["tenant", "invite"])
        let other = try #require(try await service.storage.tenant("other"))
        #expect(try await done(.tenantAdmin(other)) == ["tenant"])
    }
}
