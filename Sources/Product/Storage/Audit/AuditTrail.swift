import Domain
import JSON
import Postgres
import Text

/// The object of a change: its type, id and name.
package struct AuditTarget: Sendable {
    /// The kind of object, such as `user` or `api_key`.
    var type: String
    package var id: String
    /// The object's name at the time of the change; later renames do not change this value.
    package var name: String

    /// `name` must not contain a secret, because the audit trail shows it.
    package init(_ type: String, _ id: UUID, _ name: String) {
        self.type = type
        self.id = id.description
        self.name = name
    }
}

/// The values of each changed field before and after, without secrets.
package struct AuditChanges: Sendable {
    private var members: [JSONValue.Member] = []

    init() {}

    /// Adds a field's values before and after the change; does nothing if the two are equal.
    mutating func add(_ field: String, _ before: JSONValue, _ after: JSONValue) {
        guard before != after else { return }
        members.append(JSONValue.Member(field, .array([before, after])))
    }

    /// Adds a field's values before and after the change, with `null` for nil. Does nothing if the
    /// two values have the same bytes.
    mutating func add(_ field: String, _ before: String?, _ after: String?) {
        if let before, let after, sameBytes(before, after) { return }
        guard before != nil || after != nil else { return }
        let values = [before, after].map { $0.map(JSONValue.string) ?? .null }
        members.append(JSONValue.Member(field, .array(values)))
    }

    mutating func add<Word: RawRepresentable<String>>(
        _ field: String, _ before: Word?, _ after: Word?
    ) {
        add(field, before?.rawValue, after?.rawValue)
    }

    /// Whether no field has changed.
    var isEmpty: Bool { members.isEmpty }

    var document: JSONB {
        JSONB(String(decoding: JSONValue.object(members).encoded(), as: UTF8.self))
    }
}

extension Change {
    /// Writes an audit row in this transaction, so that the change and the row are committed
    /// together. Also invalidates, on every replica, the cached answers that the action may have
    /// made stale.
    package func audit(
        _ action: AuditAction, _ target: AuditTarget, _ changes: AuditChanges = AuditChanges()
    ) async throws {
        invalidations.add(action, target, of: tenant)
        let event = AuditEvent(action, target, document(of: changes))
        if decision?.keep(event, of: tenant, by: actor) != true {
            queryLater(insertion(of: [event]))
        }
    }

    /// Writes one row for each of many targets of the same action, each with its own changes, in
    /// one statement.
    func audit(
        _ action: AuditAction, ofEach events: [(target: AuditTarget, changes: AuditChanges)]
    ) {
        for event in events { invalidations.add(action, event.target, of: tenant) }
        queryLater(
            insertion(of: events.map { AuditEvent(action, $0.target, $0.changes.document) }))
    }

    /// Writes one row for each of many targets of the same action and with the same changes, in one
    /// statement.
    func audit(
        _ action: AuditAction, ofEach targets: [AuditTarget],
        _ changes: AuditChanges = AuditChanges()
    ) async throws {
        for target in targets { invalidations.add(action, target, of: tenant) }
        let document = document(of: changes)
        queryLater(insertion(of: targets.map { AuditEvent(action, $0, document) }))
    }

    /// Returns one statement that inserts a row for each event. If `tenant` is nil, the rows belong
    /// to the change's tenant.
    func insertion(of events: [AuditEvent], in tenant: UUID? = nil) -> SQL {
        let tenant = tenant ?? self.tenant
        let columns: SQL =
            """
            INSERT INTO audit_events (tenant_id, id, occurred_at, actor_type, actor_id,
                actor_name, request_id, ip, decision_id, action, target_type, target_id,
                target_name, changes)
            """
        let cause: SQL =
            """
            \(actor.type), \(actor.id), \(actor.name), \(actor.requestID), \(actor.ip), \(actor.decisionID)
            """
        if events.count == 1, let event = events.first {
            return """
                \(columns)
                VALUES (\(tenant), \(UUID.ordered(at: now)), \(now), \(cause),
                    \(event.action.rawValue), \(event.target.type), \(event.target.id),
                    \(event.target.name), \(event.changes))
                """
        }
        let targets = events.map(\.target)
        return """
            \(columns)
            SELECT anchor.id, event.id, \(now), \(cause), event.action, event.type, event.target,
                event.name, event.changes::jsonb
            FROM \(SQL.anchor(of: tenant)), unnest(\(events.map { _ in UUID.ordered(at: now) })::uuid[],
                \(events.map(\.action.rawValue))::text[], \(targets.map(\.type))::text[],
                \(targets.map(\.id))::text[], \(targets.map(\.name))::text[],
                \(events.map(\.changes.text))::text[]) AS event (id, action, type, target, name, changes)
            WHERE anchor.id = \(tenant)
            """
    }

    /// Returns the changes with the actor's reason added, if there is one.
    private func document(of changes: AuditChanges) -> JSONB {
        var changes = changes
        changes.add("reason", nil, actor.reason)
        return changes.document
    }
}

/// An audit event without its actor and time, which come from the change.
struct AuditEvent: Sendable {
    let action: AuditAction
    let target: AuditTarget
    let changes: JSONB

    init(_ action: AuditAction, _ target: AuditTarget, _ changes: JSONB) {
        self.action = action
        self.target = target
        self.changes = changes
    }
}
