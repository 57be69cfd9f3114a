import API
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// An address that a user had before, at the rules.
@Suite(.serialized, .cleansUp) struct FormerAddressTests {
    /// A user who had `old@gmail.com`, where an issuer that owns an address may link by itself.
    private func make() async throws -> (ProvisioningFixture, user: String) {
        let base = try await ProvisioningFixture.make()
        let policy = try await base.service.send(
            .put, "/v1/tenants/acme/policy",
            json: #"{"sign_up":"open","auto_link":"authoritative"}"#, as: .platformOwner,
            fields: [Field("if-match", "*")])
        #expect(policy.status == 200, "\(policy.text)")
        let made = try await base.google("1", "ann@gmail.com", more: #","tenant":"acme""#)
        return (base, try #require(made.json["user"]?["id"]?.string, "\(made.text)"))
    }

    private func giveUp(_ base: ProvisioningFixture, _ user: String, until days: Int) async throws {
        let storage = base.service.storage
        _ = try await storage.scope(base.tenant.id).write(
            """
            INSERT INTO former_addresses (tenant_id, email_key, user_id, email, expires_at)
            VALUES (\(base.tenant.id), 'old@gmail.com', \(UUID(user)), 'old@gmail.com',
                \(storage.clock().adding(seconds: Int64(days) * 86_400)))
            """)
    }

    @Test func `who owns it now is not linked to who had it`() async throws {
        let (base, user) = try await make()
        try await giveUp(base, user, until: 30)
        let stranger = try await base.google("2", "old@gmail.com", more: #","tenant":"acme""#)
        #expect(stranger.json["outcome"]?.string == "refused", "\(stranger.text)")
        #expect(stranger.json["reason"]?.string == "identity_link_required")
        // The own address is linked, as the policy says.
        let own = try await base.hook(
            #"{"provider":"google","subject":"3","email":"ann@gmail.com","tenant":"acme","email_verified":true}"#
        )
        #expect(own.json["outcome"]?.string == "linked", "\(own.text)")
    }
}
