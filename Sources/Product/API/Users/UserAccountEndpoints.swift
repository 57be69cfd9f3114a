import Domain
import HTTP
import JSON
import Storage
import Text

/// `…/users/{id}/password-link` and `…/users/{id}/email-change`: an operator's help for a user who
/// lost the password or has another address.
enum UserAccountEndpoints {
    static let all: [Endpoint] = [passwordLink, changeEmail, cancelEmail, confirmEmail]

    private static let passwordLink = Endpoint(
        .post, UserEndpoints.path + "/{id}/password-link", id: "createPasswordLink", tag: "Users",
        summary: "A link by which the user sets a password, once, within 30 minutes; no mail is "
            + "needed. Setting it ends the user's sessions.",
        access: .right(.linkIdentities),
        body: .json(ObjectShape("PasswordLinkCreation", [ReturnAddress.field])),
        answers: [
            .created(
                ObjectShape(
                    "PasswordLink",
                    [
                        .readOnly("url", .string(max: 2048), "Shown once."),
                        .readOnly("expires_at", .timestamp), ExpiryReason.field,
                    ]))
        ], problems: [.conflict], idempotent: true, secret: true, exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let returns = try await ReturnAddress.allowed([call.input], call)
        if let fault = ReturnAddress.fault(call.input, returns) { throw Problem.invalid([fault]) }
        let returnTo = call.input.optionalString("return_to")
        let link = try await call.making { change in
            let user = try await change.lockUser(id)
            try call.requireCover(of: user)
            return try await change.makePasswordLink(
                for: user, returnTo: returnTo, until: call.principal.subject.expiry)
        }
        let members: [JSONValue.Member] =
            [
                .init("url", .string("\(call.services.publicURL)/reset#token=\(link.token)")),
                .init("expires_at", .time(link.expiresAt)),
            ] + ExpiryReason.members(of: link.expiresAt, call)
        return noStore(.json(201, bytes: JSONValue.object(members).encoded()))
    }

    private static let emailPath = UserEndpoints.path + "/{id}/email-change"

    private static let changeEmail = Endpoint(
        .post, emailPath, id: "askForEmailChange", tag: "Users",
        summary: "Mails a link to the new address, which becomes the user's when it is confirmed "
            + "within 30 minutes. One that waits already ends.",
        access: .right(.editUsers),
        body: .json(ObjectShape("EmailChangeRequest", [.required("email", .email)])),
        answers: [
            Answer(
                202,
                .object(
                    ObjectShape(
                        "EmailChange",
                        [
                            .readOnly("email", .string(), "What waits to be confirmed."),
                            .readOnly("expires_at", .timestamp), ExpiryReason.field,
                        ])))
        ], problems: [.conflict, .emailTaken], idempotent: true, exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let email = try call.input.emailAddress("email")
        let services = call.services
        guard services.sendsMail else {
            throw Problem(
                .conflict, "Without a mail server no address can be proved; set one up first.")
        }
        let database = try services.database
        let end = try await call.making { change in
            let user = try await change.lockUser(id)
            try call.requireCover(of: user)
            guard !sameBytes(user.email, email.original) else {
                throw Problem.invalid([
                    FieldError("/email", .notAllowed, "is the user's address already")
                ])
            }
            return try await change.askForEmail(
                email, for: user, until: call.principal.subject.expiry,
                publicURL: services.publicURL, in: database)
        }
        let members: [JSONValue.Member] = [
            .init("email", .string(email.original)), .init("expires_at", .time(end)),
        ]
        let body = JSONValue.object(members + ExpiryReason.members(of: end, call))
        return noStore(.json(202, bytes: body.encoded()))
    }

    private static let cancelEmail = Endpoint(
        .delete, emailPath, id: "cancelEmailChange", tag: "Users",
        summary: "Ends a change of address that waits to be confirmed; its link is dead.",
        access: .right(.editUsers), answers: [.noContent], exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        try await call.scope.change(by: call.actor) { change in
            try await change.cancelEmailChange(of: change.lockUser(id))
        }
        return .noContent
    }

    private static let confirmEmail = Endpoint(
        .post, "/v1/email-changes/confirm", id: "confirmEmailChange", tag: "Users",
        summary: "Makes the address to which the token was mailed the user's; the old one is told.",
        access: .open,
        body: .json(
            ObjectShape("EmailConfirmation", [.required("token", .string(min: 1, max: 128))])),
        answers: [
            .ok(ObjectShape("EmailConfirmed", [.readOnly("email", .string())]))
        ], problems: [.notFound, .emailTaken, .rateLimited], maxBody: 1 << 14
    ) { call in
        let database = try call.services.database
        let misses = "links that do not fit, from \(call.request.network)"
        guard try await database.counted(misses) < missLimit else {
            throw Problem.rateLimited(
                "Too many links that do not fit; wait a minute.", limit: missLimit,
                retryAfter: database.secondsOfMinuteLeft)
        }
        let user = try await database.confirmEmail(
            call.input.string("token"), requestID: call.request.id, ip: call.request.remoteAddress)
        guard let user else {
            _ = try await database.count(misses)
            throw Problem(.notFound, "The link is used up or over; ask for a new one.")
        }
        return noStore(.ok(.object([.init("email", .string(user.email))])))
    }

    /// Wrong tokens from one address per minute; counted with those of invites.
    private static let missLimit = 60

    private static func noStore(_ response: Response) -> Response {
        var response = response
        response.fields.append(Field("cache-control", "no-store"))
        return response
    }
}
