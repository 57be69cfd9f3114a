import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/me`: the caller whom the credential identifies, and an operator's own account.
package enum MeEndpoints {
    package static let all: [Endpoint] =
        [me, rename] + OwnFactorEndpoints.all + OwnSessionEndpoints.all

    private static let me = Endpoint(
        .get, "/v1/me", id: "getMe", tag: "Session",
        summary: "Returns the operator, user or API key that the credential identifies.",
        access: .principal,
        query: [
            QueryParameter(
                "tenant", .string(min: 1, max: 63),
                "For an operator: the tenant whose `join_requests` are counted; the operator's own "
                    + "tenant if absent.")
        ],
        answers: [
            .ok(
                ObjectShape(
                    "Me",
                    [
                        .readOnly(
                            "principal", .enumeration(["operator", "user", "key"]),
                            "What the credential identifies: an `operator`, a `user` or a `key` "
                                + "(an API key)."),
                        .readOnly(
                            "operator", .object(OperatorRow.shape), nullable: true,
                            "The operator who makes the request; `null` for a user or an API key."),
                        .readOnly(
                            "id", .uuid, nullable: true,
                            "The id of the operator, user or API key."),
                        .readOnly(
                            "name", .string(),
                            "The name of the operator, user or API key; the email address of a "
                                + "person without a name."),
                        .readOnly(
                            "tenant_id", .uuid, nullable: true,
                            "The id of the tenant that the credential belongs to; `null` for a "
                                + "credential of the platform."),
                        .readOnly(
                            "external_id", .string(), nullable: true,
                            "For a user, and for a key that a user owns: the user's id in the "
                                + "tenant's own system. Otherwise `null`."
                        ),
                        .readOnly(
                            "scopes", .array(of: .string()),
                            "The scopes of the API key; empty for an operator and for a user, "
                                + "whose role decides."),
                        .readOnly(
                            "rights", .array(of: .string()),
                            "The caller's rights, including rights that apply only to the caller's "
                                + "own objects."),
                        .readOnly(
                            "join_requests", .integer(0...Int(Int32.max)), nullable: true,
                            "The number of people who asked to join the tenant and wait for an "
                                + "answer. It is `null` for a user or an API key, without a "
                                + "tenant, or if the operator may not read its users."),
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
        return try await call.database.scope(tenant).user(user)?.externalID
    }

    private static let rename = Endpoint(
        .patch, "/v1/me", id: "updateMe", tag: "Session",
        summary: "Changes the operator's own name.", access: .console,
        body: .json(
            ObjectShape(
                "MeChange",
                [
                    .required(
                        "name", .string(min: 1, max: 200, rule: .displayName),
                        "The operator's new name.")
                ])),
        answers: [.ok(OperatorRow.shape)]
    ) { call in
        let seen = try await call.operator
        let name = try call.input.string("name")
        let row = try await call.database.scope(seen.tenant ?? .platform).change(by: call.actor) {
            guard let (row, _) = try await $0.lockOperator(seen.id, scope: seen.tenant) else {
                throw Problem.notFound("operator")
            }
            return try await $0.updateOperator(
                row, to: OperatorChange(name: name, role: row.role, status: row.status))
        }
        return .ok(row, etag: row.etag)
    }

    /// The number of people who wait for approval in the tenant. It is `nil` unless the tenant
    /// exists and the caller is an operator who may read its users.
    private static func joinRequests(_ call: Call) async throws -> Int? {
        guard call.principal.kind == .operator,
            let name = call.query.optionalString("tenant") ?? call.principal.tenant?.description,
            let tenant = try await call.database.tenant(name),
            Permissions.permits(call.principal.subject, .readUsers, in: tenant.id) == .allowed
        else { return nil }
        return try await call.database.scope(tenant.id).waitingCount()
    }
}

/// `/v1/me/sessions` and `/v1/me/sign-ins`: the operator's own sessions and sign-ins.
enum OwnSessionEndpoints {
    static let all: [Endpoint] = [list, endOthers, end, signIns]

    private static let path = "/v1/me/sessions"

    private static let list = Endpoint(
        .get, path, id: "listOwnSessions", tag: "Session",
        summary: "Lists the operator's own console sessions, newest first.", access: .console,
        answers: [.list(shape)]
    ) { call in
        let current = call.principal.session
        let rows = try await call.database.sessions(ofOperator: call.operator.id)
        return call.list(ListPage(whole: rows)) { row, json in
            json.object {
                $0.member("id", row.id)
                $0.member("device", row.userAgent.map { DeviceName.of($0) })
                $0.member("method", row.method)
                $0.member("created_at", row.createdAt)
                $0.member("last_seen_at", row.lastSeenAt)
                $0.member("ip", row.ip)
                $0.member("user_agent", row.userAgent)
                $0.member("current", row.id == current)
            }
        }
    }

    private static let shape = ObjectShape(
        "OwnSession",
        [
            .readOnly("id", .uuid, "The session's id."),
            .readOnly(
                "device", .string(), nullable: true,
                "The browser and the operating system, derived from `user_agent`; `null` if the "
                    + "browser sent none."),
            .readOnly(
                "method", .enumeration(of: SignInMethod.self),
                "The method of the latest of these in the session: the sign-in, a step-up, or the "
                    + "set-up of a second factor."),
            .readOnly("created_at", .timestamp, "When the session began."),
            .readOnly(
                "last_seen_at", .timestamp,
                "When the session was last used. It is updated at most once a minute."),
            .readOnly(
                "ip", .string(), nullable: true,
                "The IP address from which the operator signed in; `null` if it is unknown."),
            .readOnly(
                "user_agent", .string(), nullable: true,
                "The `User-Agent` of the browser at the sign-in; `null` if it sent none."),
            .readOnly("current", .bool, "Whether the request itself was made in this session."),
        ])

    private static let endOthers = Endpoint(
        .delete, path, id: "endOwnSessions", tag: "Session",
        summary: "Ends all sessions of the operator except this one.", access: .console,
        answers: [.noContent]
    ) { call in
        try await call.database.endSessions(
            of: call.operator, except: call.principal.session, by: call.actor)
        return .noContent
    }

    private static let end = Endpoint(
        .delete, path + "/{id}", id: "endOwnSession", tag: "Session",
        summary: "Ends one of the operator's sessions.", access: .console, answers: [.noContent]
    ) { call in
        try await call.database.endSessions(
            of: call.operator, id: call.id(), by: call.actor)
        return .noContent
    }

    private static let signIns = Endpoint(
        .get, "/v1/me/sign-ins", id: "listOwnSignIns", tag: "Session",
        summary: "Lists the operator's last 20 sign-ins, newest first, from the audit log.",
        access: .console,
        answers: [
            .list(
                ObjectShape(
                    "OwnSignIn",
                    [
                        .readOnly("at", .timestamp, "When the operator signed in."),
                        .readOnly(
                            "ip", .string(), nullable: true,
                            "The IP address from which the operator signed in; `null` if it is "
                                + "unknown."),
                        .readOnly(
                            "method", .enumeration(of: SignInMethod.self), nullable: true,
                            "How the operator signed in; `null` for an old sign-in whose method "
                                + "was not recorded."),
                    ]))
        ]
    ) { call in
        let rows = try await call.database.signIns(of: call.operator)
        return call.list(ListPage(whole: rows)) { row, json in
            json.object {
                $0.member("at", row.at)
                $0.member("ip", row.ip)
                $0.member("method", row.method)
            }
        }
    }
}
