import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What a refusal tells those who ask about it: what was seen, by its reference, to whom.
@Suite(.cleansUp) struct DecisionViewTests {
    private struct Fixture {
        let base: ProvisioningFixture
        let other: ProvisioningFixture

        static func make() async throws -> Fixture {
            let base = try await ProvisioningFixture.make()
            let other = ProvisioningFixture(
                service: base.service, tenant: try await base.service.makeTenant("other"))
            return Fixture(base: base, other: other)
        }

        func get(
            _ path: String, as credential: TestService.Credential = .platformOwner
        ) async throws -> TestAnswer {
            try await base.service.send(.get, path, as: credential)
        }

        func decision(_ id: String?) async throws -> JSONValue {
            try await get("/v1/provisioning/decisions/\(id ?? "")").json
        }
    }

    private static func steps(_ decision: JSONValue, _ result: String) -> [JSONValue] {
        (decision["trace"]?.array ?? []).filter { $0["result"]?.string == result }
    }

    @Test func `a trace names the dead invites, claims and tenants that did not help`()
        async throws
    {
        let fixture = try await Fixture.make()
        let (base, other) = (fixture.base, fixture.other)
        let invite = try await base.invite("ann@eu.ex.com")
        try await base.service.storage.scope(base.tenant.id).change(by: .system) {
            try await $0.query("UPDATE invites SET expires_at = now() - interval '1 hour'")
        }
        try await base.verifiedDomain("ex.com")
        let claim = try await base.service.manage(
            .post, "/v1/tenants/other/domains", #"{"domain":"eu.ex.com"}"#)
        _ = other
        let refused = try await base.google("1", "ann@eu.ex.com")
        #expect(refused.json["reason"]?.string == "no_tenant", "\(refused.text)")
        let decision = try await fixture.decision(refused.json["decision_id"]?.string)
        let expired = Self.steps(decision, "invite_expired").first
        let about = expired?["about"]?.array?.first
        #expect(about?["id"]?.string == invite.id.description, "\(decision)")
        #expect(about?["name"]?.string == "ann@eu.ex.com")
        let unproved = Self.steps(decision, "domain_unproved").first?["about"]?.array?.first
        #expect(unproved?["id"] == claim["id"], "\(decision)")
        #expect(Self.steps(decision, "subdomain_not_included").count == 1, "\(decision)")
    }

    @Test func `a revoked invite and a suspended tenant are named, and change nothing`()
        async throws
    {
        let fixture = try await Fixture.make()
        let (base, other) = (fixture.base, fixture.other)
        let made = try await base.service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"bob@ex.com"}"#)
        try await base.service.manage(
            .post, "/v1/tenants/acme/invites/\(made["id"]?.string ?? "")/revoke", "{}")
        try await other.invite("bob@ex.com")
        try await base.service.manage(.post, "/v1/tenants/other/suspend", "{}")
        let refused = try await base.google("1", "bob@ex.com")
        #expect(refused.json["reason"]?.string == "no_tenant", "\(refused.text)")
        let decision = try await fixture.decision(refused.json["decision_id"]?.string)
        #expect(Self.steps(decision, "invite_revoked").count == 1, "\(decision)")
        let tenant = Self.steps(decision, "tenant_suspended").first?["about"]?.array?.first
        #expect(tenant?["name"]?.string == "other", "\(decision)")
    }

    @Test func `the reference in a refusal finds the decision`() async throws {
        let fixture = try await Fixture.make()
        // Another decision, which none of the questions means.
        _ = try await fixture.base.google("2", "bob@ex.com", more: #","tenant":"acme""#)
        let refused = try await fixture.base.google(
            "1", "eve@stranger.example", more: #","tenant":"acme""#)
        let reference = refused.json["reference"]?.string ?? "-"
        let id = refused.json["decision_id"]
        for path in ["/v1/provisioning", "/v1/tenants/acme/provisioning"] {
            for query in ["reference=\(reference)", "q=\(reference)", "q=STRANGER.ex"] {
                let list = try await fixture.get("\(path)/decisions?\(query)")
                #expect(list.json["items"]?.array?.map { $0["id"] } == [id], "\(list.text)")
            }
        }
        let owner = TestService.Credential.tenantAdmin(fixture.base.tenant)
        for credential in [.platformOwner, owner] {
            let found = try await fixture.get("/v1/search?q=\(reference)", as: credential)
            let ids = (found.json["items"]?.array ?? []).map { $0["id"] }
            #expect(ids.contains(id), "\(found.text)")
        }
        let foreign = try await fixture.get(
            "/v1/search?q=\(reference)", as: .tenantAdmin(fixture.other.tenant))
        #expect(foreign.json["items"]?.array?.isEmpty == true, "\(foreign.text)")
        let later = try await fixture.get(
            "/v1/provisioning/decisions?since=2099-01-01T00:00:00.000Z")
        #expect(later.json["items"]?.array?.isEmpty == true)
        let decision = try await fixture.decision(id?.string)
        let listed = try await fixture.get("/v1/provisioning/decisions?reference=\(reference)")
        for one in [decision, listed.json["items"]?.array?.first] {
            #expect(one?["tenant_name"]?.string == "Acme", "\(listed.text)")
            #expect(one?["provider_name"]?.string == "Google", "\(listed.text)")
        }
        #expect(decision["request_id"]?.string?.isEmpty == false, "\(decision)")
    }

    @Test func `a refused address finds its decision, be it as short as a reference`() async throws
    {
        let fixture = try await Fixture.make()
        let refused = try await fixture.base.google("1", "a@b.co", more: #","tenant":"acme""#)
        let found = try await fixture.get("/v1/search?q=a@b.co")
        let ids = (found.json["items"]?.array ?? []).map { $0["id"] }
        #expect(ids.contains(refused.json["decision_id"]), "\(found.text)")
    }

    @Test func `the platform finds a decision by its id, another tenant does not`() async throws {
        let fixture = try await Fixture.make()
        let refused = try await fixture.base.google("1", "eve@stranger.example")
        let id = try #require(refused.json["decision_id"]?.string)
        let found = try await fixture.get("/v1/search?q=\(id)")
        let items = found.json["items"]?.array ?? []
        #expect(items.map { $0["type"]?.string } == ["decision"], "\(found.text)")
        #expect(items.first?["id"]?.string == id)
        let foreign = try await fixture.get(
            "/v1/search?q=\(id)", as: .tenantAdmin(fixture.other.tenant))
        #expect(foreign.json["items"]?.array?.isEmpty == true, "\(foreign.text)")
    }

    @Test func `decisions are listed by several outcomes and between two times`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.base.invite("ann@ex.com")
        let linked = try await fixture.base.google("1", "ann@ex.com")
        #expect(linked.json["outcome"]?.string == "linked", "\(linked.text)")
        let refused = try await fixture.base.google("2", "eve@stranger.example")
        #expect(refused.json["outcome"]?.string == "refused", "\(refused.text)")
        for (query, count) in [
            ("outcome=linked,refused", 2), ("outcome=refused", 1), ("outcome=deferred", 0),
            ("since=2000-01-01T00:00:00.000Z", 2), ("since=2099-01-01T00:00:00.000Z", 0),
            ("until=2000-01-01T00:00:00.000Z", 0), ("until=2099-01-01T00:00:00.000Z", 2),
        ] {
            let list = try await fixture.get("/v1/provisioning/decisions?\(query)")
            #expect(list.json["items"]?.array?.count == count, "\(query): \(list.text)")
        }
    }

    @Test func `audit rows name the decision by which they were written`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.base.row("ann@ex.com")
        let linked = try await fixture.base.google("1", "ann@ex.com")
        let rows = try await fixture.get("/v1/tenants/acme/audit-events")
        let row = (rows.json["items"]?.array ?? []).first {
            $0["action"]?.string == "identity.linked"
        }
        #expect(row?["decision_id"] == linked.json["decision_id"], "\(rows.text)")
        let user = linked.json["user"]?["id"]?.string ?? ""
        let list = try await fixture.get("/v1/provisioning/decisions?user_id=\(user)")
        #expect(list.json["items"]?.array?.count == 1, "\(list.text)")
    }

    /// Two tenants that invite one person know nothing of each other.
    @Test func `of a decision without a tenant, a tenant sees only its own part`()
        async throws
    {
        let fixture = try await Fixture.make()
        let (base, other) = (fixture.base, fixture.other)
        try await base.verifiedDomain("ex.com")
        let policy = try await fixture.get("/v1/tenants/acme/policy")
        let put = try await base.service.send(
            .put, "/v1/tenants/acme/policy", json: #"{"sign_up":"domain"}"#,
            as: .platformOwner,
            fields: [Field("if-match", policy.first("etag") ?? "")])
        #expect(put.status == 200, "\(put.text)")
        try await other.invite("ann@ex.com")
        let deferred = try await base.google("1", "ann@ex.com")
        #expect(deferred.json["outcome"]?.string == "deferred", "\(deferred.text)")
        let id = deferred.json["decision_id"]?.string ?? ""
        let twin = "provisioning/decisions"
        let whole = try await fixture.decision(id)
        #expect(whole["tenant_id"]?.isNull == true)
        #expect(whole["subject"]?.string == "1")
        let list = try await fixture.get("/v1/\(twin)")
        #expect(list.json["items"]?.array?.count == 1, "\(list.text)")
        for (mine, theirs) in [(base, other), (other, base)] {
            let path = "/v1/tenants/\(mine.tenant.slug)/\(twin)"
            let part = try await fixture.get(
                "\(path)/\(id)", as: .tenantAdmin(mine.tenant))
            #expect(part.status == 200, "\(part.text)")
            #expect(part.json["outcome"]?.string == "deferred")
            #expect(!part.text.contains(theirs.tenant.id.description), "\(part.text)")
            #expect(!part.text.contains(theirs.tenant.slug), "\(part.text)")
            for name in ["subject", "issuer", "duration_ms", "request_id"] {
                #expect(part.json[name]?.isNull == true, "\(name)")
            }
        }
        // The domain's tenant may know who came, the inviting one only that its invite waits.
        let owner = try await fixture.get("/v1/tenants/acme/\(twin)/\(id)")
        #expect(owner.json["email"]?.string == "ann@ex.com", "\(owner.text)")
        #expect(owner.json["reference"] == deferred.json["reference"])
        let inviter = try await fixture.get("/v1/tenants/other/\(twin)/\(id)")
        #expect(inviter.json["email"]?.isNull == true, "\(inviter.text)")
        #expect(inviter.json["reference"]?.isNull == true)
    }

    @Test func `a tenant learns nothing about a person who never signed in to it`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.base.row("ann@ex.com")
        try await fixture.other.row("ann@ex.com")
        let deferred = try await fixture.base.google("1", "ann@ex.com")
        #expect(deferred.json["outcome"]?.string == "deferred", "\(deferred.text)")
        for slug in ["acme", "other"] {
            let list = try await fixture.get("/v1/tenants/\(slug)/provisioning/decisions")
            #expect(list.json["items"]?.array?.isEmpty == true, "\(list.text)")
        }
    }

    @Test func `an unproved claim shows its tenant nothing`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.base.service.manage(
            .post, "/v1/tenants/other/domains", #"{"domain":"victim.example"}"#)
        _ = try await fixture.base.google("1", "ann@victim.example")
        let list = try await fixture.get("/v1/tenants/other/provisioning/decisions")
        #expect(list.json["items"]?.array?.isEmpty == true, "\(list.text)")
    }

    @Test func `a whole decision of a tenant shows it no step about another`() async throws {
        let fixture = try await Fixture.make()
        let (base, other) = (fixture.base, fixture.other)
        let made = try await base.service.manage(
            .post, "/v1/tenants/other/users", #"{"email":"ann@ex.com"}"#)
        try await base.service.manage(
            .post, "/v1/tenants/other/users/\(made["id"]?.string ?? "")/suspend", "{}")
        try await base.invite("ann@ex.com")
        let linked = try await base.google("1", "ann@ex.com")
        #expect(linked.json["outcome"]?.string == "linked", "\(linked.text)")
        #expect(linked.json["tenant"]?["slug"]?.string == "acme")
        let id = linked.json["decision_id"]?.string ?? ""
        let whole = try await fixture.decision(id)
        #expect("\(whole)".contains(other.tenant.id.description))
        for suffix in ["", "/\(id)"] {
            let twin = try await fixture.get(
                "/v1/tenants/acme/provisioning/decisions" + suffix,
                as: .tenantAdmin(base.tenant))
            #expect(!twin.text.contains(other.tenant.id.description), "\(twin.text)")
        }
    }
}
