import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.serialized, .cleansUp) struct KeyVerificationTests {
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

    private func makeService() async throws -> TestService {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        return service
    }

    @Test func `only the platform and the key's tenant with the scope get more than unknown`()
        async throws
    {
        let service = try await makeService()
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

    @Test func `scope, address, origin and rate are held against the key`() async throws {
        let service = try await makeService()
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
        // Uses of a minute may fall in two; three more are over the limit in any.
        let keys = #"{"keys":[{"key":"\#(slow)"},{"key":"\#(slow)"},{"key":"\#(slow)"}]}"#
        let many = try await service.send(
            .post, "/v1/api-keys/verify-batch", json: keys, as: .platformOwner)
        let last = many.json["results"]?.array?.last
        #expect(last?["code"]?.string == "rate_limited")
        #expect((1...60).contains(last?["retry_after"]?.int ?? 0), "\(many.text)")
    }

    @Test func `a suspended tenant's keys are refused until it is resumed`() async throws {
        let service = try await makeService()
        let asked = try await key(service, #""users:read""#)
        _ = try await service.send(.post, "/v1/tenants/acme/suspend", as: .platformOwner)
        #expect(try await verdict(service, asked) == "tenant_suspended")
        _ = try await service.send(.post, "/v1/tenants/acme/resume", as: .platformOwner)
        #expect(try await verdict(service, asked) == "valid")
    }

    private func verdicts(
        _ service: TestService, _ keys: [String], as who: TestService.Credential = .platformOwner
    ) async throws -> [String] {
        let answer = try await service.send(
            .post, "/v1/api-keys/verify-batch",
            json: #"{"keys":[\#(keys.joined(separator: ","))]}"#, as: who)
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["results"]?.array ?? []).map {
            $0["valid"]?.bool == true ? "valid" : $0["code"]?.string ?? "?"
        }
    }

    @Test func `many keys verified at once get the same verdicts as one by one`() async throws {
        let service = try await makeService()
        let good = try await key(service, #""smtp""#)
        let revoked = try await key(service, #""smtp""#)
        let slow = try await key(service, #""smtp""#, more: #","rate_limit":{"per_minute":2}"#)
        let bound = try await key(
            service, #""smtp""#, more: #","allowed_ips":["192.0.2.0/24"]"#)
        try await service.makeTenant("other")
        let foreign = try await key(
            service, at: "/v1/tenants/other/api-keys", #""keys:verify""#)
        let mine = try await key(service, #""keys:verify""#)
        let list = try await service.send(
            .get, "/v1/tenants/acme/api-keys?sort=created_at", as: .platformOwner)
        let id = try #require(
            list.json["items"]?.array?.first {
                $0["last4"]?.string == String(revoked.suffix(4))
            }?["id"]?.string)
        _ = try await service.send(
            .post, "/v1/tenants/acme/api-keys/\(id)/revoke", as: .platformOwner)
        let asked = [
            #"{"key":"\#(good)"}"#, #"{"key":"nonsense"}"#, #"{"key":"\#(revoked)"}"#,
            #"{"key":"\#(slow)"}"#, #"{"key":"\#(slow)"}"#, #"{"key":"\#(slow)"}"#,
            #"{"key":"\#(bound)","ip":"192.0.2.1"}"#, #"{"key":"\#(bound)"}"#,
            #"{"key":"\#(good)","scopes":["pop3"]}"#, #"{"key":"\#(foreign)"}"#,
            #"{"key":"\#(good)","scopes":["smtp"]}"#,
        ]
        var expected = [
            "valid", "unknown", "revoked", "valid", "valid", "rate_limited", "valid",
            "ip_not_allowed", "scope_missing", "valid", "valid",
        ]
        #expect(try await verdicts(service, asked) == expected)
        // The tenant's own key learns about the tenant's keys alone.
        expected[9] = "unknown"
        expected.replaceSubrange(3...5, with: repeatElement("rate_limited", count: 3))
        #expect(try await verdicts(service, asked, as: .bearer(mine)) == expected)
        #expect(try await verdicts(service, []) == [])
        let whole = try await service.send(
            .post, "/v1/api-keys/verify-batch", json: #"{"keys":[{"key":"\#(good)"}]}"#,
            as: .platformOwner)
        let alone = try await service.send(
            .post, "/v1/api-keys/verify", json: #"{"key":"\#(good)"}"#, as: .platformOwner)
        #expect(whole.json["results"]?.array == [alone.json])
    }

    @Test func `a batch has up to a thousand keys, and a bad one is named by its place`()
        async throws
    {
        let service = try await makeService()
        let good = #"{"key":"\#(try await key(service, #""smtp""#))"}"#
        let many = try await verdicts(service, [String](repeating: good, count: 1000))
        #expect(many == [String](repeating: "valid", count: 1000))
        let overview = try await service.send(
            .get, "/v1/stats/overview", as: .platformOwner)
        #expect(overview.json["key_verifications"]?.int == 1000)
        // The calls that came with a key count too, and its verifications.
        let uses = try #require(overview.json["key_uses"]?.int)
        #expect(uses >= 1000)
        let list = [String](repeating: good, count: 1001).joined(separator: ",")
        let bad: [(String, String)] = [
            (#"{"keys":[\#(list)]}"#, "/keys"), ("{}", "/keys"),
            (#"{"keys":[\#(good),{"key":"x","ip":"nowhere"}]}"#, "/keys/1/ip"),
            (#"{"keys":[{}]}"#, "/keys/0/key"),
        ]
        for (json, pointer) in bad {
            let answer = try await service.send(
                .post, "/v1/api-keys/verify-batch", json: json, as: .platformOwner)
            #expect(answer.status == 422)
            #expect(answer.json["errors"]?.array?.first?["pointer"]?.string == pointer)
        }
        let nobody = try await service.send(
            .post, "/v1/api-keys/verify-batch", json: #"{"keys":[]}"#)
        #expect(nobody.status == 401)
    }

    @Test func `the uses of a key are counted by the day`() async throws {
        let clock = TestClock()
        let service = try await TestService.make(clock: { clock.now })
        try await service.makeTenant("acme")
        let asked = try await key(service, #""smtp""#)
        let list = try await service.send(.get, "/v1/tenants/acme/api-keys", as: .platformOwner)
        let who = TestService.Credential.bearer(
            try await key(
                service, at: "/v1/api-keys", #""api-keys:read","keys:verify","tenants:read""#))
        let id = list.json["items"]?.array?.first?["id"]?.string ?? ""
        func uses() async throws -> [Int] {
            let answer = try await service.send(
                .get, "/v1/tenants/acme/api-keys/\(id)/uses", as: who)
            #expect(answer.status == 200, "\(answer.text)")
            return answer.json["items"]?.array?.compactMap { $0["uses"]?.int } ?? []
        }
        let none = [Int](repeating: 0, count: 29)
        #expect(try await uses() == none + [0])
        for _ in 0..<3 { #expect(try await verdict(service, asked, as: who) == "valid") }
        _ = try await service.send(.get, "/v1/me", as: .bearer(asked))
        #expect(try await uses() == none + [4])
        #expect(try await verdict(service, asked, as: who) == "valid")
        #expect(try await uses() == none + [5])
        // The overview counts the calls that came with a key too, not only what was asked about.
        let overview = try await service.send(.get, "/v1/stats/overview", as: .platformOwner)
        let verified = try #require(overview.json["key_verifications"]?.int)
        #expect(verified == 4)
        let all = try #require(overview.json["key_uses"]?.int)
        #expect(all > verified, "\(overview.text)")
        clock.advance(seconds: 86_400)
        #expect(
            try await verdict(service, asked, more: #","scopes":["pop3"]"#, as: who)
                == "scope_missing")
        #expect(try await verdict(service, asked, as: who) == "valid")
        #expect(try await uses() == none.dropFirst() + [5, 1])
        let strange = try await service.send(
            .get, "/v1/tenants/acme/api-keys/\(UUID.random())/uses", as: who)
        #expect(strange.status == 404)
    }

    @Test func `a limit is exact at one replica, and n replicas admit n times as many at most`()
        async throws
    {
        let clock = TestClock()
        clock.startMinute()
        let service = try await TestService.make(clock: { clock.now })
        try await service.makeTenant("acme")
        let slow = try await key(service, #""smtp""#, more: #","rate_limit":{"per_minute":10}"#)
        let replicas = [service.composition, try service.replica()]
        let owner = TestService.Credential.session(
            try await service.session(role: .owner, tenant: nil))
        func admitted() async throws -> [Int] {
            try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
                for number in 0..<120 {
                    group.addTask {
                        let answer = try await service.send(
                            .post, "/v1/api-keys/verify", json: #"{"key":"\#(slow)"}"#, as: owner,
                            to: replicas[number % 2])
                        return (number % 2, answer.json["valid"]?.bool == true)
                    }
                }
                var counts = [0, 0]
                for try await (replica, isValid) in group where isValid { counts[replica] += 1 }
                return counts
            }
        }
        #expect(try await admitted() == [10, 10])
        #expect(try await admitted() == [0, 0])
        clock.advance(seconds: 59)
        #expect(try await admitted() == [0, 0])
        clock.advance(seconds: 1)
        #expect(try await admitted() == [10, 10])
        // A caller with the key itself gets the time to come again.
        let refused = try await service.send(.get, "/v1/me", as: .bearer(slow))
        #expect(refused.status == 429 && refused.first("retry-after") == "60")
        #expect(refused.first("ratelimit-limit") == "10")
        #expect(refused.first("ratelimit-remaining") == "0")
    }

    @Test func `introspection returns the same facts`() async throws {
        let service = try await makeService()
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

    @Test func `the platform's own keys reach every tenant and carry its locator`() async throws {
        let service = try await makeService()
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

    @Test(arguments: ["000000", "Ab3dE9"])
    func `the setup key is installed once, before anyone is there`(locator: String) async throws {
        let service = try await makeService()
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

/// Which key is this text?
@Suite(.serialized, .cleansUp) struct KeyIdentificationTests {
    private func made(
        _ service: TestService, _ slug: String, _ scopes: String = #""smtp""#
    ) async throws -> (id: String, key: String) {
        let key = try await service.manage(
            .post, "/v1/tenants/\(slug)/api-keys",
            #"{"name":"Mail of \#(slug)","scopes":[\#(scopes)]}"#)
        return (try #require(key["id"]?.string), try #require(key["key"]?.string))
    }

    private func identify(
        _ text: String, _ service: TestService, as who: TestService.Credential
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/api-keys/identify", json: #"{"key":"\#(text)"}"#, as: who)
    }

    @Test func `who may list a key finds it by its text, and no one else does`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let (id, key) = try await made(service, "acme")
        let lister = try await made(service, "acme", #""api-keys:read""#).key
        let weak = try await made(service, "acme", #""users:read""#).key
        let foreign = try await made(service, "other", #""api-keys:read""#).key
        for who: TestService.Credential in [.platformOwner, .tenantAdmin(acme), .bearer(lister)] {
            let found = try await identify(key, service, as: who)
            #expect(found.json["id"]?.string == id, "\(found.text)")
            #expect(found.json["tenant_id"]?.string == acme.id.description)
            #expect(found.json["name"]?.string == "Mail of acme")
            #expect(found.json["status"]?.string == "active")
            #expect(found.json["leaked_at"] == .null)
            #expect(!found.text.contains(key))
        }
        for who: TestService.Credential in [.tenantAdmin(other), .bearer(weak), .bearer(foreign)] {
            #expect(try await identify(key, service, as: who).status == 404)
        }
        let typo = String(key.dropLast()) + (key.last == "0" ? "1" : "0")
        #expect(try await identify(typo, service, as: .platformOwner).status == 404)
        #expect(try await identify(key, service, as: .anonymous).status == 401)
    }

    @Test func `identifying a key shows its status and its leak, and is not a use`()
        async throws
    {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let (id, key) = try await made(service, "acme")
        #expect(try await service.send(.get, "/v1/me?k=\(key)").status == 400)
        let leaked = try await identify(key, service, as: .platformOwner)
        #expect(leaked.json["leaked_at"]?.string != nil, "\(leaked.text)")
        let shown = try await service.send(
            .get, "/v1/tenants/acme/api-keys/\(id)", as: .platformOwner)
        #expect(shown.json["last_used_at"] == .null)
        try await service.manage(.post, "/v1/tenants/acme/api-keys/\(id)/revoke", "{}")
        let ended = try await identify(key, service, as: .platformOwner)
        #expect(ended.json["status"]?.string == "revoked", "\(ended.text)")
    }
}
