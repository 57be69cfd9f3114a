import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/audit-events`, and the same list below a tenant.
package enum AuditEndpoints {
    package static let all: [Endpoint] = [list, tenantList]

    private static let query =
        QueryParameter.list(sorts: ["-occurred_at", "occurred_at"])
        + [
            QueryParameter(
                "actor", .string(min: 1, max: 255),
                "Only events that the actor with this id or name caused."),
            QueryParameter(
                "action", .string(min: 1, max: 100),
                "Only events with this action, for example `invite.revoked`. A text that ends with "
                    + "a dot, such as `invite.`, matches all actions that begin with the text. "
                    + "[Audit actions](/docs#Audit-actions) lists all. An unknown action is no "
                    + "error: the list is then empty."),
            QueryParameter(
                "target", .string(min: 1, max: 320),
                "Only events about the object with this id or name."),
            QueryParameter("since", .timestamp, "Only events that occurred at or after this time."),
            QueryParameter("until", .timestamp, "Only events that occurred before this time."),
        ] + QueryParameter.histogram

    private static let list = Endpoint(
        .get, "/v1/audit-events", id: "listAuditEvents", tag: "Audit",
        summary:
            "Lists the audit events of all tenants and the platform, newest first. A tenant's "
            + "credential gets only the events of its own tenant.",
        access: .own(.readAudit), query: query + [.ofTenant],
        answers: [.list(AuditRow.shape, hasHistogram: true)], problems: [.notFound], mayLag: true
    ) { call in
        let home = try await call.askedTenant ?? call.principal.tenant
        return try await page(call, in: home)
    }

    private static let tenantList = Endpoint(
        .get, "/v1/tenants/{tenant}/audit-events", id: "listTenantAuditEvents", tag: "Audit",
        summary: "Lists the tenant's audit events, newest first.", access: .own(.readAudit),
        query: query,
        answers: [.list(AuditRow.shape, hasHistogram: true)], mayLag: true
    ) { call in
        try await page(call, in: try call.tenant.id)
    }

    /// A page of audit events. `tenant` is `nil` for the events of all tenants.
    private static func page(_ call: Call, in tenant: UUID?) async throws -> Response {
        let list = try call.listQuery(defaultSort: "-occurred_at")
        let filter = try filter(call, in: tenant)
        let bars = try await call.histogram {
            try await call.database.histogram($0, of: filter, tenant: tenant)
        }
        guard let tenant else {
            return call.list(try await call.database.auditEvents(list, filter), bars)
        }
        return call.list(try await call.database.scope(tenant).auditEvents(list, filter), bars)
    }

    /// The filter that the query requests. For a caller without the right to read all events, it is
    /// limited to the caller's own actions.
    private static func filter(_ call: Call, in tenant: UUID?) throws -> AuditFilter {
        var filter = AuditFilter()
        filter.actor = call.query.optionalString("actor")
        filter.action = call.query.optionalString("action")
        filter.target = call.query.optionalString("target")
        filter.since = call.query.optionalTimestamp("since")
        filter.until = call.query.optionalTimestamp("until")
        let who = call.principal.subject
        let permission = Permissions.permits(who, .readAudit, in: tenant)
        if permission == .allowed { return filter }
        let own = [call.principal.user, call.principal.id].compactMap { $0 }
        let mayReadOwn = own.contains {
            Permissions.permits(
                who, .readAudit, in: tenant, target: PermissionTarget(ownerID: $0)) == .allowed
        }
        guard mayReadOwn else { throw Problem.missing(.readAudit, permission) }
        filter.onlyActors = own.map(\.description)
        return filter
    }
}

extension AuditRow: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("seq", seq)
            $0.member("occurred_at", occurredAt)
            $0.object("actor") {
                $0.member("type", MakerView.type(actorType, actorID))
                $0.member("id", actorID)
                $0.member("name", actorName)
            }
            $0.member("action", action)
            $0.object("target") {
                $0.member("type", targetType)
                $0.member("id", targetID)
                $0.member("name", targetName)
            }
            $0.member("tenant_id", tenant == .platform ? nil : tenant)
            $0.member("tenant_name", tenantName)
            $0.member("request_id", requestID.isEmpty ? nil : requestID)
            $0.member("decision_id", decisionID)
            $0.member("ip", ip)
            $0.member("changes", changes)
        }
    }

    private static let actorShape = ObjectShape([
        .readOnly(
            "type", .string(),
            "The kind of actor, for example `operator`, `user`, `key` (an API key), `hook`, "
                + "`command_line` or `system` (Gatehouse itself)."),
        .readOnly("id", .string(), "The actor's id; `gatehouse` for Gatehouse itself."),
        .readOnly(
            "name", .string(),
            "The actor's name or email address at the time of the event. Later changes do not "
                + "change it; it can be empty after an erasure of the person or the tenant."),
    ])
    private static let targetShape = ObjectShape([
        .readOnly(
            "type", .string(), "The type of the object, for example `user` or `api_key`."),
        .readOnly(
            "id", .string(), "The object's id. The object may have been deleted since the event."),
        .readOnly(
            "name", .string(),
            "The object's name or email address at the time of the event. Later changes do not "
                + "change it; it can be empty after an erasure of the person or the tenant."),
    ])

    static let shape = ObjectShape(
        "AuditEvent",
        [
            .readOnly("id", .uuid, "The event's id."),
            .readOnly(
                "seq", .integer(0...Int.max), nullable: true,
                "Always `null`. This version of the server does not number the events."),
            .readOnly("occurred_at", .timestamp, "When the event happened."),
            .readOnly("actor", .object(actorShape), "Who caused the event."),
            .readOnly(
                "action", .string(),
                "What happened, for example `user.created` or `api_key.revoked`."),
            .readOnly("target", .object(targetShape), "The object that the event is about."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant that the event belongs to; `null` for an event of the "
                    + "platform."),
            .readOnly(
                "tenant_name", .string(), nullable: true,
                "The tenant's current name; `null` for the platform, and if the tenant no longer "
                    + "exists."),
            .readOnly(
                "request_id", .string(), nullable: true,
                "The id of the request that caused the event; `null` if no request caused it, but "
                    + "for example a job or a rule."),
            .readOnly(
                "decision_id", .uuid, nullable: true,
                "The id of the decision about a sign-in that caused the event; `null` if none "
                    + "did."),
            .readOnly(
                "ip", .string(), nullable: true,
                "The IP address that the request came from; `null` if no request caused the "
                    + "event, or after the erasure of the person or of the tenant."),
            .readOnly(
                "changes", .map(of: .array(of: .any, max: 2)),
                "The changed fields by name, each as a list of the value before and the value "
                    + "after; `null` stands for no value. Secrets are left out. An erasure of the "
                    + "person or of the tenant also removes most values."),
        ])
}
