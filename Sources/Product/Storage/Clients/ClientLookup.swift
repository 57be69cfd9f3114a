import Domain
import Postgres
import Text

/// The tenant and the client of a mount.
package struct MountedClient: Sendable {
    /// Never deleted; may be suspended.
    package var tenant: TenantRow
    package var client: ClientRow
}

/// A client that answers at the root of a host.
package struct BoundHost: Sendable {
    package let tenant: UUID
    package let client: String
}

/// A host at which a client of a tenant answers.
package struct BoundClientHost: Sendable {
    package let client: String
    /// Lower case, with a port only if the binding has one.
    package let host: String

    static let all: SQL = "SELECT client, host FROM directory_bound_hosts()"

    init(_ row: Row) throws(PostgresError) {
        client = try row.get(0)
        host = try row.get(1)
    }
}

extension Database {
    /// The client that answers at the root of a host; nil if no client is bound to it. `authority`:
    /// as sent in Host, in lower case; a binding with the port precedes one without.
    func client(atHost authority: String) async throws(PostgresError) -> BoundHost? {
        let bare = String(
            decoding: authority.utf8.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        let wanted = authority.utf8.first == UInt8(ascii: "[") ? [authority] : [authority, bare]
        let rows = try await app.read("SELECT * FROM directory_client_by_host(\(wanted))")
        guard let row = rows.first else { return nil }
        return BoundHost(tenant: try row.get(0), client: try row.get(1))
    }

    /// nil for an unknown or deleted tenant and for a client that is off.
    package func mountedClient(
        _ name: String, of idOrSlug: String
    ) async throws(PostgresError) -> MountedClient? {
        guard let tenant = try await tenant(idOrSlug), tenant.status != .deleted,
            let client = try await scope(tenant.id).client(name), client.enabled
        else { return nil }
        return MountedClient(tenant: tenant, client: client)
    }
}
