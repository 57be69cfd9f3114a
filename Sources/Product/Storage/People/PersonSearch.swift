import Domain
import Postgres
import Text

/// A person, over all tenants: the directory says which tenants know the address or the identity,
/// and these alone are read.
extension Database {
    /// Rows of one search.
    package static let foundPeopleLimit = 200
    /// Tenants that one search reads.
    private static let tenantsOfPersonLimit = 1000

    /// Users with the address, with it as a former one, with a sign-in whose provider proves it, and
    /// those whom an invite to it made or let in. One more than the limit if there
    /// are more.
    package func people(email: EmailAddress) async throws -> [FoundPerson] {
        let tenants = try await tenants(of: personKey(emailKey: email.key))
        return try await people(
            in: tenants,
            """
            SELECT u.tenant_id, u.id AS user_id, 'address' AS way FROM users u
            WHERE u.tenant_id = ANY (\(tenants)) AND u.email_key = \(email.key)
            UNION SELECT f.tenant_id, f.user_id, 'former_address' FROM former_addresses f
            WHERE f.tenant_id = ANY (\(tenants)) AND f.email_key = \(email.key)
            UNION SELECT i.tenant_id, i.user_id, 'identity' FROM identities i
            WHERE i.tenant_id = ANY (\(tenants)) AND i.email_vouched
                AND i.email = ANY (\([email.key, email.original]))
            UNION SELECT v.tenant_id, coalesce(v.accepted_user_id, v.user_id), 'invite'
            FROM invites v WHERE v.tenant_id = ANY (\(tenants)) AND v.email_key = \(email.key)
            UNION SELECT u.tenant_id, u.id, 'invite' FROM invites v
            JOIN users u ON u.tenant_id = v.tenant_id AND u.email_key = v.email_key
            WHERE v.tenant_id = ANY (\(tenants)) AND u.tenant_id = ANY (\(tenants))
                AND v.email_key = \(email.key) AND v.status = 'pending'
            """)
    }

    /// Users who have the identity, and those whose it was before an operator unlinked it.
    package func people(identity: IdentityKey) async throws -> [FoundPerson] {
        let provider = identity.provider.rawValue
        let tenants = try await tenants(
            of: personKey(
                provider: provider, issuer: identity.issuer, subject: identity.subject))
        return try await people(
            in: tenants,
            """
            SELECT i.tenant_id, i.user_id, 'identity' AS way FROM identities i
            WHERE i.tenant_id = ANY (\(tenants)) AND i.provider = \(provider)
                AND i.issuer = \(identity.issuer) AND i.subject = \(identity.subject)
            UNION SELECT b.tenant_id, b.user_id, 'identity' FROM barred_identities b
            WHERE b.tenant_id = ANY (\(tenants)) AND b.provider = \(provider)
                AND b.issuer = \(identity.issuer) AND b.subject = \(identity.subject)
            """)
    }

    private func tenants(of key: [UInt8]) async throws -> [UUID] {
        let rows = try await platformScope.read(
            """
            SELECT id FROM directory_tenants_of(\(key)) AS id LIMIT \(Self.tenantsOfPersonLimit)
            """)
        let tenants: [UUID] = try rows.map { try $0.get(0) }
        for tenant in tenants { await writeSignIns(of: tenant) }
        return tenants
    }

    /// A merged user is found as the one who is left.
    private func people(in tenants: [UUID], _ found: SQL) async throws -> [FoundPerson] {
        let rows = try await platform.read(
            """
            WITH found AS (\(found)),
            person AS (
                SELECT f.tenant_id, coalesce(m.user_id, f.user_id) AS user_id,
                    string_agg(DISTINCT f.way, ',') AS ways
                FROM found f LEFT JOIN merged_users m
                    ON m.tenant_id = f.tenant_id AND m.id = f.user_id
                    AND m.tenant_id = ANY (\(tenants))
                GROUP BY 1, 2)
            SELECT u.tenant_id, t.slug, t.name, t.status, u.id, u.email, u.name, u.status, u.role,
                u.created_at, u.last_sign_in_at, p.ways
            FROM person p
            JOIN users u ON u.tenant_id = p.tenant_id AND u.id = p.user_id
                AND u.tenant_id = ANY (\(tenants))
            JOIN tenants t ON t.id = u.tenant_id AND t.id = ANY (\(tenants))
            ORDER BY t.slug, u.created_at, u.id LIMIT \(Self.foundPeopleLimit + 1)
            """)
        return try rows.map(FoundPerson.init)
    }
}
