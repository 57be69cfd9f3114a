import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct AuditEventsTests {
    @Test func `events come newest first, page by page, and by filter`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let path = "/v1/tenants/acme/audit-events"
        let renamed = try await service.send(
            .patch, "/v1/tenants/acme", json: #"{"name":"Acme 2"}"#, as: .tenantAdmin(tenant))
        #expect(renamed.status == 200)
        let list = try await service.send(.get, path, as: .tenantAdmin(tenant))
        #expect(list.status == 200)
        let first = list.json["items"]?.array?.first
        #expect(first?["action"]?.string == "tenant.updated")
        #expect(first?["changes"]?["name"]?.array?.last?.string == "Acme 2")
        #expect(first?["actor"]?["type"]?.string == "operator")
        #expect(first?["tenant_id"]?.string == tenant.id.description)
        #expect(first?["tenant_name"]?.string == "Acme 2")
        let page = try await service.send(.get, path + "?limit=1", as: .tenantAdmin(tenant))
        let cursor = page.json["next_cursor"]?.string ?? ""
        let next = try await service.send(
            .get, path + "?limit=1&cursor=\(cursor)", as: .tenantAdmin(tenant))
        #expect(next.json["items"]?.array?.first?["id"] != first?["id"])
        #expect(next.json["items"]?.array?.count == 1)
        for (filter, count) in [
            ("action=tenant.created", 1), ("action=tenant.", 2), ("actor=nobody", 0),
            ("target=\(tenant.id)", 2), ("until=2020-01-01T00:00:00Z", 0),
            ("since=2020-01-01T00:00:00Z&action=tenant.updated", 1),
        ] {
            let found = try await service.send(
                .get, "\(path)?\(filter)", as: .tenantAdmin(tenant))
            #expect(found.json["total"]?["value"]?.int == count, "\(filter)")
        }
        #expect(
            try await service.send(.get, path + "?since=x", as: .tenantAdmin(tenant)).status == 422)
    }

    @Test func `a tenant sees its own events, the platform all, a developer what he did`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        #expect(try await service.send(.get, "/v1/audit-events").status == 401)
        #expect(
            try await service.send(
                .get, "/v1/tenants/acme/audit-events", as: .tenantAdmin(other)
            ).status == 404)
        let all = try await service.send(
            .get, "/v1/audit-events?action=tenant.created", as: .platformOwner)
        #expect(all.json["items"]?.array?.count == 2)
        let names = all.json["items"]?.array?.compactMap { $0["tenant_name"]?.string } ?? []
        #expect(names.sorted() == [acme.name, other.name].sorted())
        let own = try await service.send(
            .get, "/v1/audit-events?action=tenant.created", as: .tenantAdmin(acme))
        #expect(own.json["items"]?.array?.count == 1)
        let developer = try await service.session(role: .developer, tenant: acme.id)
        _ = try await service.send(
            .post, "/v1/tenants/acme/cors-origins", json: #"{"origin":"https://a.example"}"#,
            as: .session(developer))
        let done = try await service.send(
            .get, "/v1/tenants/acme/audit-events", as: .session(developer))
        #expect(done.json["items"]?.array?.count == 1)
        let support = try await service.session(role: .support, tenant: acme.id)
        #expect(
            try await service.send(
                .get, "/v1/tenants/acme/audit-events", as: .session(support)
            ).status == 403)
    }

    @Test func `the overview counts, and the search finds what the credential may see`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        try await service.makeTenant("other")
        for (window, buckets) in [("24h", 24), ("7d", 7), ("30d", 30)] {
            let answer = try await service.send(
                .get, "/v1/stats/overview?window=\(window)", as: .platformOwner)
            #expect(answer.status == 200)
            #expect(answer.json["tenants"]?.int == 2)
            #expect(answer.json["users"]?.int == 0)
            #expect(answer.json["sign_ups"]?.array?.count == buckets)
        }
        for (period, buckets) in [
            ("since=2026-03-01T00:00:00.000Z&until=2026-03-02T00:00:00.000Z", 24),
            ("since=2026-03-01T12:00:00.000Z&until=2026-03-31T12:00:00.000Z", 31),
        ] {
            let answer = try await service.send(
                .get, "/v1/stats/overview?\(period)", as: .platformOwner)
            #expect(answer.json["sign_ups"]?.array?.count == buckets, "\(answer.text)")
            #expect(answer.json["until"]?.string.map { period.hasSuffix($0) } == true)
        }
        let backwards = "since=2026-03-02T00:00:00.000Z&until=2026-03-01T00:00:00.000Z"
        for wrong in [
            backwards, "since=2999-01-01T00:00:00.000Z", "window=1y", "time_zone=Nowhere/City",
            "time_zone=a%20b", "time_zone=",
        ] {
            let answer = try await service.send(
                .get, "/v1/stats/overview?\(wrong)", as: .platformOwner)
            #expect(answer.status == 422, "\(wrong)")
        }
        #expect(try await service.send(.get, "/v1/stats/overview").status == 401)
        let found = try await service.send(.get, "/v1/search?q=oth", as: .platformOwner)
        #expect(found.json["items"]?.array?.first?["slug"]?.string == "other")
        let foreign = try await service.send(.get, "/v1/search?q=oth", as: .tenantAdmin(acme))
        #expect(foreign.json["items"]?.array?.isEmpty == true)
        let own = try await service.send(.get, "/v1/search?q=AC", as: .tenantAdmin(acme))
        #expect(own.json["items"]?.array?.first?["type"]?.string == "tenant")
        #expect(try await service.send(.get, "/v1/search", as: .platformOwner).status == 422)
        let key = try await service.send(
            .post, "/v1/tenants/acme/api-keys", json: #"{"name":"Zebra mail","scopes":["smtp"]}"#,
            as: .platformOwner)
        let invite = try await service.send(
            .post, "/v1/tenants/acme/invites", json: #"{"email":"zebra@acme.example"}"#,
            as: .platformOwner)
        #expect(invite.status == 201, "\(invite.text)")
        func types(_ query: String, as who: TestService.Credential) async throws -> [String] {
            let answer = try await service.send(.get, "/v1/search?q=\(query)", as: who)
            return answer.json["items"]?.array?.compactMap { $0["type"]?.string } ?? []
        }
        // The invited person waits as a user.
        let all = ["user", "api_key", "invite"]
        #expect(try await types("ZEBRA", as: .tenantAdmin(acme)) == all)
        #expect(try await types("zebra", as: .platformOwner) == ["user"])
        #expect(try await types("zebra&tenant=acme", as: .platformOwner) == all)
        let other = try await service.storage.tenant("other")
        #expect(try await types("zebra", as: .tenantAdmin(try #require(other))) == [])
        #expect(
            try await service.send(
                .get, "/v1/search?q=zebra&tenant=acme", as: .tenantAdmin(try #require(other))
            ).status == 404)
        for (made, type) in [(key, "api_key"), (invite, "invite")] {
            let id = made.json["id"]?.string ?? ""
            #expect(try await types(id, as: .tenantAdmin(acme)) == [type])
            #expect(try await types(id, as: .tenantAdmin(try #require(other))) == [])
        }
        #expect(try await types("\(acme.id)", as: .platformOwner) == ["tenant"])
        let weak = try await service.send(
            .post, "/v1/tenants/acme/api-keys", json: #"{"name":"r","scopes":["users:read"]}"#,
            as: .platformOwner)
        let secret = try #require(weak.json["key"]?.string)
        #expect(try await types("zebra", as: .bearer(secret)) == ["user"])
        #expect(try await service.send(.get, "/v1/search?q=a").status == 401)
    }

    @Test func `the search finds domains and origins, and a verified domain from outside`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        func names(_ query: String, as who: TestService.Credential) async throws -> [String] {
            let answer = try await service.send(.get, "/v1/search?q=\(query)", as: who)
            return answer.json["items"]?.array?.compactMap { $0["name"]?.string } ?? []
        }
        let made = try await service.manage(
            .post, "/v1/tenants/acme/domains", #"{"domain":"Zebra.example"}"#)
        _ = try await service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"https://app.zebra.example"}"#)
        let both = ["zebra.example", "https://app.zebra.example"]
        #expect(try await names("zebra.EX", as: .tenantAdmin(acme)) == both)
        #expect(try await names("zebra&tenant=acme", as: .platformOwner) == both)
        #expect(try await names("zebra", as: .tenantAdmin(other)) == [])
        #expect(try await names("zebra.example", as: .platformOwner) == [])
        let id = try #require(made["id"]?.string)
        _ = try await service.manage(
            .post, "/v1/tenants/acme/domains/\(id)/verify", #"{"method":"operator"}"#)
        #expect(try await names("ZEBRA.example", as: .platformOwner) == ["zebra.example"])
        #expect(try await names("zebra.example", as: .tenantAdmin(other)) == [])
        let support = try await service.session(role: .support, tenant: acme.id)
        #expect(try await names("zebra", as: .session(support)) == [])
        let list = try await service.send(
            .get, "/v1/tenants/acme/domains?q=ebra", as: .platformOwner)
        #expect(list.json["total"]?["value"]?.int == 1)
    }
}
