import Domain
import Postgres
import Text

extension Database {
    /// The Cognito pools of the tenant, its own first, and the platform's.
    package func pools(near tenant: UUID) async throws(PostgresError) -> [Provider] {
        try await providers(near: tenant).compactMap(\.provider)
            .filter { $0.kind == .cognito }
            .sorted { $0.tenantID != nil && $1.tenantID == nil }
    }
}
