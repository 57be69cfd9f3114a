import Domain
import JSON
import Postgres
import Text

/// A provider as stored. `tenantID` is nil if the provider is the platform's own.
package struct ProviderRow: ListedRow {
    package var id: UUID
    package var tenantID: UUID?
    /// The tenant's name; set only by `named`, since it is not stored in the provider's row.
    package var tenantName: String?
    package var kind: String
    package var name: String
    package var issuer: String
    /// All other settings, by their names in the API.
    package var document: JSONValue
    /// Whether a secret is stored; only `clientSecret(of:)` reads it.
    package var hasSecret: Bool
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// Whether the registration counts for everyone. It is false for a pool that only one tenant
    /// claims to own: then it counts only for that tenant's credentials.
    package var isConfirmed: Bool
    /// The time since when this process has been unable to reach the provider; `nil` if the
    /// provider can be reached. Not stored.
    package var unreachableSince: Timestamp?

    static let columns: SQL =
        """
        id, tenant_id, kind, name, issuer, document::text, version, created_at, updated_at,
        confirmed, secret IS NOT NULL
        """

    init(_ row: Row) throws(PostgresError) { try self.init(row, from: 0) }

    /// Decodes the columns of `columns`, which begin at the index `start` of the row.
    init(_ row: Row, from start: Int) throws(PostgresError) {
        id = try row.get(start)
        tenantID = try row.get(start + 1, as: UUID?.self)
        kind = try row.get(start + 2)
        name = try row.get(start + 3)
        issuer = try row.get(start + 4)
        document = try row.json(start + 5)
        (version, createdAt, updatedAt, isConfirmed, hasSecret) = try row.columns(from: start + 6)
    }

    /// The provider in the form that the rules use; `nil` for a kind that the rules do not know.
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
    /// The value of a JSON column that was selected as text; SQL's NULL becomes JSON's null.
    func json(_ column: Int) throws(PostgresError) -> JSONValue {
        guard let text: String = try get(column, as: String?.self) else { return .null }
        do {
            return try JSONValue(parsing: Array(text.utf8))
        } catch {
            throw PostgresError(.decoding, "JSON")
        }
    }
}

/// Registered providers. An owner has at most one for each kind and issuer. A Cognito pool may be
/// registered by several owners, but at most one registration is confirmed.
extension Database {
    /// One page of providers. If `owner` is nil, the list has the providers of every owner, which
    /// only the platform may see. Otherwise it has only the providers of the tenant `owner`. If
    /// `ids` is not nil, the list has only providers with these ids.
    package func providers(
        _ list: ListQuery, owner: UUID?, kind: String? = nil, ids: [UUID]? = nil
    ) async throws(PostgresError) -> ListPage<ProviderRow> {
        var source: SQL = "providers WHERE true"
        if let owner { source += " AND tenant_id = \(owner)" }
        if let kind { source += " AND kind = \(kind)" }
        if let ids { source += " AND id = ANY (\(ids)::uuid[])" }
        let statement = ListStatement(columns: ProviderRow.columns, source: source)
        var page = try await app.read(statement.page(list)).page(list, ProviderRow.init)
        page.rows = try await named(page.rows)
        return page
    }

    /// The same providers with `tenantName` set. One query reads all names.
    package func named(_ rows: [ProviderRow]) async throws(PostgresError) -> [ProviderRow] {
        let names = try await tenantNames(rows.compactMap(\.tenantID), to: nil)
        return rows.map { row in
            var row = row
            row.tenantName = row.tenantID.flatMap { names[$0] }
            return row
        }
    }

    /// The providers at which a tenant's users may sign in: the tenant's own first, then the
    /// platform's.
    package func providers(near tenant: UUID) async throws(PostgresError) -> [ProviderRow] {
        let rows = try await app.read(
            """
            SELECT \(ProviderRow.columns) FROM (
                (SELECT * FROM providers WHERE tenant_id = \(tenant)\(ListQuery.everyTime("created_at"))
                    ORDER BY created_at, id LIMIT 200)
                UNION ALL
                (SELECT * FROM providers WHERE tenant_id IS NULL\(ListQuery.everyTime("created_at"))
                    ORDER BY created_at, id LIMIT 200)) AS near
            ORDER BY tenant_id NULLS LAST, created_at, id LIMIT 200
            """)
        var found: [ProviderRow] = []
        for row in rows { found.append(try ProviderRow(row)) }
        return found
    }

    /// The providers of `providers(near:)` with which a sign-in in a browser is possible.
    package func signInProviders(near tenant: UUID) async throws(PostgresError) -> [ProviderRow] {
        try await providers(near: tenant).filter { row in
            ["oidc", "google", "github"].contains { sameBytes($0, row.kind) }
                && row.document["client_id"]?.string != nil
        }
    }

    /// The providers that a tenant's own pages offer: the tenant's own, and those of the platform
    /// that lead to the tenant. A provider of the platform leads to the tenant if a client of the
    /// tenant names the provider's id or kind, or if the provider's `client_tenants` contains the
    /// tenant.
    package func offeredProviders(of tenant: UUID) async throws(PostgresError) -> [ProviderRow] {
        let found = try await signInProviders(near: tenant)
        guard tenant != .platform else { return found }
        let clients = try await scope(tenant).read(
            """
            SELECT settings->>'provider' FROM clients
            WHERE tenant_id = \(tenant) AND enabled AND settings->>'provider' IS NOT NULL
            """)
        let named = try clients.all { row throws(PostgresError) in try row.get(0, as: String.self) }
        return found.filter { row in
            let leads = row.document["client_tenants"]?.members ?? []
            return row.tenantID != nil
                || named.contains { sameBytes($0, row.kind) || sameBytes($0, row.id.description) }
                || leads.contains { $0.value.string.flatMap { UUID($0) } == tenant }
        }
    }

    /// The number of users' identities at the provider; counts at most 100,000. For a provider of
    /// the platform, counts the identities of all tenants. For a Cognito pool, includes identities
    /// from upstream providers.
    package func identities(at row: ProviderRow) async throws(PostgresError) -> Int {
        var condition: SQL = "provider = \(row.kind) AND issuer = \(row.issuer)"
        if row.kind.utf8.elementsEqual("cognito".utf8) {
            condition =
                """
                provider = \(row.kind)
                    AND (issuer = \(row.issuer) OR starts_with(issuer, \(row.issuer + "/")))
                """
        }
        if let owner = row.tenantID { condition += " AND tenant_id = \(owner)" }
        let rows = try await platform.read(
            """
            SELECT count(*) FROM (SELECT 1 FROM identities WHERE \(condition)
                AND user_id IS NOT NULL LIMIT 100000) AS found
            """
        )
        return try rows.first?.get(0) ?? 0
    }

    /// The provider with this id. If `owner` is not nil, the provider must belong to this tenant.
    /// `nil` if there is no such provider.
    package func provider(_ id: UUID, owner: UUID?) async throws(PostgresError) -> ProviderRow? {
        let rows = try await app.read(
            "SELECT \(ProviderRow.columns) FROM providers WHERE id = \(id)")
        guard let row = try rows.first.map(ProviderRow.init) else { return nil }
        return owner == nil || row.tenantID == owner ? row : nil
    }
}

extension ProviderRow {
    /// Whether this provider, and no other, can prove addresses in this domain, as `auto_link`
    /// requires. The claim that an address is verified is not enough, since other issuers may make
    /// the same claim. `hostedDomain` is Google's `hd`.
    package func isAuthoritative(
        for domain: String, emailVerified: Bool?, hostedDomain: String?
    ) -> Bool {
        guard tenantID == nil, let provider else { return false }
        let key = IdentityKey(provider: provider.kind, issuer: issuer, subject: "")
        let attempt = Attempt(
            trigger: .federated, identity: key, address: .missing, emailVerified: emailVerified,
            hostedDomain: hostedDomain.flatMap { try? DomainName($0).ascii })
        return AddressTrust.ofProvider(provider, attempt: attempt, domain: domain, ownDomain: nil)
            == .authoritative
    }

    /// Whether this provider, and no other, can prove some addresses in this domain.
    package func isAuthoritative(for domain: String) -> Bool {
        isAuthoritative(for: domain, emailVerified: true, hostedDomain: domain)
    }
}
