import JSON
import Postgres
import Text

/// An app's own data about a user.
package struct ClientProfile: Sendable {
    /// By the app's names.
    package var document: JSONValue
    /// The password is still the one that the user's row was created with.
    package var hasFirstPassword: Bool
}

extension TenantScope {
    /// Empty if the app has stored nothing about the user.
    package func clientProfile(
        of user: UUID, at client: String
    ) async throws(PostgresError) -> ClientProfile {
        let rows = try await read(
            """
            SELECT p.document::text, coalesce(u.password_changed_at = u.created_at, false)
            FROM users u LEFT JOIN client_profiles p
                ON p.tenant_id = u.tenant_id AND p.user_id = u.id AND p.client = \(client)
            WHERE u.tenant_id = \(tenant) AND u.id = \(user)
            """)
        guard let row = rows.first else {
            return ClientProfile(document: .object([]), hasFirstPassword: false)
        }
        return ClientProfile(document: try row.json(0), hasFirstPassword: try row.get(1))
    }
}

extension Change {
    /// Sets these members and leaves the others; null removes one.
    package func editClientProfile(
        of user: UUID, at client: String, _ members: [JSONValue.Member]
    ) async throws(PostgresError) {
        let document = JSONValue.object(members)
        try await query(
            """
            INSERT INTO client_profiles AS p (tenant_id, user_id, client, document, updated_at)
            VALUES (\(tenant), \(user), \(client), jsonb_strip_nulls(\(JSONB(document))), \(now))
            ON CONFLICT (tenant_id, user_id, client) DO UPDATE
                SET document = jsonb_strip_nulls(p.document || \(JSONB(document))),
                    updated_at = \(now)
            """)
    }
}
