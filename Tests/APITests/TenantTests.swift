import API
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

struct TenantTests {
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
        await service.stop()
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
        await service.stop()
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
        await service.stop()
    }
}
