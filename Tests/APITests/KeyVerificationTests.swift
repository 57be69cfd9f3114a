import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.serialized) struct KeyVerificationTests {
    private func key(
        _ service: TestService, at path: String = "/v1/tenants/acme/api-keys", _ scopes: String,
        more: String = ""
    ) async throws -> String {
        let answer = try await service.send(
            .post, path, json: #"{"name":"k","scopes":[\#(scopes)]\#(more)}"#, as: .platformOwner)
        return try #require(answer.json["key"]?.string, "\(answer.text)")
    }

    private func verdict(
        _ service: TestService, _ key: String, more: String = "",
        as who: TestService.Credential = .platformOwner
    ) async throws -> String {
        let answer = try await service.send(
            .post, "/v1/api-keys/verify", json: #"{"key":"\#(key)"\#(more)}"#, as: who)
        return answer.json["valid"]?.bool == true
            ? "valid" : answer.json["code"]?.string ?? "\(answer.status)"
    }

    private func withService(_ body: (TestService) async throws -> Void) async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        do {
            try await body(service)
        } catch {
            await service.stop()
            throw error
        }
        await service.stop()
    }

    @Test func `only the platform and the key's tenant with the scope are told more than unknown`()
        async throws
    {
        try await withService { service in
            try await service.makeTenant("other")
            let asked = try await key(service, #""smtp""#)
            let mine = try await key(service, #""keys:verify""#)
            let weak = try await key(service, #""users:read""#)
            let foreign = try await key(
                service, at: "/v1/tenants/other/api-keys", #""keys:verify""#)
            #expect(try await verdict(service, asked) == "valid")
            #expect(try await verdict(service, asked, as: .bearer(mine)) == "valid")
            #expect(try await verdict(service, asked, as: .bearer(weak)) == "unknown")
            #expect(try await verdict(service, asked, as: .bearer(foreign)) == "unknown")
            #expect(try await verdict(service, asked, as: .anonymous) == "unauthorized")
            #expect(try await verdict(service, "gate_live_x") == "unknown")
            let nowhere = try await service.send(
                .post, "/v1/api-keys/verify", json: #"{"key":"x","ip":"nowhere"}"#,
                as: .platformOwner)
            #expect(nowhere.status == 422)
        }
    }

    @Test func `scope, address, origin and rate are held against the key`() async throws {
        try await withService { service in
            let bound = try await key(
                service, #""smtp""#,
                more: #"""
                    ,"allowed_ips":["192.0.2.0/24"],"allowed_origins":["https://app.example.com"]
                    """#)
            let good = #","ip":"192.0.2.9","origin":"https://app.example.com""#
            #expect(try await verdict(service, bound, more: good) == "valid")
            #expect(try await verdict(service, bound) == "ip_not_allowed")
            #expect(
                try await verdict(service, bound, more: #","ip":"192.0.3.1""#) == "ip_not_allowed")
            #expect(
                try await verdict(
                    service, bound, more: #","ip":"192.0.2.9","origin":"https://b.example.com""#)
                    == "origin_not_allowed")
            #expect(
                try await verdict(service, bound, more: good + #","scopes":["pop3"]"#)
                    == "scope_missing")
            let away = try await service.send(.get, "/v1/me", as: .bearer(bound))
            #expect(away.status == 403)
            let slow = try await key(service, #""smtp""#, more: #","rate_limit":{"per_minute":1}"#)
            var verdicts: [String] = []
            for _ in 0..<3 { verdicts.append(try await verdict(service, slow)) }
            #expect(verdicts.contains("rate_limited") && verdicts[0] == "valid")
        }
    }

    @Test func `a suspended tenant's keys are refused until it is resumed`() async throws {
        try await withService { service in
            let asked = try await key(service, #""users:read""#)
            _ = try await service.send(.post, "/v1/tenants/acme/suspend", as: .platformOwner)
            #expect(try await verdict(service, asked) == "tenant_suspended")
            _ = try await service.send(.post, "/v1/tenants/acme/resume", as: .platformOwner)
            #expect(try await verdict(service, asked) == "valid")
        }
    }

    @Test func `introspection tells the same facts`() async throws {
        try await withService { service in
            let asked = try await key(service, #""smtp","users:read""#)
            let form = [Field("content-type", "application/x-www-form-urlencoded")]
            let active = try await service.send(
                .post, "/oauth/introspect", json: "token=\(asked)&token_type_hint=access_token",
                as: .platformOwner, fields: form)
            #expect(active.status == 200 && active.json["active"]?.bool == true, "\(active.text)")
            #expect(active.json["scope"]?.string == "smtp users:read")
            let other = try await service.makeTenant("other")
            let hidden = try await service.send(
                .post, "/oauth/introspect", json: "token=\(asked)", as: .tenantAdmin(other),
                fields: form)
            #expect(hidden.text == #"{"active":false}"#)
            let none = try await service.send(
                .post, "/oauth/introspect", json: "a=b", as: .platformOwner, fields: form)
            #expect(none.status == 400)
            let anonymous = try await service.send(
                .post, "/oauth/introspect", json: "token=x", fields: form)
            #expect(anonymous.status == 401)
        }
    }

    @Test func `the platform's own keys reach every tenant and carry its locator`() async throws {
        try await withService { service in
            let made = try await service.send(
                .post, "/v1/api-keys",
                json: #"{"name":"p","scopes":["users:read","tenants:read"]}"#,
                as: .platformOwner)
            let secret = try #require(made.json["key"]?.string, "\(made.text)")
            #expect(APIKeySecret(secret)?.locator == "000000")
            #expect(made.json["tenant_id"] == .null)
            #expect(made.json["owner"]?["type"]?.string == "platform")
            let read = try await service.send(.get, "/v1/tenants/acme", as: .bearer(secret))
            #expect(read.status == 200)
            let own = try await service.send(
                .post, "/v1/api-keys", json: #"{"name":"p","scopes":["smtp"]}"#, as: .platformOwner)
            #expect(own.status == 422)
            let id = try #require(made.json["id"]?.string)
            let list = try await service.send(.get, "/v1/api-keys", as: .platformOwner)
            #expect(list.json["items"]?.array?.first?["id"]?.string == id)
            let revoked = try await service.send(
                .post, "/v1/api-keys/\(id)/revoke", as: .platformOwner)
            #expect(revoked.json["status"]?.string == "revoked")
            #expect(
                try await service.send(.get, "/v1/tenants/acme", as: .bearer(secret)).status == 401)
        }
    }

    @Test(arguments: ["000000", "Ab3dE9"])
    func `the setup key is installed once, before anyone is there`(locator: String) async throws {
        try await withService { service in
            let secret = try #require(APIKeySecret.make(environment: .test, locator: locator))
            #expect(try await service.storage.installSetupKey(secret.text))
            #expect(try await !service.storage.installSetupKey(secret.text))
            let who = TestService.Credential.bearer(secret.text)
            let made = try await service.send(
                .post, "/v1/tenants", json: #"{"slug":"new","name":"New"}"#, as: who)
            #expect(made.status == 201, "\(made.text)")
            let more = try await service.send(
                .post, "/v1/tenants/new/api-keys", json: #"{"name":"k","scopes":["users:write"]}"#,
                as: who)
            #expect(more.status == 201, "\(more.text)")
            #expect(try await !service.storage.installSetupKey("gate_test_nonsense"))
        }
    }
}
