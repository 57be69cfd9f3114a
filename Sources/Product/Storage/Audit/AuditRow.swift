import Domain
import JSON
import Postgres
import Text

/// One audit event as stored.
package struct AuditRow: ListedRow {
    /// The nil UUID for the platform's own events.
    package var tenant: UUID
    /// As it is now; nil: the platform, or a tenant that is gone.
    package var tenantName: String?
    /// Ordered by time (see `UUID.ordered`).
    package var id: UUID
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
        (
            tenant, id, seq, occurredAt, actorType, actorID, actorName, action, targetType,
            targetID, targetName, requestID, ip
        ) = try row.columns()
        let text: JSONB = try row.get(13)
        decisionID = try row.get(14, as: UUID?.self)
        changes = (try? JSONValue(parsing: Array(text.text.utf8))) ?? .object([])
    }
}

extension AuditRow {
    /// `actions`: the existing actions of the filter's group; each yields a page, and these are
    /// merged.
    static func list(
        of tenant: UUID?, _ filter: AuditFilter, _ actions: [String]?, _ list: ListQuery
    ) -> SQL {
        let (ways, kinds) = parts(of: tenant, filter, actions)
        let most = ListTotal.most + 1
        let everyTime = tenant != nil && filter.isWide ? list.everyTime : ""
        let met = met(of: tenant, filter, actions, most: most, "")
        let counting: SQL =
            list.total != nil
            ? ""
            : """
            , (SELECT count(*) FROM (
                SELECT 1 FROM \(met) LIMIT \(raw: "\(most)")) AS capped) AS counted
            """
        return """
            SELECT \(columns)\(counting)
            FROM \(kinds)(\(merged(ways.map { "SELECT * FROM \($0)\(everyTime)\(list.tail)" }))) AS audit_events
            \(list.order(of: "audit_events.")) LIMIT \(raw: "\(list.fetched)")
            """
    }

    /// The rows that pass the filter and a further condition (with its AND), to be counted up to
    /// `most`.
    static func met(
        of tenant: UUID?, _ filter: AuditFilter, _ actions: [String]?, most: Int, _ further: SQL
    ) -> SQL {
        let (ways, kinds) = parts(of: tenant, filter, actions)
        let rows: [SQL] = ways.map { "SELECT 1 FROM \($0)\(further) LIMIT \(raw: "\(most)")" }
        return "\(kinds)(\(merged(rows))) AS met"
    }

    /// The ways to the rows, and what stands before their union.
    private static func parts(
        of tenant: UUID?, _ filter: AuditFilter, _ actions: [String]?
    ) -> (ways: [SQL], kinds: SQL) {
        // For all tenants: the condition of the index over all rows.
        let condition: SQL = tenant.map { "tenant_id = \($0)" } ?? "occurred_at > '-infinity'"
        let ways = filter.ways(in: condition)
        guard let actions else { return (ways, "") }
        return (
            ways.map { $0 + " AND action = kind.wanted" },
            "unnest(\(actions)::text[]) AS kind (wanted) CROSS JOIN LATERAL "
        )
    }

    private static func merged(_ selects: [SQL]) -> SQL {
        SQL.joined(selects.map { "(\($0))" }, separator: " UNION ALL ")
    }
}
