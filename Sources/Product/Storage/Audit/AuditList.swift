import Domain
import JSON
import Postgres
import Text

/// One audit event as stored.
package struct AuditRow: ListedRow {
    /// The nil UUID for the platform's own events.
    package var tenant: UUID
    /// Ordered by time (see `UUID.ordered`).
    package var id: UUID
    /// Nothing assigns it: always nil.
    package var seq: Int?
    /// The change's time, not the commit's.
    package var occurredAt: Timestamp
    /// Such as `operator`, `user` or `key`; `system` is the service itself.
    package var actorType: String
    /// A UUID or the name of a part of the service.
    package var actorID: String
    /// When the event was written; later renames are not shown.
    package var actorName: String
    /// An `AuditAction` raw value, such as `api_key.revoked`.
    package var action: String
    /// The kind of object, such as `user`.
    package var targetType: String
    /// The object's id as text; the object may be deleted by now.
    package var targetID: String
    /// When the event was written; later renames are not shown.
    package var targetName: String
    /// Empty if no request caused the change.
    package var requestID: String
    /// The caller's address; nil if no request caused the change.
    package var ip: String?
    /// `{field: [before, after]}` without secrets.
    package var changes: JSONValue
    /// The provisioning decision that caused the change; nil: none.
    package var decisionID: UUID?

    /// For `ListedRow`: lists sort by `occurredAt`.
    package var createdAt: Timestamp { occurredAt }

    static let columns: SQL =
        """
        tenant_id, id, seq, occurred_at, actor_type, actor_id, actor_name, action, target_type,
        target_id, target_name, request_id, ip, changes, decision_id
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
        decisionID = try row.get(14, as: UUID?.self)
        changes = (try? JSONValue(parsing: Array(text.text.utf8))) ?? .object([])
    }
}

/// The filters of events; nil takes all. `actor` and `target` are an id or a name, `action` may end
/// with `.` for a whole group.
package struct AuditFilter: Sendable {
    /// An id or a name.
    package var actor: String?
    /// An action, or a group that ends with `.`.
    package var action: String?
    /// An id or a name.
    package var target: String?
    /// Inclusive.
    package var since: Timestamp?
    /// Exclusive.
    package var until: Timestamp?
    /// Only events of these actors.
    package var onlyActors: [String]?

    /// Takes all events.
    package init() {}

    /// The disjoint conditions under which an event passes the filter: each walks an index in the
    /// list's order. `condition`: of one tenant, or of all.
    fileprivate func ways(in condition: SQL) -> [SQL] {
        var rest: SQL = ""
        if let since { rest += " AND occurred_at >= \(since)" }
        if let until { rest += " AND occurred_at < \(until)" }
        if let onlyActors { rest += " AND actor_id = ANY (\(onlyActors))" }
        if let action {
            rest += group == nil ? " AND action = \(action)" : " AND starts_with(action, \(action))"
        }
        let actors = actor.map { Self.party("actor", $0) } ?? [""]
        let targets = target.map { Self.party("target", $0) } ?? [""]
        return actors.flatMap { actor in targets.map { actor + $0 } }
            .map { way in "audit_events WHERE \(condition)\(way)\(rest)" }
    }

    /// The prefix of all actions of a group.
    fileprivate var group: String? { action?.utf8.last == UInt8(ascii: ".") ? action : nil }

    /// An id is never a name; any other text may be either.
    private static func party(_ column: StaticString, _ wanted: String) -> [SQL] {
        let isID: SQL = " AND \(raw: "\(column)")_id = \(wanted)"
        if UUID(wanted) != nil { return [isID] }
        return [
            isID,
            """
             AND \(raw: "\(column)")_name = \(wanted) AND \(raw: "\(column)")_id <> \(wanted)
            """,
        ]
    }
}

/// Pages of events. The caller's query is ordered by `occurredAt`.
extension TenantScope {
    /// One page of this tenant's events.
    package func auditEvents(
        _ list: ListQuery, _ filter: AuditFilter
    ) async throws(PostgresError) -> ListPage<AuditRow> {
        let actions = try await actions(of: filter)
        return try await read(AuditRow.list(of: tenant, filter, actions, list))
            .page(list, AuditRow.init)
    }

    /// The tenant's actions of a group: one index look-up for each action that exists. Nil if no
    /// group is asked for.
    func actions(of filter: AuditFilter) async throws(PostgresError) -> [String]? {
        guard let group = filter.group else { return nil }
        let rows = try await read(
            """
            WITH RECURSIVE known AS (
                (SELECT action FROM audit_events WHERE tenant_id = \(tenant)
                 ORDER BY action LIMIT 1)
                UNION ALL
                SELECT (SELECT e.action FROM audit_events e
                    WHERE e.tenant_id = \(tenant) AND e.action > known.action
                    ORDER BY e.action LIMIT 1)
                FROM known WHERE known.action IS NOT NULL)
            SELECT action FROM known WHERE starts_with(action, \(group))
            """)
        return try rows.all { row throws(PostgresError) in try row.get(0) }
    }
}

extension Database {
    /// Over every tenant, for the platform.
    package func auditEvents(
        _ list: ListQuery, _ filter: AuditFilter
    ) async throws(PostgresError) -> ListPage<AuditRow> {
        try await platform.read(AuditRow.list(of: nil, filter, nil, list))
            .page(list, AuditRow.init)
    }
}

extension AuditRow {
    /// `actions`: the existing actions of the filter's group; each yields a page, and these are
    /// merged.
    static func list(
        of tenant: UUID?, _ filter: AuditFilter, _ actions: [String]?, _ list: ListQuery
    ) -> SQL {
        // For all tenants: the condition of the index over all rows.
        let condition: SQL = tenant.map { "tenant_id = \($0)" } ?? "occurred_at > '-infinity'"
        var ways = filter.ways(in: condition)
        var kinds: SQL = ""
        if let actions {
            kinds = "unnest(\(actions)::text[]) AS kind (wanted) CROSS JOIN LATERAL "
            ways = ways.map { $0 + " AND action = kind.wanted" }
        }
        let most: SQL = "LIMIT \(raw: "\(ListTotal.most + 1)")"
        let counted = Self.merged(ways.map { "SELECT 1 FROM \($0) \(most)" })
        let counting: SQL =
            list.total != nil
            ? ""
            : """
            , (SELECT count(*) FROM (
                SELECT 1 FROM \(kinds)(\(counted)) AS met \(most)) AS capped) AS counted
            """
        return """
            SELECT \(columns)\(counting)
            FROM \(kinds)(\(merged(ways.map { "SELECT * FROM \($0)\(list.tail)" }))) AS audit_events
            \(list.order(of: "audit_events.")) LIMIT \(raw: "\(list.fetched)")
            """
    }

    private static func merged(_ selects: [SQL]) -> SQL {
        SQL.joined(selects.map { "(\($0))" }, separator: " UNION ALL ")
    }
}
