import Domain
import HTTP
import JSON
import Storage

/// `/v1/me/sessions` and `/v1/me/sign-ins`: where the operator is signed in, and was.
enum OwnSessionEndpoints {
    static let all: [Endpoint] = [list, endOthers, end, signIns]

    private static let path = "/v1/me/sessions"

    private static let list = Endpoint(
        .get, path, id: "listOwnSessions", tag: "Session",
        summary: "The operator's own sessions at the console, newest first.", access: .console,
        answers: [.list(shape)]
    ) { call in
        let current = call.principal.session
        let rows = try await call.services.database.sessions(ofOperator: call.operator.id)
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
            .readOnly("id", .uuid), .readOnly("device", .string(), nullable: true),
            .readOnly(
                "method", .enumeration(of: SignInMethod.self),
                "How it began, or was last proved."),
            .readOnly("created_at", .timestamp), .readOnly("last_seen_at", .timestamp),
            .readOnly("ip", .string(), nullable: true),
            .readOnly("user_agent", .string(), nullable: true),
            .readOnly("current", .bool, "Whether it is the one that asks."),
        ])

    private static let endOthers = Endpoint(
        .delete, path, id: "endOwnSessions", tag: "Session",
        summary: "Ends every session of the operator but this one.", access: .console,
        answers: [.noContent]
    ) { call in
        try await call.services.database.endSessions(
            of: call.operator, except: call.principal.session, by: call.actor)
        return .noContent
    }

    private static let end = Endpoint(
        .delete, path + "/{id}", id: "endOwnSession", tag: "Session",
        summary: "Ends one of the operator's sessions.", access: .console, answers: [.noContent]
    ) { call in
        try await call.services.database.endSessions(
            of: call.operator, id: call.id(), by: call.actor)
        return .noContent
    }

    private static let signIns = Endpoint(
        .get, "/v1/me/sign-ins", id: "listOwnSignIns", tag: "Session",
        summary: "The operator's last 20 sign-ins, newest first, from the audit.",
        access: .console,
        answers: [
            .list(
                ObjectShape(
                    "OwnSignIn",
                    [
                        .readOnly("at", .timestamp),
                        .readOnly("ip", .string(), nullable: true),
                        .readOnly(
                            "method", .enumeration(of: SignInMethod.self), nullable: true,
                            "null of one before methods were recorded."),
                    ]))
        ]
    ) { call in
        let rows = try await call.services.database.signIns(of: call.operator)
        return call.list(ListPage(whole: rows)) { row, json in
            json.object {
                $0.member("at", row.at)
                $0.member("ip", row.ip)
                $0.member("method", row.method)
            }
        }
    }
}
