import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/failed-sign-ins`: why an app's sign-in failed before the rules were asked.
/// The app's developer sees one text for all failures; this gives the reason.
enum FailedSignInEndpoints {
    static let all: [Endpoint] = [list]

    private static let list = Endpoint(
        .get, "/v1/tenants/{tenant}/failed-sign-ins", id: "listFailedSignIns", tag: "Clients",
        summary: "Sign-ins at the tenant's clients that failed before the rules were asked, newest "
            + "first: the last 1,000 of 7 days, at most 30 of a minute. Anybody can cause a line.",
        access: .right(.readClients),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]) + [
            QueryParameter("client", .string(min: 1, max: 64)),
            QueryParameter(
                "request_id", .string(min: 1, max: 255),
                "As the app's answer named it (`x-request-id`)."),
        ],
        answers: [.list(FailedSignIn.shape)], mayLag: true
    ) { call in
        call.list(
            try await call.scope.failedSignIns(
                call.listQuery(), client: call.query.optionalString("client"),
                requestID: call.query.optionalString("request_id")))
    }
}

extension FailedSignIn: JSONView {
    static let shape = ObjectShape(
        "FailedSignIn",
        [
            .readOnly("id", .uuid), .readOnly("client", .string()),
            .readOnly("operation", .string(), "The route below the client's mount."),
            .readOnly("reason", .string(), "`id token: nonce_mismatch`, `provider_away: …`"),
            .readOnly("request_id", .string()), .readOnly("ip", .string(), nullable: true),
            .readOnly("user_agent", .string(), nullable: true),
            .readOnly("created_at", .timestamp),
        ])

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("client", client)
            $0.member("operation", operation)
            $0.member("reason", reason)
            $0.member("request_id", requestID)
            $0.member("ip", ip)
            $0.member("user_agent", userAgent)
            $0.member("created_at", createdAt)
        }
    }
}
