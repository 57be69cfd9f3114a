import Domain
import JSON
import Postgres
import Text

/// A provider as stored; `tenantID` nil: the platform's own.
package struct ProviderRow: ListedRow {
    package var id: UUID
    package var tenantID: UUID?
    /// Its name, where it is shown; see `named`. Not stored here.
    package var tenantName: String?
    package var kind: String
    package var name: String
    package var issuer: String
    /// Every other setting, by its name on the wire.
    package var document: JSONValue
    /// Whether a secret is stored; only `clientSecret(of:)` reads it.
    package var hasSecret: Bool
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// False: asserted by one tenant, so the pool counts only for that tenant's credentials.
    package var isConfirmed: Bool
    /// Since when this process cannot reach it; not stored.
    package var unreachableSince: Timestamp?

    static let columns: SQL =
        """
        id, tenant_id, kind, name, issuer, document::text, version, created_at, updated_at,
        confirmed, secret IS NOT NULL
        """

    init(_ row: Row) throws(PostgresError) { try self.init(row, from: 0) }

    /// From `columns`, of which the first is at `start`.
    init(_ row: Row, from start: Int) throws(PostgresError) {
        id = try row.get(start)
        tenantID = try row.get(start + 1, as: UUID?.self)
        kind = try row.get(start + 2)
        name = try row.get(start + 3)
        issuer = try row.get(start + 4)
        document = try row.json(start + 5)
        (version, createdAt, updatedAt, isConfirmed, hasSecret) = try row.columns(from: start + 6)
    }

    /// The provider as the rules read it; nil for a kind that they do not know.
    var provider: Provider? {
        guard let kind = ProviderKind(rawValue: kind) else { return nil }
        var tenants: [String: UUID] = [:]
        for member in document["client_tenants"]?.members ?? [] {
            tenants[member.name] = member.value.string.flatMap { UUID($0) }
        }
        return Provider(
            id: id, tenantID: tenantID, kind: kind, name: name, issuer: issuer,
            emailTrust: Self.trust(document["email_trust"]),
            domains: Self.strings(document["domains"]),
            upstreams: (document["upstreams"]?.array ?? []).compactMap(Self.upstream),
            strictUpstreams: document["strict_upstreams"]?.bool ?? false, clientTenants: tenants,
            allowsAdminCreate: document["admin_create"]?.string == "allow")
    }

    private static func upstream(_ value: JSONValue) -> Provider.Upstream? {
        guard let name = value["name"]?.string else { return nil }
        return Provider.Upstream(
            name: name, kind: value["kind"]?.string.flatMap(ProviderKind.init),
            issuer: value["issuer"]?.string, emailTrust: trust(value["email_trust"]),
            domains: strings(value["domains"]))
    }

    private static func trust(_ value: JSONValue?) -> EmailTrust? {
        value?.string.flatMap(EmailTrust.init)
    }

    private static func strings(_ value: JSONValue?) -> [String] {
        (value?.array ?? []).compactMap(\.string)
    }
}

extension Row {
    /// A JSON column that was selected as text; NULL is null.
    func json(_ column: Int) throws(PostgresError) -> JSONValue {
        guard let text: String = try get(column, as: String?.self) else { return .null }
        do {
            return try JSONValue(parsing: Array(text.utf8))
        } catch {
            throw PostgresError(.decoding, "JSON")
        }
    }
}
