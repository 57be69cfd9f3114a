import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.serialized, .cleansUp) struct APIKeysTests {
    private let path = "/v1/tenants/acme/api-keys"

    /// A key of the tenant with these scopes: its object and its secret.
    private func make(
        _ service: TestService, _ scopes: String, more: String = "",
        as who: TestService.Credential = .platformOwner
    ) async throws -> (id: String, secret: String, json: JSONValue) {
        let answer = try await service.send(
            .post, path, json: #"{"name":"k","scopes":[\#(scopes)]\#(more)}"#, as: who)
        try #require(answer.status == 201, "\(answer.text)")
        return (
            try #require(answer.json["id"]?.string), try #require(answer.json["key"]?.string),
            answer.json
        )
    }

    private func verify(
        _ service: TestService, _ key: String, more: String = "",
        as who: TestService.Credential = .platformOwner
    ) async throws -> String {
        let answer = try await service.send(
            .post, "/v1/api-keys/verify", json: #"{"key":"\#(key)"\#(more)}"#, as: who)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["valid"]?.bool == true ? "valid" : answer.json["code"]?.string ?? "?"
    }

    private func user(
        _ service: TestService, _ tenant: TenantRow, role: String, status: String = "active"
    ) async throws -> UUID {
        let id = UUID.random()
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                    created_at, updated_at)
                VALUES (\(change.tenant), \(id), \("\(id)@a.example"), \("\(id)@a.example"),
                    \(role), \(status), 'operator', \(change.now), \(change.now))
                """)
        }
        return id
    }

    @Test func `a key is shown once and works at once`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let answer = try await service.send(
            .post, path,
            json: #"""
                {"name":"Mail","scopes":["smtp","users:read","smtp"],"environment":"test",
                "allowed_ips":["127.0.0.1","10.1.2.3/8"],"rate_limit":{"per_minute":50},
                "allowed_origins":[],"note":"n","expires_at":"2099-01-01T00:00:00Z"}
                """#, as: .tenantAdmin(tenant))
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.first("cache-control") == "no-store")
        let json = answer.json
        let secret = try #require(json["key"]?.string)
        #expect(APIKeySecret(secret)?.locator == tenant.locator)
        #expect(secret.hasPrefix(json["prefix"]?.string ?? "-"))
        #expect(secret.hasSuffix(json["last4"]?.string ?? "-"))
        #expect(json["allowed_ips"] == .strings(["127.0.0.1", "10.0.0.0/8"]))
        #expect(json["scopes"] == .strings(["smtp", "users:read"]))
        #expect(json["status"]?.string == "active" && json["environment"]?.string == "test")
        #expect(json["owner"]?["id"]?.string == tenant.id.description)
        #expect(json["expires_at"]?.string == "2099-01-01T00:00:00.000Z")

        let id = try #require(json["id"]?.string)
        let read = try await service.send(
            .get, "\(path)/\(id)", as: .tenantAdmin(tenant))
        #expect(read.status == 200 && read.json["key"] == nil && !read.text.contains(secret))
        #expect(read.first("etag") == answer.first("etag"))
        let mine = try await service.send(.get, "/v1/me", as: .bearer(secret))
        #expect(mine.json["id"]?.string == id)
        let used = try await service.send(.get, "\(path)/\(id)", as: .tenantAdmin(tenant))
        #expect(used.json["last_used_ip"]?.string == "127.0.0.1")
    }

    @Test func `a key in the address is refused, and its tenant reads of it`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let made = try await service.send(
            .post, path, json: #"{"name":"spilt","scopes":["users:read"]}"#,
            as: .platformOwner)
        let secret = try #require(made.json["key"]?.string)
        for (query, caller) in [
            ("api_key=\(secret)", TestService.Credential.anonymous),
            ("limit=5&q=\(secret)", .platformOwner),
        ] {
            let answer = try await service.send(
                .get, "/v1/tenants/acme/users?\(query)", as: caller)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(!answer.text.contains(secret))
        }
        let events = try await service.send(
            .get, "/v1/tenants/acme/audit-events?action=api_key.leaked", as: .platformOwner)
        let names = events.json["items"]?.array?.map { $0["target"]?["name"]?.string }
        #expect(names == ["spilt", "spilt"])
        // The beginning of a key is a search text, and no key.
        let search = try await service.send(
            .get, "\(path)?q=\(secret.prefix(16))", as: .tenantAdmin(tenant))
        #expect(search.status == 200)
    }

    @Test func `a revoked key has no old secret that works`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let made = try await service.send(
            .post, path, json: #"{"name":"k","scopes":["users:read"]}"#, as: .platformOwner)
        let id = try #require(made.json["id"]?.string)
        let rotated = try await service.send(
            .post, "\(path)/\(id)/rotate", json: #"{"grace_seconds":3600}"#,
            as: .platformOwner)
        #expect(rotated.json["previous"]?["until"]?.string != nil)
        let revoked = try await service.send(
            .post, "\(path)/\(id)/revoke", json: "{}", as: .platformOwner)
        #expect(revoked.status == 200)
        #expect(revoked.json["previous"]?["until"]?.string == nil, "\(revoked.text)")
    }

    @Test func `one response reports all faults of a new key`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let answer = try await service.send(
            .post, path,
            json: #"""
                {"name":"k","scopes":["smtp","bogus"],"expires_at":"2001-01-01T00:00:00Z",
                "allowed_ips":["10.0.0.0/99"],"allowed_origins":["https://a.example/x"]}
                """#, as: .platformOwner)
        #expect(answer.status == 422)
        let pointers = (answer.json["errors"]?.array ?? []).compactMap {
            $0["pointer"]?.string
        }
        #expect(
            pointers == [
                "/scopes/1", "/expires_at", "/allowed_ips/0", "/allowed_origins/0",
            ])
        let empty = try await service.send(.post, path, json: "{}", as: .platformOwner)
        #expect(empty.status == 422)
        let owner = try await service.send(
            .post, path,
            json: #"{"name":"k","scopes":[],"owner":{"type":"user","id":"\#(UUID.random())"}}"#,
            as: .platformOwner)
        #expect(owner.status == 422)
    }

    @Test func `strangers find nothing`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let other = try await service.makeTenant("other")
        let key = try await make(service, #""smtp""#)
        for (method, target) in [
            (Method.get, path), (.get, "\(path)/\(key.id)"), (.post, path),
            (.patch, "\(path)/\(key.id)"), (.post, "\(path)/\(key.id)/rotate"),
            (.post, "\(path)/\(key.id)/revoke"), (.post, "\(path)/\(key.id)/cut"),
            (.post, "\(path)/\(key.id)/rollback"), (.post, "\(path)/revoke"),
        ] {
            let json = method == .get ? nil : "{}"
            #expect(try await service.send(method, target, json: json).status == 401)
            let foreign = try await service.send(
                method, target, json: json, as: .tenantAdmin(other))
            #expect(foreign.status == 404, "\(method) \(target)")
        }
        let wrong = try await service.send(
            .get, "/v1/tenants/other/api-keys/\(key.id)", as: .tenantAdmin(other))
        #expect(wrong.status == 404)
        let platform = try await service.send(
            .get, "/v1/api-keys", as: .tenantAdmin(other))
        #expect(platform.status == 403)
    }

    @Test func `no key reaches further than its issuer`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let narrow = try await make(service, #""api-keys:write","api-keys:read","users:read""#)
        let wide = try await make(service, #""users:write""#)
        let who = TestService.Credential.bearer(narrow.secret)
        let more = try await service.send(
            .post, path, json: #"{"name":"k","scopes":["users:write"]}"#, as: who)
        #expect(more.status == 403)
        _ = try await make(service, #""users:read""#, as: who)
        let beyond = try await service.send(
            .post, path, json: #"{"name":"k","scopes":["users:read","pop3"]}"#, as: who)
        #expect(beyond.status == 403)
        let rotated = try await service.send(.post, "\(path)/\(wide.id)/rotate", as: who)
        #expect(rotated.status == 403)
        let widened = try await service.send(
            .patch, "\(path)/\(narrow.id)",
            json: #"{"scopes":["api-keys:write","users:write"]}"#, as: who)
        #expect(widened.status == 403)
        let developer = try await service.session(role: .developer, tenant: tenant.id)
        let drafted = try await service.send(
            .post, path, json: #"{"name":"k","scopes":["policy:write"]}"#,
            as: .session(developer))
        #expect(drafted.status == 403)
    }

    @Test func `every answer about a user's key contains the user's external id`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let member = try await user(service, tenant, role: "member")
        let own = #", "owner":{"type":"user","id":"\#(member)"}"#
        let key = try await make(service, #""smtp""#, more: own)
        for (change, wanted) in [(#""crm-7""#, "crm-7"), ("null", nil)] as [(String, String?)] {
            let changed = try await service.send(
                .patch, "/v1/tenants/acme/users/\(member)", json: #"{"external_id":\#(change)}"#,
                as: .platformOwner)
            #expect(changed.status == 200, "\(changed.text)")
            let verdict = try await service.send(
                .post, "/v1/api-keys/verify", json: #"{"key":"\#(key.secret)"}"#,
                as: .platformOwner)
            #expect(verdict.json["valid"] == .bool(true), "\(verdict.text)")
            #expect(verdict.json["external_id"]?.string == wanted, "\(verdict.text)")
            let told = try await service.send(
                .post, "/oauth/introspect", json: "token=\(key.secret)", as: .platformOwner,
                fields: [Field("content-type", "application/x-www-form-urlencoded")])
            #expect(told.json["external_id"]?.string == wanted, "\(told.text)")
            let mine = try await service.send(.get, "/v1/me", as: .bearer(key.secret))
            #expect(mine.json["external_id"]?.string == wanted, "\(mine.text)")
        }
    }

    @Test func `a member has own keys only`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let member = try await user(service, tenant, role: "member")
        let own = #", "owner":{"type":"user","id":"\#(member)"}"#
        let scopes = #""api-keys:read","api-keys:write","smtp""#
        let theirs = try await make(service, #""smtp""#)
        let mine = try await make(service, scopes, more: own)
        let who = TestService.Credential.bearer(mine.secret)
        let list = try await service.send(.get, path, as: who)
        #expect(list.status == 200 && list.json["items"]?.array?.count == 1, "\(list.text)")
        #expect(
            try await service.send(.get, "\(path)/\(theirs.id)", as: who).status == 404)
        #expect(
            try await service.send(.post, "\(path)/\(theirs.id)/revoke", as: who).status == 404)
        let tenants = try await service.send(
            .post, path, json: #"{"name":"k","scopes":["smtp"]}"#, as: who)
        #expect(tenants.status == 403)
        let second = try await make(service, #""smtp""#, more: own, as: who)
        #expect(
            try await service.send(
                .post, "\(path)/revoke", json: #"{"reason":"gone"}"#, as: who
            ).status == 403)
        let all = try await service.send(
            .post, "\(path)/revoke", json: #"{"owner_user_id":"\#(member)","reason":"gone"}"#,
            as: who)
        #expect(all.json["revoked"]?.int == 2, "\(all.text)")
        #expect(try await verify(service, second.secret) == "revoked")
        #expect(try await verify(service, theirs.secret) == "valid")
    }

    @Test func `rotation keeps the id and lets the old secret live for its grace`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let key = try await make(service, #""smtp""#)
        let target = "\(path)/\(key.id)"
        let rotated = try await service.send(
            .post, "\(target)/rotate", json: #"{"grace_seconds":3600}"#, as: .platformOwner)
        #expect(rotated.status == 200 && rotated.first("cache-control") == "no-store")
        let second = try #require(rotated.json["key"]?.string)
        #expect(rotated.json["status"]?.string == "grace")
        #expect(rotated.json["previous"]?["last4"] == key.json["last4"])
        #expect(try await verify(service, key.secret) == "valid")
        #expect(try await verify(service, second) == "valid")
        let seen = try await service.send(.get, target, as: .platformOwner)
        #expect(seen.json["previous"]?["uses"]?.int == 1)

        let back = try await service.send(.post, "\(target)/rollback", as: .platformOwner)
        #expect(back.status == 200 && back.json["last4"] == key.json["last4"])
        #expect(try await verify(service, second) == "unknown")
        #expect(
            try await service.send(.post, "\(target)/cut", as: .platformOwner).status == 409)

        _ = try await service.send(
            .post, "\(target)/rotate", json: #"{"grace_seconds":60}"#, as: .platformOwner)
        let cut = try await service.send(.post, "\(target)/cut", as: .platformOwner)
        #expect(cut.json["previous"] == .null && cut.json["status"]?.string == "active")
        #expect(try await verify(service, key.secret) == "unknown")
        let long = try await service.send(
            .post, "\(target)/rotate", json: #"{"grace_seconds":604801}"#, as: .platformOwner)
        #expect(long.status == 422)
    }

    @Test func `a revoked key is refused at once, stays listed, and a second time is the same`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let key = try await make(service, #""users:read""#)
        let target = "\(path)/\(key.id)/revoke"
        let first = try await service.send(
            .post, target, json: #"{"reason":"leaked"}"#, as: .platformOwner)
        #expect(first.status == 200 && first.json["status"]?.string == "revoked")
        #expect(first.json["revocation_reason"]?.string == "leaked")
        let again = try await service.send(
            .post, target, json: #"{"reason":"other"}"#, as: .platformOwner)
        #expect(again.status == 200 && again.bytes == first.bytes)
        #expect(try await service.send(.get, "/v1/me", as: .bearer(key.secret)).status == 401)
        #expect(try await verify(service, key.secret) == "revoked")
        let list = try await service.send(
            .get, "\(path)?status=revoked", as: .platformOwner)
        #expect(list.json["total"]?["value"]?.int == 1)
        let late = try await service.send(
            .post, "\(path)/\(key.id)/rotate", as: .platformOwner)
        #expect(late.status == 409)
        let rows = try await service.storage.app.read(
            "SELECT count(*) FROM revocations")
        #expect(try rows.first?.get(0, as: Int.self) ?? 0 > 0)
    }

    @Test func `a change honours If-Match and read-only members`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let key = try await make(service, #""smtp""#)
        let target = "\(path)/\(key.id)"
        let stale = try await service.send(
            .patch, target, json: #"{"name":"n"}"#, as: .platformOwner,
            fields: [Field("if-match", "\"v9\"")])
        #expect(stale.status == 412)
        let read = try await service.send(.get, target, as: .platformOwner)
        let whole = try await service.send(
            .patch, target, json: read.text, as: .platformOwner,
            fields: [Field("if-match", read.first("etag") ?? "")])
        #expect(whole.status == 200 && whole.bytes == read.bytes, "\(whole.text)")
        let changed = try await service.send(
            .patch, target, json: #"{"name":"n","note":"x","allowed_ips":["192.0.2.0/24"]}"#,
            as: .platformOwner)
        #expect(changed.status == 200 && changed.json["name"]?.string == "n")
        #expect(changed.first("etag") != read.first("etag"))
        let readOnly = try await service.send(
            .patch, target, json: #"{"last4":"abcd"}"#, as: .platformOwner)
        #expect(readOnly.status == 422)
    }

    @Test func `lists go on by cursor`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        for _ in 0..<3 { _ = try await make(service, #""smtp""#) }
        let first = try await service.send(.get, "\(path)?limit=2", as: .platformOwner)
        #expect(first.json["items"]?.array?.count == 2)
        #expect(first.json["total"]?["value"]?.int == 3)
        let cursor = try #require(first.json["next_cursor"]?.string)
        let rest = try await service.send(
            .get, "\(path)?limit=2&cursor=\(cursor)", as: .platformOwner)
        #expect(rest.json["items"]?.array?.count == 1 && rest.json["next_cursor"] == .null)
    }
}

extension APIKeysTests {
    @Test func `keys are ordered and found by their name, in letters of any script`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let names = ["alpha", "Beta", "GAMMA mail", "ÄRGER im Netz", "Заметки"]
        for name in names.reversed() {
            let made = try await service.send(
                .post, path, json: #"{"name":"\#(name)","scopes":["smtp"]}"#,
                as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
        }
        func found(_ query: String) async throws -> [String] {
            let list = try await service.send(.get, "\(path)?\(query)", as: .platformOwner)
            return list.json["items"]?.array?.compactMap { $0["name"]?.string } ?? []
        }
        #expect(try await found("sort=name") == names)
        #expect(try await found("sort=-name") == names.reversed())
        let page = try await service.send(
            .get, "\(path)?sort=name&limit=2", as: .platformOwner)
        let cursor = try #require(page.json["next_cursor"]?.string)
        #expect(
            try await found("sort=name&limit=2&cursor=\(cursor)")
                == ["GAMMA mail", "ÄRGER im Netz"])
        #expect(try await found("q=MMA") == ["GAMMA mail"])
        #expect(try await found("q=%C3%A4rger") == ["ÄRGER im Netz"])
        #expect(try await found("q=%D0%97%D0%90%D0%9C") == ["Заметки"])
        #expect(try await found("q=ma") == ["GAMMA mail"])
        #expect(try await found("q=am").isEmpty)
    }
}

extension JSONValue {
    fileprivate static func strings(_ texts: [String]) -> JSONValue {
        .array(texts.map { .string($0) })
    }
}
