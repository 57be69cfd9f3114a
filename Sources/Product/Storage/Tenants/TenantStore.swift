import Domain
import JSON
import Postgres
import Text

/// Tenants: created, found, renamed, suspended, deleted and restored.
extension Database {
    /// The tenant by id or slug, whatever its status; nil if there is none.
    package func tenant(_ idOrSlug: String) async throws(PostgresError) -> TenantRow? {
        let id: UUID
        if let parsed = UUID(idOrSlug) {
            id = parsed
        } else {
            let found = try await app.read("SELECT directory_tenant_by_slug(\(idOrSlug))")
            guard let row = found.first, let tenant: UUID = try row.get(0, as: UUID?.self) else {
                return nil
            }
            id = tenant
        }
        return try await scope(id).tenantRow()
    }

    /// Every tenant, or those of these statuses, for the platform's operators and keys.
    package func tenants(
        _ list: ListQuery, statuses: [String]?, matching text: String?
    ) async throws(PostgresError) -> ListPage<TenantRow> {
        var source: SQL = "tenants WHERE true"
        if let statuses { source += " AND status = ANY (\(statuses))" }
        if let text {
            let pattern = "%" + Self.escapeLike(text) + "%"
            source += " AND (slug ILIKE \(pattern) OR name ILIKE \(pattern))"
        }
        let statement = ListStatement(columns: TenantRow.columns, source: source)
        return try await platform.read(statement.page(list)).page(list, TenantRow.init)
    }

    /// How many users each tenant has, up to 1,000 exactly.
    package func userCounts(of tenants: [UUID]) async throws(PostgresError) -> [UUID: ListTotal] {
        let most = 1000
        let rows = try await platform.read(
            """
            SELECT t.id, (SELECT count(*) FROM (
                SELECT 1 FROM users u WHERE u.tenant_id = t.id AND u.status <> 'deleted'
                LIMIT \(raw: "\(most + 1)")) AS capped)
            FROM unnest(\(tenants)) AS t (id)
            """)
        var counts: [UUID: ListTotal] = [:]
        for row in rows {
            let count: Int = try row.get(1)
            counts[try row.get(0)] = ListTotal(min(count, most), exact: count <= most)
        }
        return counts
    }

    /// Creates a tenant with its slug, its locator and the first policy.
    package func createTenant(
        id: UUID = .random(), slug: String, name: String, policy: JSONValue, by actor: Actor
    ) async throws -> TenantRow {
        try await scope(id).change(by: actor) { change in
            guard try await change.claim("slug", slug) else {
                throw StorageFailure.conflict(
                    code: "conflict", detail: "The slug is taken; choose another.", id: nil)
            }
            var locator = Self.newLocator()
            while try await !change.claim("locator", locator) { locator = Self.newLocator() }
            try await change.query(
                """
                INSERT INTO policies (tenant_id, version, document, created_by, created_at)
                VALUES (\(id), 1, \(JSONB(policy)), \(actor.name), \(change.now))
                """)
            let rows = try await change.query(
                """
                INSERT INTO tenants (id, slug, name, locator, created_at, updated_at)
                VALUES (\(id), \(slug), \(name), \(locator), \(change.now), \(change.now))
                RETURNING \(TenantRow.columns)
                """)
            try await change.audit(.tenantCreated, AuditTarget("tenant", id, name))
            return try rows.only(TenantRow.init)
        }
    }

    /// Six base62 digits; `000000` is the platform's.
    private static func newLocator() -> String {
        let made = Base62.randomText(6)
        return made == "000000" ? newLocator() : made
    }

    static func escapeLike(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar == "\\" || scalar == "%" || scalar == "_" { escaped += "\\" }
            escaped.unicodeScalars.append(scalar)
        }
        return escaped
    }
}

extension TenantScope {
    package func tenantRow() async throws(PostgresError) -> TenantRow? {
        let rows = try await read("SELECT \(TenantRow.columns) FROM tenants WHERE id = \(tenant)")
        return try rows.first.map(TenantRow.init)
    }
}

extension Change {
    /// Claims a name in the directory for this tenant; false if another holds it.
    func claim(_ kind: String, _ value: String) async throws(PostgresError) -> Bool {
        let rows = try await query("SELECT directory_claim(\(kind), \(value))")
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    /// Locks the tenant's row for this transaction.
    package func lockTenant() async throws -> TenantRow {
        let rows = try await query(
            "SELECT \(TenantRow.columns) FROM tenants WHERE id = \(tenant) FOR UPDATE")
        return try rows.only(TenantRow.init)
    }

    package func renameTenant(_ row: TenantRow, to name: String) async throws -> TenantRow {
        try await updateTenant(row, action: .tenantUpdated, name: name, status: row.status)
    }

    /// `status`: active, suspended or deleted. The same status again changes nothing. 409 for a
    /// tenant that was deleted too long ago to be restored.
    package func setTenantStatus(
        _ row: TenantRow, _ status: Tenant.Status, action: AuditAction, by side: TenantSide = .platform
    ) async throws -> TenantRow {
        if row.status == status {
            try await takeOverSuspension(row, side)
            alreadyApplied()
            return row
        }
        if let deletedAt = row.deletedAt, now >= deletedAt.adding(seconds: Retention.deleted) {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "The tenant was deleted 30 days ago or longer, or its purge has begun.",
                id: nil)
        }
        return try await updateTenant(
            row, action: action, name: row.name, status: status,
            side: status == .suspended ? side : nil)
    }

    private func updateTenant(
        _ row: TenantRow, action: AuditAction, name: String, status: Tenant.Status,
        side: TenantSide? = nil
    ) async throws -> TenantRow {
        // The days count from the deletion: another change of a deleted tenant keeps its time.
        let deletedAt: Timestamp? = status == .deleted ? row.deletedAt ?? now : nil
        let rows = try await query(
            """
            UPDATE tenants SET name = \(name), status = \(status), deleted_at = \(deletedAt),
                version = version + 1, updated_at = \(now)
            WHERE id = \(tenant) RETURNING \(TenantRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("name", row.name, name)
        changes.add("status", row.status, status)
        changes.add("suspended_by", nil, side?.rawValue)
        try await audit(action, AuditTarget("tenant", tenant, name), changes)
        return try rows.only(TenantRow.init)
    }
}

extension Rows {
    /// The row that a statement must have returned.
    func only<Value>(_ make: (Row) throws -> Value) throws -> Value {
        guard let row = first else { throw StorageFailure.notFound("row") }
        return try make(row)
    }
}

extension JSONB {
    init(_ value: JSONValue) {
        self.init(String(decoding: value.encoded(), as: UTF8.self))
    }
}
