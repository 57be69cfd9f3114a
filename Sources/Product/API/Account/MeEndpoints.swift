import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/me`: who the credential is, and an operator's own account.
enum MeEndpoints {
    static let all: [Endpoint] =
        [me, rename] + OwnFactorEndpoints.all + OwnSessionEndpoints.all

    private static let me = Endpoint(
        .get, "/v1/me", id: "getMe", tag: "Session", summary: "Who the credential is.",
        access: .principal,
        query: [
            QueryParameter(
                "tenant", .string(min: 1, max: 63),
                "Of an operator: the tenant whose `join_requests` are counted, else the own one.")
        ],
        answers: [
            .ok(
                ObjectShape(
                    "Me",
                    [
                        .readOnly("principal", .enumeration(["operator", "user", "key"])),
                        .readOnly("operator", .object(OperatorRow.shape), nullable: true),
                        .readOnly("id", .uuid, nullable: true), .readOnly("name", .string()),
                        .readOnly("tenant_id", .uuid, nullable: true),
                        .readOnly(
                            "external_id", .string(), nullable: true,
                            "Of a user, or of the user whose key it is: the id in the tenant's own system."
                        ),
                        .readOnly("scopes", .array(of: .string())),
                        .readOnly(
                            "rights", .array(of: .string()),
                            "What it may do, be it with its own things alone."),
                        .readOnly(
                            "join_requests", .integer(0...Int(Int32.max)), nullable: true,
                            "How many people ask to join the tenant and wait."),
                    ]))
        ]
    ) { call in
        let who = call.principal
        let person = who.kind == .operator ? try await call.operator.json : .null
        return .ok(
            .object([
                .init("principal", .string(who.kind.rawValue)), .init("operator", person),
                .init("id", .uuid(who.id)), .init("name", .string(who.name)),
                .init("tenant_id", .uuid(who.tenant)),
                .init("external_id", try await externalID(call).map(JSONValue.string) ?? .null),
                .init("scopes", .array(who.scopes.map(JSONValue.string))),
                .init("rights", .strings(Permissions.rights(call.principal.subject))),
                .init("join_requests", try await joinRequests(call).map { .int($0) } ?? .null),
            ]))
    }

    private static func externalID(_ call: Call) async throws -> String? {
        guard let user = call.principal.user, let tenant = call.principal.tenant else { return nil }
        return try await call.services.database.scope(tenant).user(user)?.externalID
    }

    private static let rename = Endpoint(
        .patch, "/v1/me", id: "updateMe", tag: "Session",
        summary: "Changes the operator's own name.", access: .console,
        body: .json(
            ObjectShape(
                "MeChange",
                [
                    .required("name", .string(min: 1, max: 200, rule: .displayName))
                ])),
        answers: [.ok(OperatorRow.shape)]
    ) { call in
        let seen = try await call.operator
        let name = try call.input.string("name")
        let database = try call.services.database
        let row = try await database.scope(seen.tenant ?? .platform).change(by: call.actor) {
            guard let (row, _) = try await $0.lockOperator(seen.id, scope: seen.tenant) else {
                throw Problem.notFound("operator")
            }
            return try await $0.updateOperator(
                row, to: OperatorChange(name: name, role: row.role, status: row.status))
        }
        return .ok(row, etag: row.etag)
    }

    /// nil unless an operator may read the tenant's users; an unknown tenant looks the same.
    private static func joinRequests(_ call: Call) async throws -> Int? {
        guard call.principal.kind == .operator,
            let name = call.query.optionalString("tenant") ?? call.principal.tenant?.description,
            let database = try? call.services.database,
            let tenant = try await database.tenant(name),
            Permissions.permits(call.principal.subject, .readUsers, in: tenant.id) == .allowed
        else { return nil }
        return try await database.scope(tenant.id).waitingCount()
    }
}
