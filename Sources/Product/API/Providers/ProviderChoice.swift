import Cryptography
import Domain
import JSON
import Storage
import Text

/// Selects the provider of a client's users.
package enum ProviderChoice {
    /// The one that the client names, by id or kind, else the tenant's only one, else the
    /// platform's; nil if there is none, or no single one. `rows`: as from `providers(near:)`.
    package static func choose(
        from rows: [ProviderRow], kinds: [String], named: String?
    ) -> ProviderRow? {
        let found = rows.filter { row in kinds.contains { sameBytes($0, row.kind) } }
        if let named { return found.first { isNamed($0, named) } }
        let own = found.filter { $0.tenantID != nil }
        let fitting = own.isEmpty ? found : own
        return fitting.count == 1 ? fitting.first : nil
    }

    /// Whether `name` is the provider's id or its kind.
    package static func isNamed(_ row: ProviderRow, _ name: String) -> Bool {
        sameBytes(row.id.description, name) || sameBytes(row.kind, name)
    }
}

extension ProviderRow {
    /// The hash of everything that decides where a secret of this client goes.
    package func secretAudience(clientID: String) -> [UInt8] {
        let endpoints = document["endpoints"] ?? .null
        let parts = [id.description, kind, issuer, clientID].map { JSONValue.string($0) }
        return SHA256.hash(JSONValue.array(parts + [endpoints]).encoded())
    }
}
