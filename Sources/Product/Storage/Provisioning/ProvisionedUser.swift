import JSON
import Postgres
import Text

/// The user of a decision, with the identities.
package struct ProvisionedUser: Sendable {
    package var id: UUID
    package var tenantID: UUID
    package var email: String
    package var emailVerifiedAt: Timestamp?
    package var name: String?
    package var role: String
    package var status: String
    package var source: String
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var lastSignInAt: Timestamp?
    /// When all sessions were last ended.
    var signedOutAt: Timestamp?
    package var identities: [Identity]

    package struct Identity: Sendable {
        package var id: UUID
        package var provider: String
        package var issuer: String
        package var subject: String
        package var email: String?
        package var isEmailTrusted: Bool
        package var createdAt: Timestamp
        package var lastUsedAt: Timestamp?
        package var aliasCount: Int
        package var linkedByType: String?
        package var linkedByID: String?
    }
}

extension Change {
    func provisionedUser(_ id: UUID) async throws(PostgresError) -> ProvisionedUser? {
        let rows = try await query(
            """
            SELECT u.email, u.email_verified_at, u.name, u.role, u.status, u.source, u.created_at,
                u.updated_at, u.last_sign_in_at, i.id, i.provider, i.issuer, i.subject, i.email,
                i.created_at, i.last_used_at, i.email_vouched, u.signed_out_at, i.alias_count,
                i.linked_by_type, i.linked_by_id
            FROM users u LEFT JOIN identities i ON i.tenant_id = \(tenant) AND i.user_id = u.id
            WHERE u.tenant_id = \(tenant) AND u.id = \(id) ORDER BY i.created_at, i.id
            """)
        guard let first = rows.first else { return nil }
        var user = ProvisionedUser(
            id: id, tenantID: tenant, email: try first.get(0),
            emailVerifiedAt: try first.get(1, as: Timestamp?.self),
            name: try first.get(2, as: String?.self), role: try first.get(3),
            status: try first.get(4), source: try first.get(5), createdAt: try first.get(6),
            updatedAt: try first.get(7), lastSignInAt: try first.get(8, as: Timestamp?.self),
            signedOutAt: try first.get(17, as: Timestamp?.self), identities: [])
        for row in rows {
            guard let id: UUID = try row.get(9, as: UUID?.self) else { continue }
            user.identities.append(
                ProvisionedUser.Identity(
                    id: id, provider: try row.get(10), issuer: try row.get(11),
                    subject: try row.get(12), email: try row.get(13, as: String?.self),
                    isEmailTrusted: try row.get(16), createdAt: try row.get(14),
                    lastUsedAt: try row.get(15, as: Timestamp?.self), aliasCount: try row.get(18),
                    linkedByType: try row.get(19, as: String?.self),
                    linkedByID: try row.get(20, as: String?.self)))
        }
        return user
    }

    /// Switches the same transaction to another tenant: only its rows are visible from now on.
    func switching(to tenant: UUID) async throws(PostgresError) -> Change {
        try await query("SELECT set_config('app.tenant', \(tenant.description), true)")
        return Change(
            tenant: tenant, actor: actor, now: now, transaction: transaction,
            invalidations: invalidations,
            locksRows: locksRows)
    }
}
