import HTTP
import JSON
import TestSupport
import Testing
import Text

@Suite struct LinkGrantTests {
    @Test func `a link grant adds the second sign-in of a user once`() async throws {
        let scene = try await ProvisioningScene.make()
        let user = try await scene.row("ann@ex.com")
        #expect(try await scene.google("1", "ann@ex.com").json["outcome"]?.string == "linked")
        let refused = try await scene.google("2", "ann@ex.com")
        #expect(refused.json["reason"]?.string == "identity_link_required")
        let grant = try await scene.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", as: .tenantAdmin(scene.tenant))
        let token = try #require(grant.json["token"]?.string)
        let more = #","link_grant":"\#(token)""#
        let linked = try await scene.google("2", "ann@ex.com", more: more)
        #expect(linked.json["outcome"]?.string == "linked", "\(linked.text)")
        #expect(linked.json["user"]?["id"]?.string == user.description)
        let again = try await scene.google("3", "ann@ex.com", more: more)
        #expect(again.json["reason"]?.string == "identity_link_required")
        await scene.service.stop()
    }
}
