import API
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct TenantTests {
    @Test func `a tenant is made, renamed, suspended, resumed, deleted and restored`() async throws
    {
        let service = try await TestService.make()
        let made = try await service.send(
            .post, "/v1/tenants", json: #"{"slug":"acme","name":"Acme"}"#, as: .platformOwner)
        #expect(made.status == 201)
        #expect(made.json["slug"]?.string == "acme")
        #expect(made.json["status"]?.string == "active")
        let etag = try #require(made.first("etag"))
        let renamed = try await service.send(
            .patch, "/v1/tenants/acme", json: #"{"name":"Acme & Co"}"#, as: .platformOwner,
            fields: [.init("if-match", etag)])
        #expect(renamed.status == 200)
        #expect(renamed.json["name"]?.string == "Acme & Co")
        let stale = try await service.send(
            .patch, "/v1/tenants/acme", json: #"{"name":"Other"}"#, as: .platformOwner,
            fields: [.init("if-match", etag)])
        #expect(stale.status == 412)
        for (verb, status) in [("suspend", "suspended"), ("resume", "active")] {
            let answer = try await service.send(
                .post, "/v1/tenants/acme/\(verb)", as: .platformOwner)
            #expect(answer.json["status"]?.string == status)
        }
        #expect(
            try await service.send(.delete, "/v1/tenants/acme", as: .platformOwner).status == 204)
        let restored = try await service.send(
            .post, "/v1/tenants/acme/restore", as: .platformOwner)
        #expect(restored.json["status"]?.string == "active")
    }

    @Test func `a slug is given once, and bad fields are named all at once`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let taken = try await service.send(
            .post, "/v1/tenants", json: #"{"slug":"acme","name":"Acme"}"#, as: .platformOwner)
        #expect(taken.status == 409)
        let bad = try await service.send(
            .post, "/v1/tenants", json: #"{"slug":"A","color":1}"#, as: .platformOwner)
        #expect(bad.status == 422)
        let pointers = (bad.json["errors"]?.array ?? []).compactMap { $0["pointer"]?.string }
        #expect(Set(pointers) == ["/slug", "/name", "/color"])
    }

    @Test func `the platform lists tenants by name, with how many users each has`() async throws {
        let service = try await TestService.make()
        for (slug, name) in [("c", "gamma"), ("b", "Beta"), ("a", "ALPHA"), ("d", "Ålesund")] {
            let made = try await service.send(
                .post, "/v1/tenants", json: #"{"slug":"\#(slug)-1","name":"\#(name)"}"#,
                as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
        }
        for email in ["ada@b.example", "bob@b.example"] {
            _ = try await service.send(
                .post, "/v1/tenants/b-1/users", json: #"{"email":"\#(email)"}"#, as: .platformOwner)
        }
        func names(_ query: String) async throws -> [String] {
            let list = try await service.send(.get, "/v1/tenants?" + query, as: .platformOwner)
            return list.json["items"]?.array?.compactMap { $0["name"]?.string } ?? []
        }
        #expect(try await names("sort=name") == ["ALPHA", "Beta", "gamma", "Ålesund"])
        #expect(try await names("sort=-name&limit=2") == ["Ålesund", "gamma"])
        let list = try await service.send(
            .get, "/v1/tenants?sort=name&limit=2", as: .platformOwner)
        #expect(list.json["items"]?.array?.map { $0["users"]?["value"]?.int ?? -1 } == [0, 2])
        #expect(list.json["items"]?.array?.last?["users"]?["exact"]?.bool == true)
        let cursor = try #require(list.json["next_cursor"]?.string)
        #expect(try await names("sort=name&limit=2&cursor=\(cursor)") == ["gamma", "Ålesund"])
        let one = try await service.send(.get, "/v1/tenants/b-1", as: .platformOwner)
        #expect(one.json["users"] == nil)
    }

    @Test func `a tenant's operator sees that tenant alone`() async throws {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let own = try await service.send(.get, "/v1/tenants/acme", as: .tenantAdmin(acme))
        #expect(own.status == 200)
        for path in ["other", other.id.description, "nobody"] {
            let foreign = try await service.send(
                .get, "/v1/tenants/\(path)", as: .tenantAdmin(acme))
            #expect(foreign.status == 404)
        }
        let list = try await service.send(.get, "/v1/tenants", as: .tenantAdmin(acme))
        #expect(list.json["items"]?.array?.count == 1)
        #expect(try await service.send(.get, "/v1/tenants").status == 401)
    }
}
