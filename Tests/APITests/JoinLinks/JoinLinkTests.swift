import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// `/v1/tenants/{tenant}/join-links`, as operators and keys call it.
@Suite(.cleansUp) struct JoinLinkTests {
    private func errors(_ answer: TestAnswer) -> [String] {
        (answer.json["errors"]?.array ?? []).compactMap { $0["pointer"]?.string }
    }

    @Test func `a link is made with its address, which is shown once, and stored as a hash`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let made = try await fixture.made(#"{"max_uses":3,"domains":["Ex.COM","ex.com"]}"#)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.first("cache-control") == "no-store")
        let id = try #require(made.json["id"]?.string)
        #expect(made.first("location") == "/v1/tenants/\(fixture.tenant.id)/join-links/\(id)")
        let url = try #require(made.json["url"]?.string)
        #expect(url.hasPrefix("http://gatehouse.test/join#token=\(fixture.tenant.locator)"))
        #expect(made.json["role"]?.string == "member")
        #expect(made.json["domains"] == .array([.string("ex.com")]))
        #expect(made.json["max_uses"]?.int == 3)
        #expect(made.json["uses"]?.int == 0)
        #expect(made.json["status"]?.string == "active")
        #expect(made.json["created_by"]?["type"]?.string == "operator")
        let shown = try await fixture.service.send(
            .get, "\(ProvisioningFixture.links)/\(id)", as: .platformOwner)
        #expect(shown.json["url"] == nil)
        #expect(shown.first("etag") == made.first("etag"))
        let list = try await fixture.service.send(
            .get, ProvisioningFixture.links, as: .platformOwner)
        #expect(list.json["items"]?.array == [shown.json])
        let token = url.split(separator: "#token=").last.map(String.init) ?? ""
        for table in ["join_links", "audit_events"] {
            #expect(
                try await fixture.count(
                    "\(raw: table) t WHERE position(\(token) IN t::text) > 0") == 0)
        }
        #expect(try await fixture.count("audit_events WHERE action = 'join_link.created'") == 1)
    }

    @Test func `without a body a link takes a hundred people for a week`() async throws {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let made = try await fixture.made()
        #expect(made.json["max_uses"]?.int == 100)
        #expect(made.json["domains"] == .array([]))
        #expect(
            made.json["expires_at"]?.string == clock.now.adding(seconds: 7 * 86_400).description)
    }

    @Test func `a link says at how many providers its people can sign in`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let made = try await fixture.made()
        let before = made.json["providers"]?.int ?? -1
        let provider = try await fixture.service.send(
            .post, "/v1/providers",
            json: """
                {"kind":"oidc","name":"Acme","issuer":"https://id.acme.example","client_id":"x",
                 "tenant":"\(fixture.tenant.id)"}
                """, as: .platformOwner)
        #expect(provider.status == 201, "\(provider.text)")
        let list = try await fixture.service.send(
            .get, ProvisioningFixture.links, as: .platformOwner)
        #expect(list.json["items"]?.array?.first?["providers"]?.int == before + 1, "\(list.text)")
        let id = made.json["id"]?.string ?? ""
        let revoked = try await fixture.service.send(
            .post, "\(ProvisioningFixture.links)/\(id)/revoke", as: .platformOwner)
        #expect(revoked.json["providers"]?.int == before + 1, "\(revoked.text)")
    }

    @Test func `every fault of a link is named at once`() async throws {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let bad = try await fixture.made(
            #"{"max_uses":0,"domains":["ok.example","not a domain"],"uses":1,"role":"admin"}"#)
        #expect(bad.status == 422)
        #expect(Set(errors(bad)) == ["/max_uses", "/domains/1", "/uses", "/role"])
        #expect(try await fixture.made(#"{"max_uses":10001}"#).status == 422)
        for seconds in [299, 90 * 86_400 + 2] as [Int64] {
            let end = clock.now.adding(seconds: seconds)
            let answer = try await fixture.made(
                #"{"expires_at":"\#(end)","return_to":"https://stranger.example/"}"#)
            #expect(answer.status == 422)
            #expect(errors(answer) == ["/expires_at", "/return_to"])
        }
        #expect(try await fixture.count("join_links") == 0)
    }

    @Test func `twenty links of a tenant are live at once, and those that ended do not count`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        var ids: [String] = []
        for _ in 0..<JoinLink.mostLive { ids.append(try await fixture.joinLink().id) }
        let over = try await fixture.made()
        #expect(over.status == 409, "\(over.text)")
        #expect(over.json["code"]?.string == "conflict")
        // Another tenant has its own.
        try await fixture.service.makeTenant("other")
        let other = try await fixture.service.send(
            .post, "/v1/tenants/other/join-links", json: "{}", as: .platformOwner)
        #expect(other.status == 201)
        try await fixture.revoke(ids[0])
        #expect(try await fixture.made().status == 201)
        #expect(try await fixture.made().status == 409)
    }

    @Test func `many links made at once stay within the limit`() async throws {
        let fixture = try await ProvisioningFixture.make()
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        var statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<30 { group.addTask { try await fixture.made().status } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        // They wait for each other, on a busy machine for longer than for a connection: 503, and
        // nothing is done.
        let unanswered = statuses.count { $0 == 503 }
        for _ in 0..<unanswered { statuses.append(try await fixture.made().status) }
        #expect(statuses.count { $0 == 201 } == JoinLink.mostLive, "\(statuses)")
        #expect(statuses.count { $0 == 409 } == 10, "\(statuses)")
    }

    @Test func `another tenant's link is a 404, and so is one that is not there`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, _) = try await fixture.joinLink()
        let other = try await fixture.service.makeTenant("other")
        for path in [
            "/v1/tenants/other/join-links/\(id)", "\(ProvisioningFixture.links)/\(UUID.random())",
        ] {
            #expect(try await fixture.service.send(.get, path, as: .platformOwner).status == 404)
            let revoked = try await fixture.service.send(
                .post, path + "/revoke", as: .platformOwner)
            #expect(revoked.status == 404)
        }
        let foreign = try await fixture.service.send(
            .get, ProvisioningFixture.links, as: .tenantAdmin(other))
        #expect(foreign.status == 404)
        #expect(try await fixture.shown(id)["status"]?.string == "active")
    }

    @Test func `a second revocation changes nothing, and a closed tenant makes no link`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let (id, _) = try await fixture.joinLink()
        try await fixture.revoke(id)
        try await fixture.revoke(id)
        #expect(try await fixture.shown(id)["status"]?.string == "revoked")
        #expect(try await fixture.count("audit_events WHERE action = 'join_link.revoked'") == 1)
        let closed = try await ProvisioningFixture.make(policy: #"{"sign_up":"closed"}"#)
        let answer = try await closed.made()
        #expect(answer.status == 409)
        #expect(answer.json["code"]?.string == "sign_up_closed")
    }

    @Test func `the same Idempotency-Key makes one link and shows the same address`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let key = [Field("idempotency-key", "once")]
        let answers = [
            try await fixture.service.send(
                .post, ProvisioningFixture.links, json: "{}", as: .platformOwner, fields: key),
            try await fixture.service.send(
                .post, ProvisioningFixture.links, json: "{}", as: .platformOwner, fields: key),
        ]
        #expect(answers.map(\.status) == [201, 201])
        #expect(answers[0].json["url"] == answers[1].json["url"])
        #expect(try await fixture.count("join_links") == 1)
    }

    @Test func `a user's own link is named without them once they are purged`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let user = try await fixture.service.makeUser(
            "ann@ex.com", name: "Ann", role: .manager, password: "a sentence that is long",
            in: fixture.tenant)
        try await fixture.service.storage.scope(fixture.tenant.id).change(
            by: Actor(
                type: "user", id: user.id.description, name: "Ann", requestID: "", ip: nil)
        ) { change in
            _ = try await change.makeJoinLink(
                JoinLinkRequest(
                    domains: [], maxUses: 1, expiresAt: change.now.adding(seconds: 3600),
                    returnTo: nil))
        }
        let path = "/v1/tenants/acme/users/\(user.id)?purge=true"
        let asked = try await fixture.service.send(.delete, path, as: .platformOwner)
        let confirm = asked.json["confirm"]?.string ?? ""
        let gone = try await fixture.service.send(
            .delete, "\(path)&confirm=\(confirm)", as: .platformOwner)
        #expect(gone.status == 204, "\(gone.text)")
        #expect(try await fixture.count("join_links WHERE maker_name = ''") == 1)
    }
}
