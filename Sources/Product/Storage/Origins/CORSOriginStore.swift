import Domain
import JSON
import Postgres
import Text

/// Allow lists of origins, a tenant's or (under the nil tenant) the platform's.
extension TenantScope {
    /// `text`: part of the origin, or nil.
    package func origins(
        _ list: ListQuery, matching text: String?
    ) async throws(PostgresError) -> ListPage<CORSOriginRow> {
        let statement = ListStatement(
            columns: CORSOriginRow.columns,
            source: "cors_origins WHERE tenant_id = \(tenant)\(Self.originFilter(text))",
            isWide: true)
        return try await read(statement.page(list)).page(list, CORSOriginRow.init)
    }

    /// Changes with every change of the list, whatever page of it is read.
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
    /// Serialises writers of one list: one at a time checks and changes its version.
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

    /// Whether the tenant may list a wildcard below this domain.
    package func wildcardStands(_ base: String) async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            SELECT EXISTS (SELECT 1 FROM domains
                WHERE tenant_id = \(tenant) AND domain = ANY(\(FactsReading.suffixes(of: base)))
                    AND status = 'verified')
            """)
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    /// Lists an origin; 409 with the id of the row that lists it already.
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
