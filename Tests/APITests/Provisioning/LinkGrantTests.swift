import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct LinkGrantTests {
    @Test func `a link grant adds the second sign-in of a user once`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let user = try await fixture.row("ann@ex.com")
        #expect(try await fixture.google("1", "ann@ex.com").json["outcome"]?.string == "linked")
        let refused = try await fixture.google("2", "ann@ex.com")
        #expect(refused.json["reason"]?.string == "identity_link_required")
        let grant = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", as: .tenantAdmin(fixture.tenant))
        let token = try #require(grant.json["token"]?.string)
        let more = #","link_grant":"\#(token)""#
        let linked = try await fixture.google("2", "ann@ex.com", more: more)
        #expect(linked.json["outcome"]?.string == "linked", "\(linked.text)")
        #expect(linked.json["user"]?["id"]?.string == user.description)
        let again = try await fixture.google("3", "ann@ex.com", more: more)
        #expect(again.json["reason"]?.string == "identity_link_required")
    }

    @Test func `an operator's own grant does not link a sign-in with the operator's address`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        // The operator is a user of the tenant as well.
        let own = "owner-\(fixture.tenant.id)@operators.example"
        let user = try await fixture.row(own)
        #expect(try await fixture.google("1", own).json["outcome"]?.string == "linked")
        let grant = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", as: .tenantAdmin(fixture.tenant))
        let token = try #require(grant.json["token"]?.string, "\(grant.text)")
        let refused = try await fixture.google("2", own, more: #","link_grant":"\#(token)""#)
        #expect(refused.json["reason"]?.string == "identity_link_required", "\(refused.text)")
        #expect(try await fixture.count("audit_events WHERE action = 'link_grant.refused'") == 1)
        #expect(try await fixture.count("link_grants WHERE used_at IS NOT NULL") == 0)
    }

    @Test func `a grant that a native sign-up brings is used when its address is proved`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let user = try await fixture.row("ann@ex.com")
        _ = try await fixture.google("1", "ann@ex.com")
        let grant = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", as: .tenantAdmin(fixture.tenant))
        let token = try #require(grant.json["token"]?.string)
        let event = { (trigger: String, more: String) in
            ProvisioningFixture.event(trigger, userName: "ann", email: "ann@ex.com", more: more)
        }
        let refused = try await fixture.cognito(event("PreSignUp_SignUp", ""))
        #expect(refused.status == 403)
        for place in ["clientMetadata", "validationData"] {
            let asked = try await fixture.cognito(
                event("PreSignUp_SignUp", #","\#(place)":{"link_grant":"\#(token)"}"#))
            #expect(asked.status == 200, "\(asked.text)")
        }
        #expect(try await fixture.count("identities") == 1)
        let confirmed = try await fixture.service.send(
            .post, "/v1/hooks/post-confirmation/cognito",
            json: event("PostConfirmation_ConfirmSignUp", ""), as: .platformOwner)
        #expect(confirmed.status == 200)
        let linked = try await fixture.count(
            "identities WHERE user_id = \(user) AND provider = 'cognito' AND subject = 'ann'")
        #expect(linked == 1)
    }
}
