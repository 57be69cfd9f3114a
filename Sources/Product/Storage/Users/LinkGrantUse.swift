import Domain
import Postgres
import Text

/// An identity as a provider proved it, to be added by a grant.
package struct GrantedSignIn: Sendable {
    /// A `ProviderKind` raw value.
    package var provider: String
    /// Together with provider and subject unique within a tenant.
    package var issuer: String
    package var subject: String
    package var email: String?
    /// True if only the tenant's own provider proves the identity: it counts in that tenant alone.
    package var isAssertedByTenant: Bool

    /// `email` nil: the provider gave none.
    package init(
        provider: String, issuer: String, subject: String, email: String?, isAssertedByTenant: Bool
    ) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
        self.email = email
        self.isAssertedByTenant = isAssertedByTenant
    }
}

/// The result of presenting a grant.
package enum GrantUse: Sendable {
    case linked(UserRow)
    /// The same identity presented the same grant again.
    case again(UserRow)
    case unknown, used, over
    /// The identity belongs to another user.
    case conflict
    /// Its creator presented it for their own address, or the user is not active.
    case refused
}

extension Change {
    /// Whether the operator who created the grant has this address: an operator must not sign in by
    /// their own grant.
    func isMakers(_ address: String?, of grant: UUID) async throws(PostgresError) -> Bool {
        guard let address, let key = try? EmailAddress(address).key else { return false }
        let rows = try await query(
            """
            SELECT 1 FROM link_grants g JOIN operators o ON o.id::text = g.made_by_id
            WHERE g.tenant_id = \(tenant) AND g.id = \(grant) AND g.made_by_type = 'operator'
                AND o.email_key = \(key)
            """)
        return !rows.isEmpty
    }

    /// Audits a grant that its creator presented.
    func auditRefusedGrant(_ grant: UUID) async throws {
        try await audit(.linkGrantRefused, AuditTarget("link_grant", grant, grant.description))
    }

    /// Adds a proved identity to the user of the grant, whatever its address. One statement uses
    /// the grant up. `hash`: of its token.
    package func useLinkGrant(
        _ hash: [UInt8], for signIn: GrantedSignIn, in database: Database
    ) async throws -> GrantUse {
        let owner = try await query(
            """
            SELECT user_id FROM link_grants
            WHERE tenant_id = \(tenant) AND token_hash = \(hash)
            """)
        guard let id = try owner.first?.get(0, as: UUID.self) else { return .unknown }
        // The user's row is locked first, as everywhere.
        let user = try await lockUser(id)
        guard let grant = try await linkGrant(hash: hash) else { return .unknown }
        let isMine = user.identities.contains {
            sameBytes($0.provider, signIn.provider) && sameBytes($0.issuer, signIn.issuer)
                && sameBytes($0.subject, signIn.subject)
        }
        if grant.usedAt != nil { return isMine ? .again(user) : .used }
        guard now < grant.expiresAt else { return .over }
        guard user.status == .active else { return .refused }
        if try await isMakers(signIn.email, of: grant.id) {
            try await auditRefusedGrant(grant.id)
            return .refused
        }
        if isMine { return .again(user) }
        let holder = try await query(
            """
            SELECT 1 FROM identities WHERE tenant_id = \(tenant) AND provider = \(signIn.provider)
                AND issuer = \(signIn.issuer) AND subject = \(signIn.subject)
            """)
        guard holder.isEmpty else { return .conflict }
        guard try await consumeLinkGrant(grant.id) else { return .used }
        let (linked, _) = try await linkIdentity(
            user, provider: signIn.provider, issuer: signIn.issuer, subject: signIn.subject,
            email: signIn.email, isAssertedByTenant: signIn.isAssertedByTenant, database: database)
        try await audit(.linkGrantUsed, AuditTarget("link_grant", grant.id, grant.id.description))
        return .linked(linked)
    }
}
