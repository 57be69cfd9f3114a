import Domain
import Postgres
import Text

extension Database {
    /// Applies a proved address by the mailed token; nil if the token is unknown, used or expired.
    package func confirmEmail(
        _ token: String, requestID: String, ip: String?
    ) async throws -> UserRow? {
        guard let tenant = try await tenant(ofToken: token) else { return nil }
        let found = try await scope(tenant).read(
            """
            SELECT u.id, u.email FROM email_changes c
            JOIN users u ON u.tenant_id = \(tenant) AND u.id = c.user_id
            JOIN tenants t ON t.id = \(tenant) AND t.status = 'active'
            WHERE c.tenant_id = \(tenant) AND c.token_hash = \(TenantToken.hash(token))
            """)
        guard let row = found.first else { return nil }
        let actor = Actor(
            type: "user", id: try row.get(0, as: UUID.self).description, name: try row.get(1),
            requestID: requestID, ip: ip)
        return try await scope(tenant).change(by: actor) {
            try await $0.confirmEmail(token, in: self)
        }
    }
}
