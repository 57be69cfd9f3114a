import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What the platform and a tenant keep of the tenant itself.
@Suite(.cleansUp) struct TenantAttributesTests {
    private let whole =
        #"{"slug":"acme","name":"Acme","external_id":"account-17","public_attributes":{"plan":"team"},"#
        + #""private_attributes":{"credit":{"limit":7}}}"#

    @Test func `a tenant is made with an external id and attributes, and found by the id`()
        async throws
    {
        let service = try await TestService.make()
        let made = try await service.send(.post, "/v1/tenants", json: whole, as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["public_attributes"] == .object([.init("plan", .string("team"))]))
        try await service.makeTenant("other")
        let found = try await service.send(
            .get, "/v1/tenants?external_id=account-17", as: .platformOwner)
        let items = try #require(found.json["items"]?.array)
        #expect(items.map { $0["slug"] } == [.string("acme")])
        #expect(items[0]["private_attributes"] == made.json["private_attributes"])
        let none = try await service.send(
            .get, "/v1/tenants?external_id=account", as: .platformOwner)
        #expect(none.json["items"] == .array([]))
        let read = try await service.send(.get, "/v1/tenants/acme", as: .platformOwner)
        #expect(read.json == made.json)
    }

    @Test func `an external id is one tenant's`() async throws {
        let service = try await TestService.make()
        let first = try await service.send(.post, "/v1/tenants", json: whole, as: .platformOwner)
        let second = try await service.send(
            .post, "/v1/tenants", json: #"{"slug":"b-2","name":"B","external_id":"account-17"}"#,
            as: .platformOwner)
        #expect(second.status == 409 && second.json["conflicting_id"] == first.json["id"])
        try await service.makeTenant("other")
        let taken = try await service.send(
            .patch, "/v1/tenants/other", json: #"{"external_id":"account-17"}"#, as: .platformOwner)
        #expect(taken.status == 409 && taken.json["conflicting_id"] == first.json["id"])
        let own = try await service.send(
            .patch, "/v1/tenants/acme", json: #"{"external_id":"account-17","name":"A"}"#,
            as: .platformOwner)
        #expect(own.status == 200, "\(own.text)")
        let cleared = try await service.send(
            .patch, "/v1/tenants/acme", json: #"{"external_id":null}"#, as: .platformOwner)
        #expect(cleared.json["external_id"] == .null)
        let given = try await service.send(
            .patch, "/v1/tenants/other", json: #"{"external_id":"account-17"}"#, as: .platformOwner)
        #expect(given.status == 200, "\(given.text)")
    }

    @Test func `a tenant may change its attributes but not its external id`() async throws {
        let service = try await TestService.make()
        _ = try await service.send(.post, "/v1/tenants", json: whole, as: .platformOwner)
        let id = try #require(try await service.storage.tenant("acme")?.id)
        let key = try await service.send(
            .post, "/v1/tenants/acme/api-keys",
            json: #"{"name":"k","scopes":["tenants:write","tenants:read"]}"#, as: .platformOwner)
        let own = TestService.Credential.bearer(try #require(key.json["key"]?.string))
        let path = "/v1/tenants/acme"
        let changed = try await service.send(
            .patch, path, json: #"{"public_attributes":{"plan":null,"seats":3}}"#, as: own)
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json["public_attributes"] == .object([.init("seats", .int(3))]))
        #expect(changed.json["name"]?.string == "Acme")
        let again = try await service.send(
            .patch, path, json: #"{"public_attributes":{"seats":3},"external_id":"account-17"}"#,
            as: own)
        #expect(again.first("etag") == changed.first("etag"), "\(again.text)")
        for json in [#"{"external_id":"x"}"#, #"{"external_id":null}"#] {
            let refused = try await service.send(.patch, path, json: json, as: own)
            #expect(refused.status == 403, "\(refused.text)")
        }
        let deep = try await service.send(
            .patch, path, json: #"{"private_attributes":{"a":[[[[[]]]]]}}"#, as: own)
        #expect(deep.status == 422, "\(deep.text)")
        let rows = try await service.storage.scope(id).read(
            """
            /* test */ SELECT count(*) FROM audit_events WHERE tenant_id = \(id)
                AND action = 'tenant.updated'
                AND changes = '{"public_attributes": [null, ["plan", "seats"]]}'
            """)
        #expect(try rows[0].get(0, as: Int.self) == 1)
    }

    @Test func `a member of a tenant does not see its private attributes`() async throws {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        let service = fixture.base.service
        let set = try await service.send(
            .patch, "/v1/tenants/acme",
            json: #"{"public_attributes":{"a":1},"private_attributes":{"b":2}}"#, as: .platformOwner
        )
        #expect(set.status == 200, "\(set.text)")
        let member = try #require(fixture.people[.member])
        let key = try await fixture.key(RightsFixture.every, owner: member)
        for path in ["/v1/tenants/acme", "/v1/tenants"] {
            let answer = try await service.send(.get, path, as: .bearer(key))
            #expect(answer.text.contains(#""public_attributes":{"a":1}"#), "\(answer.text)")
            #expect(!answer.text.contains("private_attributes"), "\(answer.text)")
        }
    }
}
