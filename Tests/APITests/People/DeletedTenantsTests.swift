import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Deleted tenants, over the days.
@Suite(.serialized, .cleansUp) struct DeletedTenantsTests {
    @Test func `a tenant is restored to the last moment of 30 days and not after it`() async throws
    {
        let fixture = try await DeletionFixture.make()
        #expect(try await fixture.send(.delete, "").status == 204)
        fixture.clock.advance(seconds: DeletionFixture.days - 1)
        let restored = try await fixture.send(.post, "/restore")
        #expect(restored.json["status"]?.string == "active", "\(restored.text)")
        #expect(try await fixture.send(.delete, "").status == 204)
        fixture.clock.advance(seconds: DeletionFixture.days)
        let late = try await fixture.send(.post, "/restore")
        #expect(late.status == 409)
        #expect(late.json["code"]?.string == "conflict")
        #expect(late.json["detail"]?.string?.contains("30 or more days") == true, "\(late.text)")
    }

    @Test func `the days count from the deletion, whatever is changed afterwards`() async throws {
        let fixture = try await DeletionFixture.make()
        #expect(try await fixture.send(.delete, "").status == 204)
        fixture.clock.advance(seconds: DeletionFixture.days / 2)
        let renamed = try await fixture.send(.patch, "", #"{"name":"Late"}"#)
        #expect(renamed.json["name"]?.string == "Late", "\(renamed.text)")
        #expect(renamed.json["status"]?.string == "deleted")
        #expect(try await fixture.send(.delete, "").status == 204)
        for verb in ["suspend", "resume"] {
            #expect(try await fixture.send(.post, "/\(verb)").status == 409)
        }
        fixture.clock.advance(seconds: DeletionFixture.days / 2)
        #expect(try await fixture.send(.post, "/restore").status == 409)
    }

    @Test func `only a deleted tenant can be purged, after a confirmation, and nothing remains`()
        async throws
    {
        let fixture = try await DeletionFixture.make()
        let response = try await fixture.send(.delete, "?purge=true")
        #expect(response.status == 409)
        #expect(response.json["code"]?.string == "conflict", "\(response.text)")
        #expect(response.json["detail"]?.string?.contains("delete it first") == true)
        #expect(try await fixture.send(.delete, "").status == 204)
        let confirm = try await fixture.confirm()
        for wrong in ["no", confirm + "x"] {
            let answer = try await fixture.send(.delete, "?purge=true&confirm=\(wrong)")
            #expect(answer.json["code"]?.string == "confirm_required")
        }
        // Bound to the tenant as it was read.
        #expect(try await fixture.send(.patch, "", #"{"name":"Late"}"#).status == 200)
        #expect(try await fixture.send(.delete, "?purge=true&confirm=\(confirm)").status == 409)
        let path = try await "?purge=true&confirm=\(fixture.confirm())"
        #expect(try await fixture.send(.delete, path).status == 204)
        for method in [Method.get, .delete] {
            #expect(try await fixture.send(method, "").status == 404)
        }
        for path in ["/\(fixture.tenant.id)", "/\(fixture.tenant.id)/users"] {
            let answer = try await fixture.service.send(
                .get, "/v1/tenants" + path, as: .platformOwner)
            #expect(answer.status == 404)
        }
        #expect(try await fixture.send(.post, "/restore").status == 404)
        #expect(try await fixture.send(.delete, path).status == 404)
        let list = try await fixture.service.send(.get, "/v1/tenants", as: .platformOwner)
        #expect(list.json["items"]?.array?.count == 0)
        let events = try await fixture.service.send(
            .get, "/v1/audit-events?action=tenant.", as: .platformOwner)
        let items = events.json["items"]?.array ?? []
        let actions = items.compactMap { $0["action"]?.string }
        #expect(
            actions.sorted() == [
                "tenant.created", "tenant.deleted", "tenant.purge_begun", "tenant.purged",
                "tenant.updated",
            ])
        for item in items where item["action"]?.string?.hasPrefix("tenant.purge") == true {
            #expect(item["actor"]?["type"]?.string == "key")
        }
    }

    @Test func `the slug is never given again, and hosts and domains are anybody's`() async throws {
        let fixture = try await DeletionFixture.make()
        let service = fixture.service
        let other = try await service.makeTenant("other")
        func bind(_ slug: String) async throws -> Int {
            try await service.send(
                .put, "/v1/tenants/\(slug)/clients/relate",
                json: #"{"enabled":true,"hosts":["app.acme.example"]}"#, as: .platformOwner,
                fields: [.init("if-match", "*")]
            ).status
        }
        func claim(_ tenant: TenantRow) async throws -> Bool {
            try await service.storage.scope(tenant.id).change(by: .system) { change in
                try await change.query("SELECT directory_claim('domain', 'acme.example')")[0]
                    .get(0, as: Bool.self)
            }
        }
        #expect(try await bind("acme") == 200)
        #expect(try await claim(fixture.tenant))
        #expect(try await bind("other") == 409)
        #expect(try await !claim(other))
        #expect(try await fixture.send(.delete, "").status == 204)
        let path = try await "?purge=true&confirm=\(fixture.confirm())"
        #expect(try await fixture.send(.delete, path).status == 204)
        #expect(try await bind("other") == 200)
        #expect(try await claim(other))
        let again = try await fixture.service.send(
            .post, "/v1/tenants", json: #"{"slug":"acme","name":"New"}"#, as: .platformOwner)
        #expect(again.status == 409, "\(again.text)")
    }

    @Test func `a purge is for the platform's owners and admins`() async throws {
        let fixture = try await DeletionFixture.make()
        let service = fixture.service
        func delete(_ token: String, _ query: String) async throws -> Int {
            try await service.send(
                .delete, "/v1/tenants/acme\(query)", as: .session(token)
            ).status
        }
        let own = try await service.session(role: .owner, tenant: fixture.tenant.id)
        let admin = try await service.session(role: .admin, tenant: nil)
        #expect(try await delete(own, "?purge=true") == 403)
        #expect(try await delete(admin, "") == 403)
        for role in [Operator.Role.developer, .support, .auditor] {
            let token = try await service.session(role: role, tenant: nil)
            #expect(try await delete(token, "?purge=true") == 403)
        }
        #expect(try await delete(own, "") == 204)
        #expect(try await delete(own, "?purge=true") == 401)
        #expect(try await delete(admin, "?purge=true&confirm=\(fixture.confirm())") == 204)
    }

    @Test func `keys and sessions of a purged tenant are refused, and counted nowhere`()
        async throws
    {
        let fixture = try await DeletionFixture.make()
        let service = fixture.service
        let replica = try service.replica()
        let made = try await service.manage(
            .post, "/v1/tenants/acme/api-keys", #"{"name":"own","scopes":["users:read"]}"#)
        let key = try #require(made["key"]?.string)
        let session = try await service.session(role: .admin, tenant: fixture.tenant.id)
        func ask(_ who: TestService.Credential, _ at: Composition?) async throws -> Int {
            try await service.send(.get, "/v1/tenants/acme/users", as: who, to: at).status
        }
        for place in [nil, replica] {
            for who in [TestService.Credential.bearer(key), .session(session)] {
                #expect(try await ask(who, place) == 200)
            }
        }
        #expect(try await fixture.send(.delete, "").status == 204)
        let path = try await "?purge=true&confirm=\(fixture.confirm())"
        #expect(try await fixture.send(.delete, path).status == 204)
        for place in [nil, replica] {
            for who in [TestService.Credential.bearer(key), .session(session)] {
                #expect(try await ask(who, place) == 401)
            }
        }
        await service.storage.writeKeyUses()
        await replica.application.database.writeKeyUses()
        #expect(
            try await fixture.tables(with: [fixture.tenant.id.description]) == [
                "audit_events", "directory_locators", "directory_slugs",
            ])
    }

    @Test func `a tenant is purged automatically 30 days after its deletion`() async throws {
        let fixture = try await DeletionFixture.make()
        _ = try await fixture.make("ada@example.com")
        #expect(try await fixture.send(.delete, "").status == 204)
        fixture.clock.advance(seconds: DeletionFixture.days - 1)
        #expect(try await fixture.sweep("tenants") == 0)
        #expect(try await fixture.send(.get, "").json["status"]?.string == "deleted")
        fixture.clock.advance(seconds: 1)
        #expect(try await fixture.sweep("tenants") == 1)
        #expect(try await fixture.send(.get, "").status == 404)
        #expect(try await fixture.tables(with: ["ada@example.com"]) == [])
    }
}
