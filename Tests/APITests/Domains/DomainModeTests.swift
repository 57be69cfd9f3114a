import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The mode and the role of a domain.
@Suite(.cleansUp) struct DomainModeTests {
    private static let domains = "/v1/tenants/acme/domains"

    private static func verified(
        _ fixture: JoinFixture, _ json: String = #"{"domain":"ex.com"}"#
    ) async throws -> String {
        let made = try await fixture.send(.post, domains, json)
        let id = try #require(made.json["id"]?.string, "\(made.text)")
        try await fixture.service.manage(
            .post, "\(domains)/\(id)/verify", #"{"method":"operator"}"#)
        return id
    }

    private static func asks(_ fixture: JoinFixture, _ email: String) async throws -> JSONValue {
        try await fixture.asks(email, more: #","claims":{"hd":"ex.com"}"#).json
    }

    @Test func `D11 D12 a domain's people join, ask or need an invite, whatever the policy says`()
        async throws
    {
        let fixture = try await JoinFixture.make(policy: "{}")
        let id = try await Self.verified(fixture)
        let shown = try await fixture.send(.get, "\(Self.domains)/\(id)").json
        #expect(shown["mode"]?.isNull == true && shown["role"]?.isNull == true)
        #expect(try await Self.asks(fixture, "a@ex.com")["reason"]?.string == "not_invited")
        let joins = try await fixture.send(
            .patch, "\(Self.domains)/\(id)", #"{"mode":"join","role":"manager"}"#)
        #expect(joins.status == 200, "\(joins.text)")
        let ann = try await Self.asks(fixture, "ann@ex.com")
        #expect(ann["user"]?["status"]?.string == "active", "\(ann)")
        #expect(ann["user"]?["role"]?.string == "manager")
        _ = try await fixture.send(.patch, "\(Self.domains)/\(id)", #"{"mode":"ask"}"#)
        let bob = try await Self.asks(fixture, "bob@ex.com")
        #expect(bob["user"]?["status"]?.string == "pending", "\(bob)")
        #expect(bob["user"]?["role"]?.string == "manager")
        #expect(try await fixture.publish(#"{"sign_up":"open"}"#).status == 200)
        _ = try await fixture.send(
            .patch, "\(Self.domains)/\(id)", #"{"mode":"invite_only","role":null}"#)
        #expect(try await Self.asks(fixture, "cid@ex.com")["reason"]?.string == "not_invited")
        _ = try await fixture.send(.patch, "\(Self.domains)/\(id)", #"{"mode":null}"#)
        let dan = try await Self.asks(fixture, "dan@ex.com")
        #expect(dan["user"]?["role"]?.string == "member", "\(dan)")
        _ = try await fixture.send(.patch, "\(Self.domains)/\(id)", #"{"mode":"join"}"#)
        #expect(try await fixture.publish(#"{"sign_up":"closed"}"#).status == 200)
        #expect(try await Self.asks(fixture, "eve@ex.com")["reason"]?.string == "not_invited")
    }

    @Test func `D14 a tenant has a thousand claims, and another tenant its own`() async throws {
        let fixture = try await JoinFixture.make(policy: "{}")
        let service = fixture.service
        try await service.database.client(as: service.database.administrator).query(
            """
            INSERT INTO domains (tenant_id, id, domain, display, token, created_at)
            SELECT id, gen_random_uuid(), 'd' || n || '.com', 'd' || n || '.com', n::text, now()
            FROM tenants, generate_series(2, \(TenantDomain.most)) AS n WHERE slug = 'acme'
            """)
        let last = try await fixture.send(.post, Self.domains, #"{"domain":"last.com"}"#)
        #expect(last.status == 201, "\(last.text)")
        let over = try await fixture.send(.post, Self.domains, #"{"domain":"over.com"}"#)
        #expect(over.status == 409 && over.json["code"]?.string == "conflict", "\(over.text)")
        #expect(over.json["detail"]?.string?.contains("delete one first") == true)
        // Nothing is left of it; a claim that is there is named as ever.
        let again = try await fixture.send(.post, Self.domains, #"{"domain":"last.com"}"#)
        #expect(again.status == 409 && again.text.contains(last.json["id"]?.string ?? "none"))
        try await service.makeTenant("other")
        try await service.manage(.post, "/v1/tenants/other/domains", #"{"domain":"over.com"}"#)
        let path = "\(Self.domains)/\(last.json["id"]?.string ?? "")"
        #expect(try await fixture.send(.delete, path).status == 204)
        let next = try await fixture.send(.post, Self.domains, #"{"domain":"over.com"}"#)
        #expect(next.status == 201, "\(next.text)")
    }

    @Test func `a domain is made with a mode, and changed under If-Match with an audit event`()
        async throws
    {
        let fixture = try await JoinFixture.make(policy: "{}")
        let made = try await fixture.send(
            .post, Self.domains, #"{"domain":"ex.com","mode":"ask","role":"member"}"#)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["mode"]?.string == "ask" && made.json["role"]?.string == "member")
        let path = "\(Self.domains)/\(made.json["id"]?.string ?? "")"
        let etag = try #require(made.first("etag"))
        fixture.clock.advance(seconds: 1)
        // What GET gave may come back; what is read-only does not change.
        let same = try await fixture.send(.patch, path, made.text)
        #expect(same.status == 200 && same.first("etag") == etag, "\(same.text)")
        let changed = try await fixture.send(
            .patch, path, #"{"mode":"join"}"#, fields: [Field("if-match", etag)])
        #expect(changed.json["mode"]?.string == "join" && changed.json["role"]?.string == "member")
        #expect(changed.first("etag") != etag)
        let stale = try await fixture.send(
            .patch, path, #"{"mode":"ask"}"#, fields: [Field("if-match", etag)])
        #expect(stale.status == 412, "\(stale.text)")
        for json in [
            #"{"mode":"open"}"#, #"{"role":"admin"}"#, #"{"domain":"other.com"}"#,
            #"{"include_subdomains":true}"#, #"{"modes":"ask"}"#,
        ] {
            let refused = try await fixture.send(.patch, path, json)
            #expect(refused.status == 422, "\(json) \(refused.text)")
        }
        #expect(
            try await fixture.send(.patch, "\(Self.domains)/\(UUID.random())", "{}").status == 404)
        let events = try await fixture.send(
            .get, "/v1/tenants/acme/audit-events?action=domain.updated")
        #expect(events.json["items"]?.array?.count == 1)
        let changes = events.json["items"]?.array?.first?["changes"]?["mode"]
        #expect(changes?.array?.map(\.string) == ["ask", "join"], "\(events.text)")
    }
}
