import Domain
import HTTP
import Storage
import Text

/// `…/users/{id}/sessions`: a user's active sessions.
enum UserSessionEndpoints {
    static let all: [Endpoint] = [list, endAll, end]

    private static let path = UserEndpoints.path + "/{id}/sessions"

    private static let list = Endpoint(
        .get, path, id: "listUserSessions", tag: "Users",
        summary: "The user's living sessions, newest first.", access: .own(.readUsers),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]),
        answers: [.list(UserSessionRow.shape)], exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let list = try call.listQuery()
        guard try await UserEndpoints.exists(call) else { throw Problem.notFound("user") }
        let current = call.principal.session
        return call.list(try await call.scope.sessions(of: id, list)) {
            $0.write(to: &$1, current: current)
        }
    }

    private static let endAll = Endpoint(
        .delete, path, id: "endUserSessions", tag: "Users",
        summary: "Ends every session of the user.", access: .right(.endSessions),
        answers: [.noContent], exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        try await call.scope.change(by: call.actor) { change in
            try await change.endSessions(of: change.lockUser(id))
        }
        return .noContent
    }

    private static let end = Endpoint(
        .delete, path + "/{session_id}", id: "endUserSession", tag: "Users",
        summary: "Ends one session.", access: .right(.endSessions), answers: [.noContent],
        exists: UserEndpoints.exists
    ) { call in
        let (id, session) = (try call.id(), try call.id("session_id"))
        try await call.scope.change(by: call.actor) { change in
            try await change.endSessions(of: change.lockUser(id), id: session)
        }
        return .noContent
    }
}
