import Domain
import JSON
import Postgres
import Text

/// A tenant's schema of attributes as stored.
package struct AttributeSchemaRow: Sendable {
    package var schema: AttributeSchema
    /// 0: none was ever put.
    package var version: Int
    /// The indexed names by which lists filter already.
    package var ready: [String]
    /// The last user read for the index; nil: all were.
    var indexedTo: UUID?

    static let columns: SQL = "s.document, s.version, s.ready, s.indexed_to"

    static let none = AttributeSchemaRow(
        schema: AttributeSchema(), version: 0, ready: [], indexedTo: nil)

    private init(schema: AttributeSchema, version: Int, ready: [String], indexedTo: UUID?) {
        self.schema = schema
        self.version = version
        self.ready = ready
        self.indexedTo = indexedTo
    }

    /// A row whose columns are NULL is none.
    init(_ row: Row) throws {
        guard let document: String = try row.get(0, as: String?.self) else {
            self = .none
            return
        }
        schema = AttributeSchema(document: try JSONValue(parsing: Array(document.utf8)))
        version = try row.get(1)
        ready = try row.get(2)
        indexedTo = try row.get(3)
    }

    /// Whether every user of before was read for the index.
    package var isRead: Bool { indexedTo == nil }

    package func isReady(_ name: String) -> Bool { ready.contains { sameBytes($0, name) } }

    /// The indexed names by which lists do not filter yet.
    package var unready: [String] { schema.indexed.map(\.name).filter { !isReady($0) } }
}

extension AttributeSchema {
    /// From `document`.
    init(document: JSONValue) {
        self.init(
            (document.members ?? []).map { Entry($0.name, AttributeRule(document: $0.value)) })
    }

    /// As `/v1` shows it: members by their names.
    package var document: JSONValue {
        .object(entries.map { .init($0.name, $0.rule.document) })
    }
}

extension AttributeRule {
    /// Unknown members are left out.
    package init(document: JSONValue) {
        self.init()
        type = document["type"]?.string.flatMap(Kind.init(rawValue:))
        values = document["enum"]?.array
        isRequired = document["required"]?.bool ?? false
        maxLength = document["maxLength"]?.int
        pattern = document["pattern"]?.string
        isIndexed = document["indexed"]?.bool ?? false
        isInToken = document["in_token"]?.bool ?? false
        audience = document["for"]?.string.flatMap(Audience.init(rawValue:)) ?? .public
    }

    var document: JSONValue {
        var members: [JSONValue.Member] = [.init("for", .string(audience.rawValue))]
        if let type { members.append(.init("type", .string(type.rawValue))) }
        if let values { members.append(.init("enum", .array(values))) }
        if let maxLength { members.append(.init("maxLength", .int(maxLength))) }
        if let pattern { members.append(.init("pattern", .string(pattern))) }
        for (name, flag) in [
            ("required", isRequired), ("indexed", isIndexed), ("in_token", isInToken),
        ] {
            members.append(.init(name, .bool(flag)))
        }
        return .object(members)
    }
}

extension TenantScope {
    /// An empty one if none was put.
    package func attributeSchema() async throws -> AttributeSchemaRow {
        let rows = try await read(
            """
            SELECT \(AttributeSchemaRow.columns) FROM attribute_schemas s
            WHERE s.tenant_id = \(tenant)
            """)
        return try rows.first.map { try AttributeSchemaRow($0) } ?? .none
    }
}

extension Change {
    /// The schema in force, which stays so until this transaction ends.
    package func attributeSchema() async throws -> AttributeSchemaRow {
        let rows = try await query(
            """
            SELECT \(AttributeSchemaRow.columns) FROM tenants t
            LEFT JOIN attribute_schemas s ON s.tenant_id = \(tenant)
            WHERE t.id = \(tenant) FOR SHARE OF t
            """)
        return try rows.first.map { try AttributeSchemaRow($0) } ?? .none
    }

    /// `current`: the one in force, the tenant locked. The same again changes nothing.
    package func putAttributeSchema(
        _ schema: AttributeSchema, after current: AttributeSchemaRow, of tenantName: String
    ) async throws -> AttributeSchemaRow {
        if schema == current.schema {
            alreadyApplied()
            return current
        }
        let kept = schema.indexed.filter { entry in
            current.isReady(entry.name)
                && current.schema[entry.name]?.audience == entry.rule.audience
        }.map(\.name)
        // Read anew as well where a name is no longer indexed: its words go.
        let unread = schema.hasIndex(of: current.schema) ? current.indexedTo : UUID.platform
        let rows = try await query(
            """
            INSERT INTO attribute_schemas AS s
                (tenant_id, document, version, ready, indexed_to, updated_at)
            VALUES (\(tenant), \(schema.text), 1, \(kept), \(unread), \(now))
            ON CONFLICT (tenant_id) DO UPDATE SET document = excluded.document,
                version = s.version + 1, ready = excluded.ready,
                indexed_to = excluded.indexed_to, updated_at = excluded.updated_at
            RETURNING \(AttributeSchemaRow.columns)
            """)
        var changes = AuditChanges()
        let before = current.schema.document
        for entry in current.schema.entries where schema[entry.name] == nil {
            changes.add(entry.name, entry.rule.document, .null)
        }
        for entry in schema.entries {
            changes.add(entry.name, before[entry.name] ?? .null, entry.rule.document)
        }
        try await audit(
            .attributeSchemaUpdated, AuditTarget("attribute_schema", tenant, tenantName), changes)
        return try rows.only { try AttributeSchemaRow($0) }
    }
}

extension AttributeSchema {
    fileprivate var text: String { String(decoding: document.encoded(), as: UTF8.self) }
}
