import Domain
import JSON
import Postgres
import Text

/// A tenant as stored.
package struct TenantRow: ListedRow {
    package var id: UUID
    package var slug: String
    package var name: String
    package var locator: String
    package var status: Tenant.Status
    package var policyVersion: Int
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    var deletedAt: Timestamp?
    /// The name in lower case, for ordering the list.
    package var nameKey: String
    /// The tenant's id in the customer's own system.
    package var externalID: String?
    /// The appearance of the tenant's sign-in, invite and join pages.
    package var appearance = Appearance()
    /// The attributes; empty in a row from `tenant(_:)`, which is cached.
    package var attributes = AttributePair()
    /// Whether the reader sees only the public attributes.
    package var hidesPrivate = false

    /// The row that stands for the platform in calls that name no tenant. Data that belongs to no
    /// tenant is stored under the id of this row.
    package static func platform(named name: String, at now: Timestamp) -> TenantRow {
        TenantRow(platform: name, at: now)
    }

    private init(platform name: String, at now: Timestamp) {
        id = .platform
        slug = ""
        self.name = name
        locator = "000000"
        status = .active
        policyVersion = 0
        version = 0
        createdAt = now
        nameKey = name
        updatedAt = now
    }

    static let columns: SQL =
        """
        id, slug, name, locator, status, policy_version, version, created_at, updated_at,
        deleted_at, name_key, external_id, appearance_name, appearance_accent, logo_hash,
        public_attributes, private_attributes
        """

    /// The number of columns; what is selected after `columns` begins at this index.
    static let end = 17

    init(_ row: Row) throws(PostgresError) {
        let (shown, kept): (String, String)
        (
            id, slug, name, locator, status, policyVersion, version, createdAt, updatedAt,
            deletedAt, nameKey, externalID, appearance.name, appearance.accent, appearance.logo,
            shown, kept
        ) = try row.columns()
        attributes = AttributePair(public: shown, private: kept)
    }

    package func value(of sort: ListQuery.Sort) -> String {
        sort == .name ? nameKey : "\(createdAt.microseconds)"
    }
}

/// Finds, lists and creates tenants, and counts their users.
extension Database {
    /// The tenant with this id or slug, whatever its status, but without its attributes; `nil` if
    /// there is none.
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
        // Drops the attributes to save memory, since thousands of tenants are cached.
        row?.attributes = AttributePair()
        return row
    }

    /// One page of tenants. If `statuses` is nil, the list has tenants of every status.
    package func tenants(
        _ list: ListQuery, statuses: [String]?, matching text: String?, externalID: String? = nil
    ) async throws(PostgresError) -> ListPage<TenantRow> {
        var source: SQL = "tenants WHERE true"
        if let statuses { source += " AND status = ANY (\(statuses))" }
        if let externalID { source += " AND external_id = \(externalID)" }
        if let text {
            // The CASE makes PostgreSQL read in the order of the index, since the planner assumes
            // that a CASE is true for half of the rows.
            source += """
                 AND CASE WHEN concat_ws(' ', slug, name) ILIKE ALL (\(Self.patterns(of: text)))
                    THEN true ELSE false END
                """
        }
        let statement = ListStatement(columns: TenantRow.columns, source: source)
        return try await readLagging(statement.page(list), in: nil).page(list, TenantRow.init)
    }

    /// The number of users of each tenant; exact up to 1,000.
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

    /// Creates a tenant with its slug, its locator and its first policy. Throws 409 `conflict` if
    /// another tenant has the slug or the external id, and `AttributeFaults` for invalid
    /// attributes.
    package func createTenant(
        id: UUID = .random(), slug: String, name: String, policy: JSONValue,
        externalID: String? = nil, appearance: Appearance = Appearance(),
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
                    INSERT INTO tenants (id, slug, name, locator, external_id, appearance_name,
                        appearance_accent, public_attributes, private_attributes, created_at,
                        updated_at)
                    VALUES (\(id), \(slug), \(name), \(locator), \(externalID),
                        \(appearance.name), \(appearance.accent), \(attributes.public.text),
                        \(attributes.private.text), \(change.now), \(change.now))
                    RETURNING \(TenantRow.columns)
                    """)
            }
            if externalID != nil { try await change.claim(externalID: externalID) }
            var changes = AuditChanges()
            changes.add("external_id", nil, externalID)
            changes.add("appearance_name", nil, appearance.name)
            changes.add("appearance_accent", nil, appearance.accent)
            changes.add(AttributePair(), attributes)
            try await change.audit(.tenantCreated, AuditTarget("tenant", id, name), changes)
            return try rows.only(TenantRow.init)
        }
    }

    /// A random locator of six base62 digits. It is never `000000`, which is the platform's.
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
    /// Decodes the first row of a statement that always returns a row. Throws if there is no row.
    func only<Value>(_ make: (Row) throws -> Value) throws -> Value {
        guard let row = first else { throw StorageFailure.notFound("row") }
        return try make(row)
    }
}

extension JSONB {
    init(_ value: JSONValue) { self.init(String(decoding: value.encoded(), as: UTF8.self)) }
}

/// The names of tenants for the rows of a list, read in a separate query per page: with a join,
/// PostgreSQL would read all tenants if there are few.
extension Database {
    /// The names, by id, of the tenants in `ids` that exist. If `reader` is a tenant, it gets only
    /// its own name. If `reader` is nil, it is the platform, which gets all names.
    func tenantNames(
        _ ids: [UUID], to reader: UUID?
    ) async throws(PostgresError) -> [UUID: String] {
        if let reader { return try await scope(reader).tenantNames(ids) }
        let wanted = Set(ids).subtracting([.platform])
        guard !wanted.isEmpty else { return [:] }
        return try await readLagging(Self.tenantNames(wanted.sorted()), in: nil).names()
    }

    fileprivate static func tenantNames(_ ids: [UUID]) -> SQL {
        "SELECT id, name FROM tenants WHERE id = ANY(\(ids))"
    }
}

extension TenantScope {
    /// The names, by id, of the tenants in `ids` that this tenant may see: only its own.
    func tenantNames(_ ids: [UUID]) async throws(PostgresError) -> [UUID: String] {
        let wanted = Set(ids).intersection([tenant])
        guard !wanted.isEmpty else { return [:] }
        return try await readLagging(Database.tenantNames(wanted.sorted())).names()
    }
}

extension Rows {
    /// Decodes rows of an id and a name.
    func names() throws(PostgresError) -> [UUID: String] {
        var names: [UUID: String] = [:]
        for row in self { names[try row.get(0)] = try row.get(1, as: String.self) }
        return names
    }
}

/// Tenants' external ids, by which the customer's own system knows them.
extension Database {
    /// If a tenant other than `tenant` has the external id, throws 409 `conflict` with the id of
    /// that other tenant.
    package func requireFree(_ externalID: String?, for tenant: UUID? = nil) async throws {
        guard let externalID else { return }
        let rows = try await platform.read(
            "SELECT id FROM tenants WHERE external_id = \(externalID)")
        guard let other: UUID = try rows.first?.get(0), other != tenant else { return }
        throw TenantRow.externalIDTaken(by: other)
    }
}

extension Change {
    /// Reserves the external id for this tenant and releases the tenant's previous one. If
    /// `externalID` is nil, only releases the previous one.
    func claim(externalID: String?) async throws {
        let rows = try await query("SELECT directory_claim_external_id(\(externalID))")
        guard try rows.only({ row throws(PostgresError) in try row.get(0) }) else {
            throw TenantRow.externalIDTaken(by: nil)
        }
    }
}

extension TenantRow {
    /// Runs a write. If another transaction has taken the external id since `requireFree`, throws
    /// 409 `conflict`.
    static func refusingTakenID(_ write: () async throws -> Rows) async throws -> Rows {
        do {
            return try await write()
        } catch let error as PostgresError where error.isUniqueViolation {
            throw externalIDTaken(by: nil)
        }
    }

    fileprivate static func externalIDTaken(by tenant: UUID?) -> StorageFailure {
        .conflict(code: "conflict", detail: "Another tenant has the external id.", id: tenant)
    }
}
