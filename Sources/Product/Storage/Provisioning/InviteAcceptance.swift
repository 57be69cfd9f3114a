import Domain
import Postgres
import Text

/// What the page of an invite shows before the rules run.
package struct OfferedInvite: Sendable {
    /// The invite, which may be expired, used or revoked.
    package var invite: InviteRow
    package var tenant: TenantRow
    /// The tenant's current policy.
    package var policy: TenantPolicy
}

extension Database {
    /// The invite that a token belongs to, with its tenant; `nil` for an unknown token. Does not
    /// use up the token, and locks nothing.
    package func offeredInvite(_ token: String) async throws -> OfferedInvite? {
        guard let id = try await tenant(ofToken: token) else { return nil }
        let scope = scope(id)
        let rows = try await scope.read(
            """
            SELECT \(InviteRow.columns) FROM invites
            WHERE tenant_id = \(id) AND token_hash = \(TenantToken.hash(token))
            """)
        guard let row = rows.first, let tenant = try await scope.tenantRow() else { return nil }
        return OfferedInvite(
            invite: try InviteRow(row), tenant: tenant, policy: try await scope.policy().policy)
    }
}

extension ProvisioningCall {
    /// The call with which a person accepts an invite at its page. The token proves the invited
    /// address, and the password becomes the identity. The key of that identity is made from the
    /// invite's id, since an address is never the key of an identity. If `passwordHash` is nil, the
    /// invite has already ended, and the rules give the reason.
    package init(accepting invite: InviteRow, token: String, passwordHash: String?, name: String?) {
        self.init(
            provider: .attempt(
                ProviderKind.password.rawValue, issuer: nil, subject: invite.id.description),
            trigger: .invitePage)
        isInPerson = true
        email = invite.email
        inviteToken = token
        self.passwordHash = passwordHash
        self.name = name
    }
}
