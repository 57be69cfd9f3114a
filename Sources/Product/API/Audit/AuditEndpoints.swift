import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/audit-events`, and its twin below a tenant: who did what to which thing.
enum AuditEndpoints {
    static let all: [Endpoint] = [list, tenantList]

    private static let query =
        QueryParameter.list(sorts: ["-occurred_at", "occurred_at"])
        + [
            QueryParameter("actor", .string(min: 1, max: 255), "Id or name."),
            QueryParameter(
                "action", .string(min: 1, max: 100), "`invite.revoked`, or `invite.` for all."),
            QueryParameter("target", .string(min: 1, max: 320), "Id or name."),
            QueryParameter("since", .timestamp), QueryParameter("until", .timestamp),
        ]

    private static let list = Endpoint(
        .get, "/v1/audit-events", id: "listAuditEvents", tag: "Audit",
        summary: "Events of every tenant and the platform, newest first; a tenant's own to it.",
        access: .own("readAudit"), query: query, answers: [.list(AuditRow.shape)]
    ) { call in
        let home = call.principal.tenant
        return try await page(call, in: home)
    }

    private static let tenantList = Endpoint(
        .get, "/v1/tenants/{tenant}/audit-events", id: "listTenantAuditEvents", tag: "Audit",
        summary: "The tenant's events, newest first.", access: .own("readAudit"), query: query,
        answers: [.list(AuditRow.shape)]
    ) { call in
        try await page(call, in: try call.tenant.id)
    }

    /// `tenant` nil: all of them.
    private static func page(_ call: Call, in tenant: UUID?) async throws -> Response {
        let request = try call.page(defaultSort: "-occurred_at")
        let list = ListQuery(
            limit: request.limit, descending: request.descending,
            after: request.after.map { ($0.key, $0.id) })
        let filter = try filter(call, in: tenant)
        let database = try call.services.database
        let found =
            if let tenant {
                try await database.scope(tenant).auditEvents(list, filter)
            } else {
                try await database.auditEvents(list, filter)
            }
        let page = found.rows.prefix(list.limit)
        return call.list(
            page.map(\.json),
            next: found.rows.count > list.limit
                ? page.last.map { Cursor(key: "\($0.occurredAt.microseconds)", id: $0.id) } : nil,
            total: Total(min(found.count, 10_000), exact: found.count <= 10_000))
    }

    /// Who may read only what he did himself gets exactly that.
    private static func filter(_ call: Call, in tenant: UUID?) throws -> AuditFilter {
        var filter = AuditFilter()
        filter.actor = call.query.optionalString("actor")
        filter.action = call.query.optionalString("action")
        filter.target = call.query.optionalString("target")
        filter.since = call.query.optionalTimestamp("since")
        filter.until = call.query.optionalTimestamp("until")
        let who = call.principal.inDomain
        if Permissions.permits(who, .readAudit, in: tenant) == .allowed { return filter }
        let own = [call.principal.user, call.principal.id].compactMap { $0 }
        let mayReadOwn = own.contains {
            Permissions.permits(
                who, .readAudit, in: tenant, target: PermissionTarget(ownerID: $0)) == .allowed
        }
        guard mayReadOwn else { throw Problem.forbidden("The right readAudit is missing.") }
        filter.onlyActors = own.map(\.description)
        return filter
    }
}

extension AuditRow {
    var json: JSONValue {
        .object([
            .init("id", .uuid(id)), .init("seq", seq.map { .int($0) } ?? .null),
            .init("occurred_at", .time(occurredAt)),
            .init(
                "actor",
                .object([
                    .init("type", .string(actorType)), .init("id", .string(actorID)),
                    .init("name", .string(actorName)),
                ])),
            .init("action", .string(action)),
            .init(
                "target",
                .object([
                    .init("type", .string(targetType)), .init("id", .string(targetID)),
                    .init("name", .string(targetName)),
                ])),
            .init("tenant_id", .uuid(tenant == .platform ? nil : tenant)),
            .init("request_id", .string(requestID)), .init("ip", .text(ip)),
            .init("changes", changes),
        ])
    }

    private static let party = ObjectShape([
        .readOnly("type", .string()), .readOnly("id", .string()), .readOnly("name", .string()),
    ])

    static let shape = ObjectShape(
        "AuditEvent",
        [
            .readOnly("id", .uuid),
            .readOnly("seq", .integer(0...Int.max), nullable: true, "Null until sealed."),
            .readOnly("occurred_at", .timestamp), .readOnly("actor", .object(party)),
            .readOnly("action", .string()), .readOnly("target", .object(party)),
            .readOnly("tenant_id", .uuid, nullable: true), .readOnly("request_id", .string()),
            .readOnly("ip", .string(), nullable: true),
            .readOnly(
                "changes", .map(of: .array(of: .any, max: 2)), "Each field before and after."),
        ])
}
