import Domain
import JSON
import Postgres
import Text

/// Tenants: created, found, renamed, suspended, deleted and restored.
extension Database {
    /// The tenant by id or slug, whatever its status, without its attributes; nil if there is none.
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
        var row = try await scope(id).tenantRow()
        // Thousands of tenants stay in memory.
        row?.attributes = AttributePair()
        return row
    }

    /// Every tenant, or those of these statuses, for the platform's operators and keys.
    package func tenants(
        _ list: ListQuery, statuses: [String]?, matching text: String?, externalID: String? = nil
    ) async throws(PostgresError) -> ListPage<TenantRow> {
        var source: SQL = "tenants WHERE true"
        if let statuses { source += " AND status = ANY (\(statuses))" }
        if let externalID { source += " AND external_id = \(externalID)" }
        if let text {
            // A CASE the planner takes for even odds, and walks the index.
            source += """
                 AND CASE WHEN concat_ws(' ', slug, name) ILIKE ALL (\(Self.patterns(of: text)))
                    THEN true ELSE false END
                """
        }
        let statement = ListStatement(columns: TenantRow.columns, source: source)
        return try await readLagging(statement.page(list), in: nil).page(list, TenantRow.init)
    }

    /// How many users each tenant has, up to 1,000 exactly.
    package func userCounts(of tenants: [UUID]) async throws(PostgresError) -> [UUID: ListTotal] {
        let most = 1000
        let rows = try await readLagging(
            """
            SELECT t.id, (SELECT count(*) FROM (
                SELECT 1 FROM users u WHERE u.tenant_id = t.id AND u.status <> 'deleted'
                LIMIT \(raw: "\(most + 1)")) AS capped)
            FROM tenants t WHERE t.id = ANY (\(tenants))
            """, in: nil)
        var counts: [UUID: ListTotal] = [:]
        for row in rows {
            let count: Int = try row.get(1)
            counts[try row.get(0)] = ListTotal(min(count, most), exact: count <= most)
        }
        return counts
    }

    /// Creates a tenant with its slug, its locator and the first policy. 409 `conflict` for a slug
    /// or an external id that another has; throws `AttributeFaults`.
    package func createTenant(
        id: UUID = .random(), slug: String, name: String, policy: JSONValue,
        externalID: String? = nil,
        attributes: AttributePair = AttributePair(), by actor: Actor
    ) async throws -> TenantRow {
        try attributes.requireWithinLimits()
        try await requireFree(externalID)
        return try await scope(id).change(by: actor) { change in
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
            let rows = try await TenantRow.refusingTakenID {
                try await change.query(
                    """
                    INSERT INTO tenants (id, slug, name, locator, external_id, public_attributes,
                        private_attributes, created_at, updated_at)
                    VALUES (\(id), \(slug), \(name), \(locator), \(externalID),
                        \(attributes.public.text), \(attributes.private.text), \(change.now),
                        \(change.now))
                    RETURNING \(TenantRow.columns)
                    """)
            }
            if externalID != nil { try await change.claim(externalID: externalID) }
            var changes = AuditChanges()
            changes.add("external_id", nil, externalID)
            changes.add(AttributePair(), attributes)
            try await change.audit(.tenantCreated, AuditTarget("tenant", id, name), changes)
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

extension Rows {
    /// The row that a statement must have returned.
    func only<Value>(_ make: (Row) throws -> Value) throws -> Value {
        guard let row = first else { throw StorageFailure.notFound("row") }
        return try make(row)
    }
}

extension JSONB {
    init(_ value: JSONValue) { self.init(String(decoding: value.encoded(), as: UTF8.self)) }
}
