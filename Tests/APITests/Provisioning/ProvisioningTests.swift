import Domain
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ProvisioningTests {
    @Test func `an invited person's first sign-in ends in one user with the invited role`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let invite = try await fixture.invite("ann@ex.com", role: "admin")
        let answer = try await fixture.google("1", "Ann@ex.com")
        #expect(answer.status == 200)
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["user"]?["role"]?.string == "admin")
        #expect(answer.json["user"]?["status"]?.string == "active")
        #expect(answer.json["user"]?["identities"]?.array?.count == 1)
        #expect(answer.json["tenant"]?["slug"]?.string == "acme")
        #expect(answer.json["invite_id"]?.string == invite.id.description)
        #expect(answer.json["identity_id"]?.string != nil)
        #expect(try await fixture.count("users") == 1)
        #expect(try await fixture.count("invites WHERE status = 'accepted'") == 1)
    }

    @Test func `a pre-provisioned person gets the row that waits`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let id = try await fixture.row("bob@ex.com", role: "manager")
        let answer = try await fixture.google("2", "bob@ex.com")
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["user"]?["id"]?.string == id.description)
        #expect(answer.json["user"]?["role"]?.string == "manager")
        #expect(try await fixture.count("users") == 1)
    }

    @Test func `a domain-matched person is created once`() async throws {
        let fixture = try await ProvisioningFixture.make(policy: #"{"sign_up":"domain"}"#)
        try await fixture.verifiedDomain("ex.com")
        let more = #","claims":{"hd":"ex.com"}"#
        let first = try await fixture.google("3", "cid@ex.com", more: more)
        #expect(first.json["outcome"]?.string == "created", "\(first.text)")
        #expect(first.json["user"]?["role"]?.string == "member")
        let again = try await fixture.google("3", "cid@ex.com", more: more)
        #expect(again.bytes == first.bytes)
        let other = try await fixture.google("3", "cid@ex.com", more: #","tenant":"acme""#)
        #expect(other.json["outcome"]?.string == "existing")
        #expect(try await fixture.count("users") == 1)
        let merely = try await fixture.google("4", "dan@ex.com")
        #expect(merely.json["reason"]?.string == "email_unverified")
    }

    @Test func `a token in other hands is refused and the invite stays`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let invite = try await fixture.invite("ann@ex.com")
        let token = #","invite_token":"\#(invite.token)""#
        let eve = try await fixture.google("9", "eve@ex.com", more: token)
        #expect(eve.json["reason"]?.string == "invite_email_mismatch", "\(eve.text)")
        let bad = try await fixture.google("9", "ann@ex.com", more: #","invite_token":"inv_nope""#)
        #expect(bad.json["reason"]?.string == "invite_unknown")
        // A mailed token proves the mailbox.
        let ann = try await fixture.google("1", "ann@ex.com", verified: false, more: token)
        #expect(ann.json["outcome"]?.string == "linked", "\(ann.text)")
        let late = try await fixture.google("9", "ann@ex.com", more: token)
        #expect(late.json["reason"]?.string == "invite_used")
    }

    @Test func `an address that two tenants know is deferred and nothing is picked`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let other = ProvisioningFixture(
            service: fixture.service, tenant: try await fixture.service.makeTenant("other"))
        try await fixture.invite("ann@ex.com")
        try await other.invite("ann@ex.com")
        let answer = try await fixture.google("1", "ann@ex.com")
        #expect(answer.json["outcome"]?.string == "deferred", "\(answer.text)")
        #expect(answer.json["reason"]?.string == "tenant_choice_required")
        #expect(answer.json["choices"]?.array?.count == 2)
        let chosen = try await fixture.google("1", "ann@ex.com", more: #","tenant":"other""#)
        #expect(chosen.json["outcome"]?.string == "linked", "\(chosen.text)")
        #expect(chosen.json["tenant"]?["slug"]?.string == "other")
    }

    @Test func `a dry run answers with the trace and writes nothing`() async throws {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.invite("ann@ex.com", role: "admin")
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let before = try await fixture.service.database.content()
        let answer = try await fixture.service.send(
            .post, "/v1/provisioning/evaluate",
            json: #"{"provider":"google","subject":"1","email":"ann@ex.com","#
                + #""email_verified":true}"#,
            as: .platformOwner)
        #expect(answer.status == 200)
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["decision_id"]?.isNull == true)
        #expect((answer.json["trace"]?.array?.count ?? 0) > 3)
        #expect(try await fixture.service.database.content() == before)
    }

    @Test func `bad input is 422, a caller without a credential is 401, and neither is a decision`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let bad = try await fixture.hook(#"{"provider":"google","emial":"a@b.c"}"#)
        #expect(bad.status == 422)
        #expect(bad.json["errors"]?.array?.count == 2)
        #expect(bad.json["request_id"] == nil)
        let stranger = try await fixture.service.send(
            .post, "/v1/hooks/pre-signup", json: #"{"provider":"google","subject":"1"}"#)
        #expect(stranger.status == 401)
        let unknown = try await fixture.hook(#"{"provider":"github","subject":"1"}"#)
        #expect(unknown.status == 200)
        #expect(unknown.json["reason"]?.string == "provider_unknown")
        let spelled = try await fixture.google("1", "not an address")
        #expect(spelled.json["reason"]?.string == "email_invalid")
    }

    @Test func `decisions are listed, filtered and kept from other tenants`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let other = try await fixture.service.makeTenant("other")
        try await fixture.invite("ann@ex.com")
        let linked = try await fixture.google("1", "ann@ex.com")
        _ = try await fixture.google("7", "zoe@ex.com")
        let id = linked.json["decision_id"]?.string ?? ""
        let path = "/v1/provisioning/decisions"
        let all = try await fixture.service.send(.get, path, as: .platformOwner)
        #expect(all.json["items"]?.array?.count == 2, "\(all.text)")
        let refused = try await fixture.service.send(
            .get, path + "?outcome=refused&email=ZOE@ex.com", as: .platformOwner)
        #expect(refused.json["items"]?.array?.count == 1)
        #expect(refused.json["total"]?["value"]?.int == 1)
        let own = try await fixture.service.send(
            .get, "/v1/tenants/acme" + path.dropFirst(3), as: .tenantAdmin(fixture.tenant))
        #expect(own.json["items"]?.array?.count == 1)
        let one = try await fixture.service.send(
            .get, "/v1/tenants/acme\(path.dropFirst(3))/\(id)", as: .tenantAdmin(fixture.tenant))
        #expect(one.json["outcome"]?.string == "linked", "\(one.text)")
        #expect((one.json["trace"]?.array?.count ?? 0) > 3)
        let foreign = try await fixture.service.send(
            .get, "/v1/tenants/acme\(path.dropFirst(3))/\(id)", as: .tenantAdmin(other))
        #expect(foreign.status == 404)
        let hidden = try await fixture.service.send(
            .get, "\(path)/\(id)", as: .tenantAdmin(other))
        #expect(hidden.status == 404)
    }
}
