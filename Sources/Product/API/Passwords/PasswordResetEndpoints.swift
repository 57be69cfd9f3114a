import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/password-resets`: sends a link by mail, and sets a new password with it.
package enum PasswordResetEndpoints {
    package static let all: [Endpoint] = [ask, confirm]

    private static let ask = Endpoint(
        .post, "/v1/password-resets", id: "askForPasswordReset", tag: "Session",
        summary: "Mails a link to set a new password: to an operator by address, or to a user if "
            + "`tenant` is given. The response is the same whether or not there is an account.",
        access: .open,
        body: .json(
            ObjectShape(
                "PasswordResetRequest",
                [
                    .required(
                        "email", .email,
                        "The email address of the account, to which the link is mailed."),
                    .nullable(
                        "tenant", .string(min: 1, max: 63),
                        "The tenant of the user, by id or slug; absent or `null` for an operator."),
                    ReturnAddress.field,
                ])),
        answers: [Answer(202)], problems: [.unavailable, .rateLimited], maxBody: 1 << 14
    ) { call in
        let address = try call.input.emailAddress("email")
        try await checkAsks(call.database, call)
        var tenant: UUID?
        if let text = call.input.optionalString("tenant") {
            // For an unknown tenant, a random id is stored, so that the request takes the same
            // steps as for a known one. Later, no user is found for the random id.
            tenant = try await call.database.tenant(text)?.id ?? UUID.random()
        }
        let returns = try await ReturnAddress.allowed([call.input], of: tenant, call.application)
        if let fault = ReturnAddress.fault(call.input, returns) { throw Problem.invalid([fault]) }
        if call.application.sendsMail {
            guard
                try await call.database.askForReset(
                    emailKey: address.key, tenant: tenant,
                    returnTo: call.input.optionalString("return_to"))
            else {
                throw Problem.rateLimited(
                    "Too many links were requested; wait a minute.",
                    limit: Database.waitingResetAsks, retryAfter: 60)
            }
        }
        return Response(202, fields: [Field("cache-control", "no-store")])
    }

    private static let confirm = Endpoint(
        .post, "/v1/password-resets/confirm", id: "confirmPasswordReset", tag: "Session",
        summary: "Sets a new password with the token of a link for it, mailed or handed over, and "
            + "ends all sessions of the account.",
        access: .open,
        body: .json(
            ObjectShape(
                "PasswordReset",
                [
                    .required(
                        "token", .string(min: 1, max: 128),
                        "The token of the link: the text after `#token=` in the link."),
                    .required(
                        "password", .string(max: 1024),
                        "The new password, at most 1,024 bytes. An operator's password needs at "
                            + "least 15 characters; for a user's password, the tenant's policy "
                            + "sets the minimum."),
                ])),
        answers: [
            .noContent, .ok(ObjectShape("PasswordResetDone", [ReturnAddress.shown])),
        ], problems: [.notFound, .rateLimited], maxBody: 1 << 14
    ) { call in
        let token = try call.input.string("token")
        let password = try call.input.string("password")
        let isDone: Bool
        var goesTo: String?
        if let hash = TokenSecret.hash(token), try await call.database.isOperatorResetLive(hash) {
            let hashed = try await hashed(password, TenantPolicy(), call)
            isDone =
                try await call.database.resetOperatorPassword(
                    tokenHash: hash, passwordHash: hashed, requestID: call.request.id,
                    ip: call.request.remoteAddress) != nil
        } else if let (tenant, policy) = try await call.database.policy(forResetToken: token) {
            let hashed = try await hashed(password, policy, call)
            isDone = try await call.database.resetUserPassword(
                token, in: tenant, passwordHash: hashed, requestID: call.request.id,
                ip: call.request.remoteAddress)
            goesTo = try await call.database.scope(tenant).returnAddress(ofReset: token)
        } else {
            isDone = false
        }
        guard isDone else {
            throw Problem(
                .notFound, "The link is not valid, or no longer valid; ask for a new one.")
        }
        guard let goesTo else { return .noContent }
        var answer = Response.ok(.object([.init("return_to", .string(goesTo))]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    /// The maximum number of requests from one client address per minute.
    private static let askLimit = 60

    private static func checkAsks(_ database: Database, _ call: Call) async throws {
        let asks = try await database.count("links asked for, from \(call.request.network)")
        guard asks > askLimit else { return }
        throw Problem.rateLimited(
            "Too many links were requested; wait a minute.", limit: askLimit,
            retryAfter: database.secondsOfMinuteLeft)
    }

    private static func hashed(
        _ password: String, _ policy: TenantPolicy, _ call: Call
    ) async throws -> String {
        try await NewPassword(
            text: password, minimum: policy.passwordMin, usesBlocklist: policy.passwordBlocklist
        ).hashed(call)
    }
}
