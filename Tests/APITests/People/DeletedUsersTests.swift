import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Deleted users, over the days.
@Suite(.serialized, .cleansUp) struct DeletedUsersTests {
    @Test func `a user is restored to the last moment of 30 days, and purged after it`()
        async throws
    {
        let fixture = try await DeletionFixture.make()
        let id = try await fixture.make("ada@example.com")
        try await fixture.delete(id)
        fixture.clock.advance(seconds: DeletionFixture.days - 1)
        #expect(try await fixture.sweep() == 0)
        let restored = try await fixture.send(.post, "/users/\(id)/restore")
        #expect(restored.json["status"]?.string == "pending", "\(restored.text)")
        try await fixture.delete(id)
        fixture.clock.advance(seconds: DeletionFixture.days)
        let late = try await fixture.send(.post, "/users/\(id)/restore")
        #expect(late.status == 409)
        #expect(late.json["code"]?.string == "conflict")
        #expect(late.json["detail"]?.string?.contains("30 or more days") == true, "\(late.text)")
        #expect(try await fixture.sweep() == 1)
        #expect(try await fixture.send(.get, "/users/\(id)").status == 404)
        #expect(try await fixture.send(.post, "/users/\(id)/restore").status == 404)
        #expect(try await fixture.make("ada@example.com") != id)
        #expect(try await fixture.sweep() == 0)
        let events = try await fixture.service.storage.scope(fixture.tenant.id).read(
            """
            SELECT actor_type, target_id, target_name FROM audit_events
            WHERE tenant_id = \(fixture.tenant.id) AND action = 'user.purged'
            """)
        #expect(events.count == 1)
        #expect(try events[0].get(0, as: String.self) == "system")
        #expect(try events[0].get(1, as: String.self) == id)
        #expect(try events[0].get(2, as: String.self) == "")
    }

    @Test func `the days count from the deletion, whatever is asked for afterwards`() async throws {
        let fixture = try await DeletionFixture.make()
        let id = try await fixture.make("ada@example.com")
        try await fixture.delete(id)
        fixture.clock.advance(seconds: DeletionFixture.days / 2)
        try await fixture.delete(id)
        for (verb, json) in [("suspend", "{}"), ("resume", "{}"), ("approve", "{}")] {
            #expect(try await fixture.send(.post, "/users/\(id)/\(verb)", json).status == 409)
        }
        #expect(
            try await fixture.send(.patch, "/users/\(id)", #"{"name":"Eve"}"#).status == 409)
        _ = try await fixture.send(.delete, "/users/\(id)/sessions")
        fixture.clock.advance(seconds: DeletionFixture.days / 2)
        #expect(try await fixture.sweep() == 1)
    }

    @Test func `the sweep purges deleted users of every tenant in several batches, and no others`()
        async throws
    {
        let fixture = try await DeletionFixture.make()
        let other = try await fixture.service.makeTenant("other")
        let (living, young) = (
            try await fixture.make("living@example.com"),
            try await fixture.make("young@example.com")
        )
        let now = fixture.clock.now
        try await fixture.administrator { administrator in
            for (tenant, many) in [(fixture.tenant.id, 130), (other.id, 7)] {
                try await administrator.query(
                    """
                    INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                        created_at, updated_at, deleted_at)
                    SELECT \(tenant), gen_random_uuid(), n || '@x.example', n || '@x.example',
                        'member', 'deleted', 'operator', \(now), \(now), \(now)
                    FROM generate_series(1, \(many)) n
                    """)
            }
        }
        fixture.clock.advance(seconds: DeletionFixture.days)
        try await fixture.delete(young)
        #expect(try await fixture.sweep() == 137)
        let left = try await fixture.administrator { try await $0.read("SELECT id FROM users") }
        #expect(
            Set(try left.map { try $0.get(0, as: UUID.self).description }) == [living, young])
    }

    @Test
    func `after a purge by age the records keep only the user's id`()
        async throws
    {
        let fixture = try await DeletionFixture.make()
        let service = fixture.service
        let password = "correct horse battery"
        let user = try await service.makeUser(
            "ada.gone@example.com", name: "Ada Gone", password: password, in: fixture.tenant)
        let path = "/v1/tenants/acme/users/\(user.id)"
        try await service.manage(
            .post, "\(path)/identities",
            #"{"provider":"google","issuer":"https://g.example","subject":"gone-subject"}"#)
        try await service.manage(.post, "\(path)/link-grants", "{}")
        try await service.manage(
            .post, "/v1/tenants/acme/api-keys",
            #"{"name":"own","scopes":["users:read"],"owner":{"type":"user","id":"\#(user.id)"}}"#
        )
        try await service.manage(
            .post, "/v1/providers", #"{"kind":"google","name":"Google","client_id":"web"}"#)
        try await service.manage(
            .post, "/v1/hooks/pre-signup",
            #"{"provider":"google","subject":"gone-subject","email":"ada.gone@example.com","#
                + #""email_verified":true}"#)
        try await fixture.delete(user.id.description)
        fixture.clock.advance(seconds: DeletionFixture.days)
        #expect(try await fixture.sweep() == 1)
        let storage = service.storage
        let keys = [
            storage.personKey(emailKey: "ada.gone@example.com"),
            storage.personKey(
                provider: "google", issuer: "https://g.example", subject: "gone-subject"),
        ]
        #expect(try await fixture.tables(with: ["ada.gone@", "Ada Gone", "gone-subject"]) == [])
        // What a sign-in locks, and by what the person is refused; the directory has no row.
        let kept = ["provisioning_locks", "tombstones"]
        #expect(try await fixture.tables(with: keys.map(Hex.encode)) == kept)
        let about = try await fixture.tables(with: [user.id.description])
        #expect(about == ["api_keys", "audit_events", "decisions"])
    }
}
