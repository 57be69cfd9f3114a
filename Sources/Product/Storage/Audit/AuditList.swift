import Domain
import JSON
import Postgres
import Text

/// One audit event as stored.
package struct AuditRow: ListedRow {
    package var tenant: UUID
    package var id: UUID
    package var seq: Int?
    package var occurredAt: Timestamp
    package var actorType: String
    package var actorID: String
    package var actorName: String
    package var action: String
    package var targetType: String
    package var targetID: String
    package var targetName: String
    package var requestID: String
    package var ip: String?
    package var changes: JSONValue

    package var createdAt: Timestamp { occurredAt }

    static let columns: SQL =
        """
        tenant_id, id, seq, occurred_at, actor_type, actor_id, actor_name, action, target_type,
        target_id, target_name, request_id, ip, changes
        """

    init(_ row: Row) throws(PostgresError) {
        tenant = try row.get(0)
        id = try row.get(1)
        seq = try row.get(2)
        occurredAt = try row.get(3)
        actorType = try row.get(4)
        actorID = try row.get(5)
        actorName = try row.get(6)
        action = try row.get(7)
        targetType = try row.get(8)
        targetID = try row.get(9)
        targetName = try row.get(10)
        requestID = try row.get(11)
        ip = try row.get(12)
        let text: JSONB = try row.get(13)
        changes = (try? JSONValue(parsing: Array(text.text.utf8))) ?? .object([])
    }
}

/// Which events; nil takes all. `actor` and `target` are an id or a name, `action` may end with
/// `.` for a whole group.
package struct AuditFilter: Sendable {
    package var actor: String?
    package var action: String?
    package var target: String?
    package var since: Timestamp?
    package var until: Timestamp?
    /// Only what these ids did.
    package var onlyActors: [String]?

    package init() {}

    fileprivate var condition: SQL {
        var sql: SQL = ""
        if let actor { sql += Self.party("actor", actor) }
        if let action {
            if action.utf8.last == UInt8(ascii: ".") {
                sql += " AND action LIKE \(Database.escapeLike(action) + "%")"
            } else {
                sql += " AND action = \(action)"
            }
        }
        if let target { sql += Self.party("target", target) }
        if let since { sql += " AND occurred_at >= \(since)" }
        if let until { sql += " AND occurred_at < \(until)" }
        if let onlyActors { sql += " AND actor_id = ANY (\(onlyActors))" }
        return sql
    }

    /// An id is met by the index of ids, in the list's order; it is nobody's name.
    private static func party(_ column: StaticString, _ wanted: String) -> SQL {
        if UUID(wanted) != nil { return " AND \(raw: "\(column)")_id = \(wanted)" }
        return " AND (\(raw: "\(column)")_id = \(wanted) OR \(raw: "\(column)")_name = \(wanted))"
    }
}

/// Pages of events. The caller's query is ordered by `occurredAt`.
extension TenantScope {
    package func auditEvents(
        _ list: ListQuery, _ filter: AuditFilter
    ) async throws(PostgresError) -> ListPage<AuditRow> {
        try await read(AuditRow.list(of: tenant, filter).page(list)).page(list, AuditRow.init)
    }
}

extension Database {
    /// Over every tenant, for the platform.
    package func auditEvents(
        _ list: ListQuery, _ filter: AuditFilter
    ) async throws(PostgresError) -> ListPage<AuditRow> {
        try await platform.read(AuditRow.list(of: nil, filter).page(list))
            .page(list, AuditRow.init)
    }
}

extension AuditRow {
    static func list(of tenant: UUID?, _ filter: AuditFilter) -> ListStatement {
        let place: SQL = tenant.map { "tenant_id = \($0)" } ?? "true"
        return ListStatement(
            columns: columns, source: "audit_events WHERE \(place)\(filter.condition)")
    }
}
