import Domain
import JSON
import Storage
import Text

extension ClientCall {
    /// Kinds that a person can be sent to.
    private static let kinds = ["oidc", "google", "github"]

    /// The provider that the client's people sign in at: the one that the client names, else the
    /// tenant's only one, else the platform's only one; nil where there is none, or no one is it.
    package func provider(kinds: [String] = Self.kinds) async throws -> ProviderRow? {
        let found = try await core.database.providers(near: tenant.id)
            .filter { row in kinds.contains { sameBytes($0, row.kind) } }
        if let wanted = setting("provider")?.string {
            return found.first {
                sameBytes($0.id.description, wanted) || sameBytes($0.kind, wanted)
            }
        }
        let own = found.filter { $0.tenantID != nil }
        let fitting = own.isEmpty ? found : own
        return fitting.count == 1 ? fitting.first : nil
    }

    package func hasProvider() async throws -> Bool { try await provider() != nil }
}
