import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/failed-sign-ins`, and the same list below a tenant: sign-ins that failed before the policy
/// rules were applied. The person and the app's developer see the same text for every failure; only
/// this list gives the reason.
package enum FailedSignInEndpoints {
    package static let all: [Endpoint] = [list, listOfTenant]

    private static let list = lists(
        "/v1/failed-sign-ins", "listAllFailedSignIns",
        "Lists sign-ins that failed before the policy rules were applied, newest first. They are "
            + "from all tenants and from the platform's own pages; a tenant's credential gets only "
            + "those of its own tenant.")
    private static let listOfTenant = lists(
        "/v1/tenants/{tenant}/failed-sign-ins", "listFailedSignIns",
        "Lists sign-ins at the tenant's clients and pages that failed before the policy rules were "
            + "applied, newest first. Of wrong passwords and of other failures, the last 10,000 "
            + "each are stored, for 90 days. All wrong passwords for an account within a minute "
            + "are one entry; of other failures, at most 30 a minute are stored. Anybody can cause "
            + "an entry.")

    private static func lists(_ path: String, _ id: String, _ summary: String) -> Endpoint {
        Endpoint(
            .get, path, id: id, tag: "Clients", summary: summary,
            access: .right(.readClients),
            query: QueryParameter.list(sorts: ["-created_at", "created_at"]) + [
                QueryParameter(
                    "client", .string(min: 1, max: 64),
                    "Only sign-ins at this client, for example `immich`."),
                QueryParameter(
                    "request_id", .string(min: 1, max: 255),
                    "Only entries with this `request_id`: a response's `X-Request-Id`."),
                QueryParameter(
                    "reference", .string(min: 1, max: 12),
                    "Only the sign-in for which a page showed this reference."),
            ],
            answers: [.list(FailedSignIn.shape)], mayLag: true
        ) { call in
            let tenant =
                call.resolvedTenant?.id
                ?? (call.principal.platform ? nil : call.principal.tenant ?? .platform)
            return call.list(
                try await call.database.failedSignIns(
                    call.listQuery(), tenant: tenant,
                    FailedSignInFilter(
                        client: call.query.optionalString("client"),
                        requestID: call.query.optionalString("request_id"),
                        reference: call.query.optionalString("reference"))))
        }
    }
}

extension FailedSignIn: JSONView {
    static let shape = ObjectShape(
        "FailedSignIn",
        [
            .readOnly("id", .uuid, "The id of the entry."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant at whose client or page the sign-in was, or to which the "
                    + "`console` operator belongs; `null` for the platform."),
            .readOnly(
                "client", .string(),
                "The name of the client. `hosted` stands for the sign-in pages of this server, "
                    + "`console` for its console."
            ),
            .readOnly(
                "operation", .string(),
                "The request's method and path, without the client's base path."),
            .readOnly(
                "reason", .string(),
                "The reason, for example `id token: nonce_mismatch`, `provider_away: …`, "
                    + "`wrong_password` or `wrong_pin`."),
            .readOnly(
                "tries", .integer(1...Int.max), nullable: true,
                "The number of wrong passwords or PINs in one clock minute, which share this "
                    + "entry; `null` for any other failure."),
            .readOnly(
                "user_id", .uuid, nullable: true,
                "The id of the user whose password or PIN was wrong; `null` for any other failure, "
                    + "if no user has the address, or during very many attempts."),
            .readOnly(
                "operator_id", .uuid, nullable: true,
                "The id of the operator whose password was wrong; `null` for any other failure, "
                    + "if no operator has the address, or during very many attempts."),
            .readOnly(
                "request_id", .string(),
                "The id of the request. After several attempts, it is the id of the last request."),
            .readOnly(
                "reference", .string(), nullable: true,
                "The reference that the page showed; `null` if it showed none."),
            .readOnly(
                "ip", .string(), nullable: true,
                "The IP address that the request came from; `null` if it is unknown. After several "
                    + "attempts, it is the address of the last request."),
            .readOnly(
                "user_agent", .string(), nullable: true,
                "The `User-Agent` of the request; `null` if it had none. After several attempts, "
                    + "it is that of the last request."),
            .readOnly(
                "created_at", .timestamp,
                "When the sign-in failed. After several attempts, it is the time of the first."),
        ])

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", tenant == .platform ? nil : tenant)
            $0.member("client", client)
            $0.member("operation", operation)
            $0.member("reason", reason)
            $0.member("tries", tries)
            $0.member("user_id", user)
            $0.member("operator_id", `operator`)
            $0.member("request_id", requestID)
            $0.member("reference", reference)
            $0.member("ip", ip)
            $0.member("user_agent", userAgent)
            $0.member("created_at", createdAt)
        }
    }
}
