import Domain
import Postgres
import Text

extension Database {
    /// Installs a given secret as a platform key with every management scope, if there is neither
    /// an operator nor a platform key yet. False: nothing was installed. Its locator becomes the
    /// platform's unless a tenant holds it.
    package func installSetupKey(_ text: String) async throws -> Bool {
        guard let secret = APIKeySecret(text) else { return false }
        let stored = secret.stored
        let id = UUID.random()
        return try await platformScope.change(by: .system) { change in
            let scopes = ManagementScope.allCases.map(\.rawValue)
            let rows = try await change.query(
                """
                INSERT INTO api_keys AS made (tenant_id, id, name, environment, hash, prefix, last4,
                    scopes, owner_type, created_by_type, created_by_id, created_at, updated_at)
                SELECT anchor.id, \(id), 'Setup key', \(secret.environment.rawValue),
                    \(stored.hash), \(stored.prefix), \(stored.last4), \(scopes), 'platform',
                    \(change.actor.type), \(change.actor.id), \(change.now), \(change.now)
                FROM \(SQL.anchor(of: change.tenant))
                WHERE anchor.id = \(change.tenant) AND NOT EXISTS (SELECT 1 FROM operators)
                    AND NOT EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = \(change.tenant))
                ON CONFLICT (tenant_id, hash) DO NOTHING RETURNING id
                """)
            guard !rows.isEmpty else { return false }
            if secret.locator != APIKeySecret.platformLocator,
                try await !change.claim("locator", secret.locator)
            {
                throw StorageFailure.conflict(
                    code: "conflict", detail: "A tenant holds the locator of this key.", id: nil)
            }
            try await change.audit(.apiKeyCreated, AuditTarget("api_key", id, "Setup key"))
            return true
        }
    }
}
