import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/provisioning/decisions` and its twin below a tenant.
enum DecisionEndpoints {
    static let all: [Endpoint] = [list, get, listOfTenant, getOfTenant]

    private static let list = lists(
        "/v1/provisioning/decisions", "listDecisions",
        "Decisions of every tenant, and those without one, newest first.")
    private static let listOfTenant = lists(
        "/v1/tenants/{tenant}/provisioning/decisions", "listTenantDecisions",
        "The tenant's decisions, newest first.")
    private static let get = gets("/v1/provisioning/decisions/{id}", "getDecision")
    private static let getOfTenant = gets(
        "/v1/tenants/{tenant}/provisioning/decisions/{id}", "getTenantDecision")

    private static func lists(_ path: String, _ id: String, _ summary: String) -> Endpoint {
        Endpoint(
            .get, path, id: id, tag: "Provisioning", summary: summary,
            access: .own("readDecisions"),
            query: QueryParameter.list(sorts: ["-created_at", "created_at"]) + [
                QueryParameter("outcome", .enumeration(Outcome.allCases.map(\.rawValue))),
                QueryParameter("reason", .enumeration(Reason.allCases.map(\.rawValue))),
                QueryParameter("email", .email, "The whole address."),
            ],
            answers: [.list(DecisionRow.shape)]
        ) { call in
            let database = try call.services.database
            let list = try call.listQuery()
            var filter = DecisionFilter(
                outcome: call.query.optionalString("outcome"),
                reason: call.query.optionalString("reason"))
            filter.user = call.bound(.readDecisions)
            if let text = call.query.optionalString("email") {
                guard let email = try? EmailAddress(text) else {
                    throw Problem.invalid([
                        FieldError("?email", .invalid, "must be an email address")
                    ])
                }
                filter.emailKey = email.key
            }
            let tenant = call.decisionTenant
            let rows = try await database.decisions(list, tenant: tenant, filter)
            let count = try await database.decisionCount(tenant: tenant, filter)
            let page = rows.prefix(list.limit)
            return call.list(
                page.map(\.json),
                next: rows.count > list.limit
                    ? page.last.map { Cursor(key: "\($0.createdAt.microseconds)", id: $0.id) }
                    : nil,
                total: Total(min(count, 10_000), exact: count <= 10_000))
        }
    }

    private static func gets(_ path: String, _ id: String) -> Endpoint {
        Endpoint(
            .get, path, id: id, tag: "Provisioning", summary: "One decision with its trace.",
            access: .own("readDecisions"), answers: [.ok(DecisionRow.shape)]
        ) { call in
            let row = try await call.services.database.decision(
                call.id(), tenant: call.decisionTenant)
            guard let row, call.sees(row.userID) else { throw Problem.notFound("decision") }
            return .ok(row.json, etag: ETag.version(1))
        }
    }
}

extension Call {
    /// The path's tenant, else the credential's; nil is all of the platform.
    fileprivate var decisionTenant: UUID? {
        resolvedTenant?.id ?? (principal.platform ? nil : principal.tenant ?? .platform)
    }
}

extension DecisionRow {
    var json: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        return .object([
            .init("id", text(id.description)), .init("created_at", text(createdAt.description)),
            .init("outcome", text(outcome)), .init("reason", text(reason)),
            .init("reference", text(reference)), .init("email", text(email)),
            .init("provider", text(provider)), .init("issuer", text(issuer)),
            .init("subject", text(subject)), .init("tenant_id", text(tenantID?.description)),
            .init("user_id", text(userID?.description)),
            .init("invite_id", text(inviteID?.description)),
            .init("policy_version", policyVersion.map { .int($0) } ?? .null),
            .init("trace", trace), .init("duration_ms", .number("\(durationMilliseconds)")),
            .init("replay_of", .null),
        ])
    }

    static let shape = ObjectShape(
        "Decision",
        [
            .readOnly("id", .uuid), .readOnly("created_at", .timestamp),
            .readOnly("outcome", .enumeration(Outcome.allCases.map(\.rawValue))),
            .readOnly("reason", .enumeration(Reason.allCases.map(\.rawValue)), nullable: true),
            .readOnly("reference", .string(), "What the person was told to name."),
            .readOnly("email", .string(), nullable: true),
            .readOnly("provider", .string()), .readOnly("issuer", .string()),
            .readOnly("subject", .string()), .readOnly("tenant_id", .uuid, nullable: true),
            .readOnly("user_id", .uuid, nullable: true),
            .readOnly("invite_id", .uuid, nullable: true),
            .readOnly("policy_version", .integer(1...1_000_000_000), nullable: true),
            .readOnly("trace", .array(of: .any), "Each rule, its result and what it looked at."),
            .readOnly("duration_ms", .any), .readOnly("replay_of", .uuid, nullable: true),
        ])
}
