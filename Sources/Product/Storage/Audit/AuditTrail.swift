import Domain
import JSON
import Postgres
import Text

/// The object of a change: a type, its id, and its display name.
package struct AuditTarget: Sendable {
    /// The kind of object, such as `user` or `api_key`.
    package var type: String
    package var id: String
    /// Stored as it is now; later renames do not change the event.
    package var name: String

    /// `name` must be no secret: the trail shows it.
    package init(_ type: String, _ id: UUID, _ name: String) {
        self.type = type
        self.id = id.description
        self.name = name
    }
}

/// Before and after of each changed field, without secrets.
package struct AuditChanges: Sendable {
    private var members: [JSONValue.Member] = []

    package init() {}

    /// Ignored if both values are equal.
    package mutating func add(_ field: String, _ before: JSONValue, _ after: JSONValue) {
        guard before != after else { return }
        members.append(JSONValue.Member(field, .array([before, after])))
    }

    /// nil is stored as `null`; ignored if both values have the same bytes.
    package mutating func add(_ field: String, _ before: String?, _ after: String?) {
        if let before, let after, sameBytes(before, after) { return }
        guard before != nil || after != nil else { return }
        let values = [before, after].map { $0.map(JSONValue.string) ?? .null }
        members.append(JSONValue.Member(field, .array(values)))
    }

    package mutating func add<Word: RawRepresentable<String>>(
        _ field: String, _ before: Word?, _ after: Word?
    ) {
        add(field, before?.rawValue, after?.rawValue)
    }

    /// True if every added field was unchanged.
    package var isEmpty: Bool { members.isEmpty }

    var document: JSONB {
        JSONB(String(decoding: JSONValue.object(members).encoded(), as: UTF8.self))
    }
}

extension Change {
    /// Writes the audit row of this transaction: no row, no 2xx. Cached answers that the action may
    /// have made stale are invalidated on every replica before the change returns.
    package func audit(
        _ action: AuditAction, _ target: AuditTarget, _ changes: AuditChanges = AuditChanges()
    ) async throws {
        invalidations.add(action, target, of: tenant)
        queryLater(
            """
            INSERT INTO audit_events (tenant_id, id, occurred_at, actor_type, actor_id,
                actor_name, action, target_type, target_id, target_name, request_id, ip, changes,
                decision_id)
            VALUES (\(tenant), \(UUID.ordered(at: now)), \(now), \(actor.type), \(actor.id),
                \(actor.name), \(action.rawValue), \(target.type), \(target.id), \(target.name),
                \(actor.requestID), \(actor.ip), \(document(of: changes)), \(actor.decisionID))
            """)
    }

    /// One row for each of many targets with its own changes, by one statement.
    func audit(
        _ action: AuditAction, ofEach events: [(target: AuditTarget, changes: AuditChanges)]
    ) {
        for event in events { invalidations.add(action, event.target, of: tenant) }
        let targets = events.map(\.target)
        queryLater(
            """
            INSERT INTO audit_events (tenant_id, id, occurred_at, actor_type, actor_id,
                actor_name, action, target_type, target_id, target_name, request_id, ip, changes)
            SELECT \(tenant), event.id, \(now), \(actor.type), \(actor.id), \(actor.name),
                \(action.rawValue), event.type, event.target, event.name, \(actor.requestID), \(actor.ip),
                event.changes::jsonb
            FROM unnest(\(targets.map { _ in UUID.ordered(at: now) })::uuid[], \(targets.map(\.type))::text[],
                \(targets.map(\.id))::text[], \(targets.map(\.name))::text[],
                \(events.map(\.changes.document.text))::text[]) AS event (id, type, target, name, changes)
            """)
    }

    /// One row for each of many targets of the same action, by one statement.
    package func audit(
        _ action: AuditAction, ofEach targets: [AuditTarget],
        _ changes: AuditChanges = AuditChanges()
    ) async throws {
        for target in targets { invalidations.add(action, target, of: tenant) }
        queryLater(
            """
            INSERT INTO audit_events (tenant_id, id, occurred_at, actor_type, actor_id,
                actor_name, action, target_type, target_id, target_name, request_id, ip, changes)
            SELECT \(tenant), event.id, \(now), \(actor.type), \(actor.id), \(actor.name),
                \(action.rawValue), event.type, event.target, event.name, \(actor.requestID), \(actor.ip),
                \(document(of: changes))
            FROM unnest(\(targets.map { _ in UUID.ordered(at: now) })::uuid[], \(targets.map(\.type))::text[],
                \(targets.map(\.id))::text[], \(targets.map(\.name))::text[]) AS event (id, type, target, name)
            """)
    }

    /// With the actor's reason among the changes.
    private func document(of changes: AuditChanges) -> JSONB {
        var changes = changes
        changes.add("reason", nil, actor.reason)
        return changes.document
    }
}
