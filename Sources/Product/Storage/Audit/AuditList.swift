import Domain
import JSON
import Postgres
import Text

/// One audit event as stored.
package struct AuditRow: ListedRow {
    /// The event's tenant; the nil UUID for the platform's own events.
    package var tenant: UUID
    /// The tenant's current name; `nil` for the platform and for a tenant that no longer exists.
    package var tenantName: String?
    /// The event's id; ids are in order of time (see `UUID.ordered`).
    package var id: UUID
    package var seq: Int?
    /// The time of the change, not of its commit.
    package var occurredAt: Timestamp
    /// The type of the actor, such as `operator`, `user` or `key`; `system` is the service itself.
    package var actorType: String
    /// The actor's id: a UUID, or the name of a part of the service.
    package var actorID: String
    /// The actor's name at the time of the event; later renames are not shown.
    package var actorName: String
    /// The raw value of an `AuditAction`, such as `api_key.revoked`.
    package var action: String
    /// The kind of changed object, such as `user`.
    package var targetType: String
    /// The object's id as text. The object may be deleted by now.
    package var targetID: String
    /// The object's name at the time of the event; later renames are not shown.
    package var targetName: String
    /// The id of the request; empty if no request caused the change.
    package var requestID: String
    /// The caller's address; `nil` if no request caused the change.
    package var ip: String?
    /// The changed fields as `{field: [before, after]}`, without secrets.
    package var changes: JSONValue
    /// The id of the provisioning decision that caused the change; `nil` if there is none.
    package var decisionID: UUID?

    /// The time by which `ListedRow` sorts: `occurredAt`.
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
    /// Returns the statement for one page. If the filter names a group of actions, `actions` lists
    /// those actions of the group that occur in the tenant. The statement then merges one page for
    /// each of these actions.
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

    /// Returns a table expression for counting: the rows that pass the filter and `further` (a
    /// condition that begins with AND). It contains at most `most` rows from each of the queries in
    /// `parts`.
    static func met(
        of tenant: UUID?, _ filter: AuditFilter, _ actions: [String]?, most: Int, _ further: SQL
    ) -> SQL {
        let (ways, kinds) = parts(of: tenant, filter, actions)
        let rows: [SQL] = ways.map { "SELECT 1 FROM \($0)\(further) LIMIT \(raw: "\(most)")" }
        return "\(kinds)(\(merged(rows))) AS met"
    }

    /// Returns `ways`, the queries that together find the rows, and `kinds`, the SQL to put before
    /// their union. `kinds` lists the actions of the filter's group; it is empty if `actions` is
    /// nil.
    private static func parts(
        of tenant: UUID?, _ filter: AuditFilter, _ actions: [String]?
    ) -> (ways: [SQL], kinds: SQL) {
        // Without a tenant, this is the condition of the index over all rows.
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

/// The filters of a list of events; a nil filter passes every event. `actor` and `target` are each
/// an id or a name. An `action` that ends with `.` means all actions of a group.
package struct AuditFilter: Sendable {
    package var actor: String?
    package var action: String?
    package var target: String?
    /// Further ids that count as the target: the ids of the users who were merged into the target.
    fileprivate var otherTargets: [String] = []
    package var since: Timestamp?
    /// The end of the period, exclusive.
    package var until: Timestamp?
    /// If set, the list contains only events of these actors.
    package var onlyActors: [String]?

    package init() {}

    /// Whether no filter besides the time is set.
    var isWide: Bool { actor == nil && action == nil && target == nil && onlyActors == nil }

    /// Returns conditions of which each event that passes the filter meets exactly one. Each
    /// condition can use an index in the list's order. `condition` selects one tenant or all.
    func ways(in condition: SQL) -> [SQL] {
        var rest: SQL = ""
        if let since { rest += " AND occurred_at >= \(since)" }
        if let until { rest += " AND occurred_at < \(until)" }
        if let onlyActors { rest += " AND actor_id = ANY (\(onlyActors))" }
        if let action {
            rest += group == nil ? " AND action = \(action)" : " AND starts_with(action, \(action))"
        }
        let actors = actor.map { Self.party("actor", $0) } ?? [""]
        let others = otherTargets.flatMap { Self.party("target", $0) }
        let targets = target.map { Self.party("target", $0) + others } ?? [""]
        return actors.flatMap { actor in targets.map { actor + $0 } }
            .map { way in "audit_events WHERE \(condition)\(way)\(rest)" }
    }

    /// The filter's action if it names a group (such as `user.`); otherwise nil.
    var group: String? { action?.utf8.last == UInt8(ascii: ".") ? action : nil }

    /// Returns the conditions for an actor or target. A UUID is compared with the id alone, any
    /// other text with the id and the name.
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

/// Pages of events. The list must be sorted by `occurredAt`.
extension TenantScope {
    /// Returns one page of this tenant's events.
    package func auditEvents(
        _ list: ListQuery, _ filter: AuditFilter
    ) async throws(PostgresError) -> ListPage<AuditRow> {
        let (filter, actions) = try await known(filter)
        let page = try await readLagging(AuditRow.list(of: tenant, filter, actions, list))
            .page(list, AuditRow.init)
        let names = try await tenantNames([tenant])
        return page.naming(names)
    }

    /// Adds to the filter the ids of users who were merged into its target. Returns the new filter,
    /// and the actions of its group.
    func known(
        _ filter: AuditFilter
    ) async throws(PostgresError) -> (AuditFilter, [String]?) {
        var filter = filter
        if let target = filter.target, let id = UUID(target) {
            filter.otherTargets = try await everyID(of: id).filter { $0 != id }.map(\.description)
        }
        return (filter, try await actions(of: filter))
    }

    /// Returns the actions of the filter's group that occur in the tenant; `nil` if the filter
    /// names no group.
    func actions(of filter: AuditFilter) async throws(PostgresError) -> [String]? {
        guard let group = filter.group else { return nil }
        let rows = try await readLagging(AuditRow.actions(of: group, in: tenant))
        return try rows.all { row throws(PostgresError) in try row.get(0) }
    }
}

extension AuditRow {
    /// Returns the statement that finds the actions of a group that occur in the tenant. It makes
    /// one index look-up for each action that exists: the first action from this one on, in the
    /// index's order. If it asked for an event with this action, PostgreSQL would expect to meet one
    /// soon in a large table, and would read all of it for an action that does not occur.
    static func actions(of group: String, in tenant: UUID) -> SQL {
        let known = AuditAction.allCases.map(\.rawValue).filter { $0.hasPrefix(group) }
        return """
            SELECT known.action FROM unnest(\(known)::text[]) AS known (action)
            WHERE (SELECT e.action FROM audit_events e
                WHERE e.tenant_id = \(tenant) AND e.action >= known.action
                ORDER BY e.tenant_id, e.action, e.occurred_at, e.id LIMIT 1) = known.action
            """
    }
}

extension Database {
    /// Returns one page of the events of all tenants, for the platform.
    package func auditEvents(
        _ list: ListQuery, _ filter: AuditFilter
    ) async throws(PostgresError) -> ListPage<AuditRow> {
        let page = try await readLagging(AuditRow.list(of: nil, filter, nil, list), in: nil)
            .page(list, AuditRow.init)
        return page.naming(try await tenantNames(page.rows.map(\.tenant), to: nil))
    }
}

extension ListPage<AuditRow> {
    fileprivate func naming(_ names: [UUID: String]) -> Self {
        var page = self
        for at in page.rows.indices { page.rows[at].tenantName = names[page.rows[at].tenant] }
        return page
    }
}

extension Database {
    /// Returns how many events of each period pass the filter.
    package func histogram(
        _ request: HistogramRequest, of filter: AuditFilter, tenant: UUID?
    ) async throws(PostgresError) -> ListHistogram? {
        var (filter, actions): (AuditFilter, [String]?) = (filter, nil)
        if let tenant { (filter, actions) = try await scope(tenant).known(filter) }
        let own: SQL = tenant.map { "tenant_id = \($0)" } ?? "occurred_at > '-infinity'"
        let (wanted, kinds) = (filter, actions)
        return try await histogram(
            request, of: "occurred_at",
            oldest: """
                SELECT occurred_at FROM audit_events WHERE \(own)
                ORDER BY occurred_at, id LIMIT 1
                """, in: tenant
        ) { AuditRow.met(of: tenant, wanted, kinds, most: ListHistogram.most + 1, $0) }
    }
}
