import Domain
import JSON
import Postgres
import Text

/// One stored entry of an allow list for CORS.
package struct CORSOriginRow: ListedRow {
    package var tenant: UUID
    package var id: UUID
    /// The origin in canonical form.
    package var origin: String
    package var credentials: Bool
    package var label: String?
    package var expiresAt: Timestamp?
    package var createdByType: String
    package var createdByID: String
    package var createdAt: Timestamp

    static let columns: SQL =
        """
        tenant_id, id, origin, credentials, label, expires_at, created_by_type, created_by_id,
        created_at
        """

    init(_ row: Row) throws(PostgresError) {
        (
            tenant, id, origin, credentials, label, expiresAt, createdByType, createdByID, createdAt
        ) = try row.columns()
    }
}

/// The values of an entry to store.
package struct CORSOriginEntry: Sendable {
    package var origin: Origin
    var credentials: Bool
    var label: String?
    var expiresAt: Timestamp?

    package init(_ origin: Origin, credentials: Bool, label: String?, expiresAt: Timestamp?) {
        self.origin = origin
        self.credentials = credentials
        self.label = label
        self.expiresAt = expiresAt
    }
}

/// Allow lists of origins. Each tenant has one; the platform's list is stored under the nil tenant.
extension TenantScope {
    /// One page of the list. `text` is a part of the origin or of its label; nil to list all.
    package func origins(
        _ list: ListQuery, matching text: String?
    ) async throws(PostgresError) -> ListPage<CORSOriginRow> {
        let statement = ListStatement(
            columns: CORSOriginRow.columns,
            source: "cors_origins WHERE tenant_id = \(tenant)\(Self.originFilter(text))",
            isWide: true)
        return try await read(statement.page(list)).page(list, CORSOriginRow.init)
    }

    /// A hash of the whole list, not only of one page. It changes with every change of the list.
    package func originListVersion() async throws(PostgresError) -> String {
        try await read(Self.originVersion(tenant)).first?.get(0, as: String.self) ?? ""
    }

    private static func originFilter(_ text: String?) -> SQL {
        guard let text else { return "" }
        return " AND concat_ws(' ', origin, label) ILIKE ALL (\(Database.patterns(of: text)))"
    }

    static func originVersion(_ tenant: UUID) -> SQL {
        """
        SELECT left(encode(sha256(convert_to(coalesce(string_agg(concat_ws(' ', id, origin,
            credentials, expires_at, label), E'\\n' ORDER BY id), ''), 'UTF8')), 'hex'), 32)
        FROM cors_origins WHERE tenant_id = \(tenant)
        """
    }
}

extension Change {
    /// Locks the list until the transaction ends, so that only one writer at a time checks and
    /// changes its version.
    package func lockOrigins() async throws(PostgresError) {
        try await query(
            "SELECT pg_advisory_xact_lock(hashtextextended('cors ' || \(tenant.description), 0))")
    }

    package func originListVersion() async throws(PostgresError) -> String {
        try await query(TenantScope.originVersion(tenant)).first?.get(0, as: String.self) ?? ""
    }

    package func allOrigins() async throws(PostgresError) -> [CORSOriginRow] {
        let rows = try await query(
            """
            SELECT \(CORSOriginRow.columns) FROM cors_origins WHERE tenant_id = \(tenant)
            ORDER BY created_at DESC, id DESC
            """)
        var listings: [CORSOriginRow] = []
        for row in rows { listings.append(try CORSOriginRow(row)) }
        return listings
    }

    /// The entry, locked; nil if the list has none with this id.
    package func origin(_ id: UUID) async throws(PostgresError) -> CORSOriginRow? {
        let rows = try await query(
            """
            SELECT \(CORSOriginRow.columns) FROM cors_origins
            WHERE tenant_id = \(tenant) AND id = \(id) FOR UPDATE
            """)
        return try rows.first.map(CORSOriginRow.init)
    }

    /// Whether the tenant may list a wildcard for the subdomains of this domain, because the tenant
    /// has verified the domain or a domain above it.
    package func wildcardStands(_ base: String) async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            SELECT EXISTS (SELECT 1 FROM domains
                WHERE tenant_id = \(tenant) AND domain = ANY(\(FactsReading.suffixes(of: base)))
                    AND status = 'verified')
            """)
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    /// Adds an origin to the list. Throws 409 with the id of the existing entry if the list already
    /// has the origin.
    package func addOrigin(_ entry: CORSOriginEntry) async throws -> CORSOriginRow {
        let id = UUID.random()
        let rows = try await query(
            """
            INSERT INTO cors_origins (tenant_id, id, origin, kind, credentials, label, expires_at,
                created_by_type, created_by_id, created_at)
            VALUES (\(tenant), \(id), \(entry.origin.canonical), \(entry.origin.kind.rawValue),
                \(entry.credentials), \(entry.label), \(entry.expiresAt), \(actor.type),
                \(actor.id), \(now))
            ON CONFLICT (tenant_id, origin) DO NOTHING RETURNING \(CORSOriginRow.columns)
            """)
        guard let row = rows.first else {
            let holder = try await query(
                """
                SELECT id FROM cors_origins
                WHERE tenant_id = \(tenant) AND origin = \(entry.origin.canonical)
                """)
            throw StorageFailure.conflict(
                code: "conflict", detail: "The origin is listed already.",
                id: try holder.first?.get(0, as: UUID.self))
        }
        try await audit(.corsOriginCreated, AuditTarget("cors_origin", id, entry.origin.canonical))
        return try CORSOriginRow(row)
    }

    package func updateOrigin(_ row: CORSOriginRow, to entry: CORSOriginEntry) async throws {
        var changes = AuditChanges()
        changes.add("credentials", .bool(row.credentials), .bool(entry.credentials))
        changes.add("label", row.label, entry.label)
        changes.add("expires_at", row.expiresAt?.description, entry.expiresAt?.description)
        if changes.isEmpty { return }
        try await query(
            """
            UPDATE cors_origins SET credentials = \(entry.credentials), label = \(entry.label),
                expires_at = \(entry.expiresAt) WHERE tenant_id = \(tenant) AND id = \(row.id)
            """)
        try await audit(.corsOriginUpdated, AuditTarget("cors_origin", row.id, row.origin), changes)
    }

    package func removeOrigin(_ row: CORSOriginRow) async throws {
        try await query("DELETE FROM cors_origins WHERE tenant_id = \(tenant) AND id = \(row.id)")
        try await audit(.corsOriginDeleted, AuditTarget("cors_origin", row.id, row.origin))
    }
}

/// What is stored about one origin for one request: the entries that list the origin, and the
/// tenant's settings that affect the response.
package struct CORSRows: Sendable {
    package var rows: [CORSRow] = []
    /// The tenant of the request; `nil` if the request named no tenant, or an unknown tenant.
    package var tenant: UUID?
    /// The status of the tenant; `nil` if there is no `tenant`.
    package var tenantStatus: Tenant.Status?
    package var devOrigins = false
    package var privateNetwork = false
}

extension Database {
    package enum CORSOwner: Sendable, Hashable {
        case platform
        /// The tenant with this id or slug.
        case tenant(String)
        /// The tenant whose key or token begins with this locator.
        case locator(String)
        /// Any active tenant that lists the origin.
        case anyone
    }

    /// The entries for an origin in the allow list of `holder`, read with one query. `listed`
    /// contains the origin itself and the wildcard that would cover the origin.
    func origins(_ listed: [String], of holder: CORSOwner) async throws -> CORSRows {
        var id: UUID?
        var slug: String?
        var locator: String?
        var isEverywhere = false
        switch holder {
        case .platform: break
        case .tenant(let text):
            id = UUID(text)
            if id == nil { slug = text }
        case .locator(let text): locator = text
        case .anyone: isEverywhere = true
        }
        let rows = try await app.read(
            """
            SELECT * FROM origin_rows(\(id), \(slug), \(locator), \(listed), \(isEverywhere))
            """)
        var found = CORSRows()
        for row in rows {
            let tenant: UUID = try row.get(0)
            if tenant != .platform, !isEverywhere {
                let status: Tenant.Status = try row.get(1)
                // A deleted tenant counts as unknown.
                if status == .deleted { continue }
                found.tenant = tenant
                found.tenantStatus = status
                found.devOrigins = try row.get(2)
                found.privateNetwork = try row.get(3)
            }
            guard let text: String = try row.get(4, as: String?.self),
                let origin = try? Origin(configuring: text)
            else { continue }
            found.rows.append(
                CORSRow(
                    origin, credentials: try row.get(5), expiresAt: try row.get(6),
                    isEnabled: try row.get(7)))
        }
        return found
    }
}
