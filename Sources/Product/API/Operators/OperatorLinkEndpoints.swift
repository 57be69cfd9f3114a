import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `POST /v1/operators/{id}/link`: creates a new sign-in link for an operator who lost the first
/// one.
enum OperatorLinkEndpoint {
    static let remake = Endpoint(
        .post, "/v1/operators/{id}/link", id: "remakeOperatorLink", tag: "Operators",
        summary:
            "Creates a new one-time sign-in link for an operator who has never signed in and has "
            + "no password. Any other operator is instead mailed a link to set a new password, "
            + "so that the caller cannot get into an account that is in use. The second factor "
            + "stays.",
        access: .right(.writeOperators),
        body: .json(
            ObjectShape(
                "OperatorLinkRequest",
                [
                    .optional(
                        "delivery", .enumeration(of: Invite.Delivery.self),
                        "`mail`: the operator gets the link by mail. `link`: the response shows it "
                            + "once, which is possible only for an account that was never used. A "
                            + "request without it means `mail`, or `link` if the server has no "
                            + "mail server.")
                ])),
        answers: [
            .issued(
                ObjectShape(
                    "OperatorLink",
                    [
                        .readOnly(
                            "sign_in_url", .string(max: 2048), nullable: true,
                            "The sign-in link, shown only once; `null` if it was mailed."),
                        .readOnly("expires_at", .timestamp, "When the link expires."),
                    ]))
        ], problems: [.conflict, .rateLimited], secret: true, exists: OperatorEndpoints.isVisible
    ) { call in
        let fault = InviteAsking.deliveryFault(call.input, call.application)
        let isMailed = InviteAsking.delivery(call.input, call.application) == .mail
        let token = TokenSecret.make()
        guard let hash = TokenSecret.hash(token) else { throw Problem.internalError }
        let row = try await OperatorEndpoints.locked(call) { change, row, _ in
            guard row.status != .suspended else {
                throw Problem(.conflict, "The operator is suspended.")
            }
            let isNew = isUnused(row)
            // The error about `delivery` suggests a link, which a used account cannot get.
            guard isNew || isMailed && fault == nil else { throw usedAccount }
            if let fault { throw Problem.invalid([fault]) }
            let (link, seconds) = Self.link(isNew, token, call)
            if isNew { try await change.endSignInLinks(of: row.id) }
            try await change.addOperatorLink(
                hash, for: row.id, to: isNew ? .signIn : .passwordReset, seconds: seconds,
                isMailed: isMailed)
            if isMailed {
                try await mail(
                    isNew ? .operatorLink : .passwordReset, to: row, link, seconds, change,
                    call.database)
            }
            try await change.audit(.operatorLinkMade, row.target)
            return row
        }
        let (link, seconds) = Self.link(isUnused(row), token, call)
        let body = JSONValue.object([
            .init("sign_in_url", isMailed ? .null : .string(link)),
            .init("expires_at", .time(call.now.adding(seconds: seconds))),
        ])
        var answer = Response.json(201, bytes: body.encoded())
        answer.set("cache-control", "no-store")
        return answer
    }

    /// Whether the operator has never used the account. An operator who set a password with a
    /// mailed link has used it, even without a sign-in.
    private static func isUnused(_ row: OperatorRow) -> Bool {
        row.lastSignInAt == nil && !row.factors.hasPassword && !row.factors.hasSecondFactor
    }

    private static let usedAccount = Problem(
        .conflict,
        "The operator has a password or has signed in. Only a mail to the operator's own address "
            + "can lead to a new password. Without a mail server, the server's administrator can "
            + "set one: `gatehouse operator reset`.")

    private static func link(
        _ isNew: Bool, _ token: String, _ call: Call
    ) -> (url: String, seconds: Int64) {
        let base = call.application.publicURL
        return isNew
            ? ("\(base)/console/sign-in#token=\(token)", OperatorEndpoints.linkSeconds(call))
            : ("\(base)/reset#token=\(token)", Database.resetSeconds)
    }

    static func mail(
        _ kind: OutgoingMail.Kind, to row: OperatorRow, _ link: String, _ seconds: Int64,
        _ change: Change, _ database: Database
    ) async throws {
        try change.checkMail(left: try await change.mailsLeft(kind))
        try await change.post(
            OutgoingMail(
                kind, to: row.email,
                tenantName: row.tenant == nil ? nil : try await change.tenantName(), link: link,
                expiresAt: change.now.adding(seconds: seconds)),
            about: row.id)
    }
}

/// `POST /v1/session/link`: mails a new sign-in link to an operator who signed in with a link and
/// did not set up a password or another factor in time.
enum OwnLinkEndpoint {
    static let mail = Endpoint(
        .post, "/v1/session/link", id: "mailOwnLink", tag: "Session",
        summary:
            "Mails the operator of the session a new one-time sign-in link. This is only for "
            + "operators who have no password and no second factor, and who do not sign in at a "
            + "provider. After signing in with the "
            + "link, they can set up a password or a passkey. Earlier unused links no longer "
            + "work.",
        access: .console,
        answers: [
            Answer(
                202,
                .object(
                    ObjectShape(
                        "OwnLink",
                        [
                            .readOnly("expires_at", .timestamp, "When the mailed link expires.")
                        ])))
        ], problems: [.conflict, .rateLimited]
    ) { call in
        let person = try await call.operator
        guard !person.factors.canReturn, !person.factors.hasSecondFactor else {
            throw Problem(
                .conflict,
                person.factors.areUnusable
                    ? Call.unusableFactors
                    : "Your account has a password, a second factor or a provider; a link is only "
                        + "for accounts without any of them.")
        }
        guard call.application.sendsMail else {
            throw Problem(
                .conflict,
                "This server sends no mail. Its administrator can let you in again with `gatehouse "
                    + "operator reset`."
            )
        }
        let token = TokenSecret.make()
        guard let hash = TokenSecret.hash(token) else { throw Problem.internalError }
        let seconds = OperatorEndpoints.linkSeconds
        let link = "\(call.application.publicURL)/console/sign-in#token=\(token)"
        try await call.database.scope(person.tenant ?? .platform).change(by: call.actor) { change in
            try await change.requireProof(of: person)
            try await change.endSignInLinks(of: person.id)
            try await change.addOperatorLink(hash, for: person.id, seconds: seconds, isMailed: true)
            try await OperatorLinkEndpoint.mail(
                .operatorLink, to: person, link, seconds, change, call.database)
            try await change.audit(.operatorLinkMade, person.target)
        }
        let body = JSONValue.object([
            .init("expires_at", .time(call.now.adding(seconds: seconds)))
        ])
        return Response.json(202, bytes: body.encoded())
    }
}

/// `/v1/setup`: creates the first owner. The request needs the token that the server logged. Once
/// an operator exists or the set-up was completed, the endpoint is closed.
package enum SetupEndpoint {
    package static let all: [Endpoint] = [setUp]

    private static let closed = Problem(
        .notFound,
        "The set-up is closed: this service already has an operator, or the set-up was completed.")

    private static let setUp = Endpoint(
        .post, "/v1/setup", id: "setUp", tag: "Session",
        summary:
            "Creates the first owner and signs the owner in. If an operator already exists, or the "
            + "set-up was completed, the response is 404.", access: .open,
        body: .json(
            ObjectShape(
                "SetUp",
                [
                    .required(
                        "token", .string(min: 1, max: 128),
                        "The set-up token, which you find in the server's log."),
                    .required(
                        "name", .string(min: 1, max: 200, rule: .displayName), "The owner's name."),
                    .required(
                        "email", .email, "The email address with which the owner will sign in."),
                    .required(
                        "password", .string(min: 15, max: 1024),
                        "The owner's password: at least 15 characters and at most 1,024 bytes. A "
                            + "password that is easy to guess is refused."),
                ])),
        answers: [.created(OperatorRow.shape)], problems: [.notFound, .unauthorized, .rateLimited]
    ) { call in
        let address = try call.input.emailAddress("email")
        // A malformed token gets the same error as a wrong one.
        let hash = TokenSecret.hash(try call.input.string("token")) ?? []
        switch try await call.database.setupState(tokenHash: hash) {
        case .closed: throw closed
        case .wrongToken: throw Problem.unauthorized("The set-up token is not valid.")
        case .open: break
        }
        let name = try call.input.string("name")
        let actor = Actor(
            type: "operator", id: "", name: name, requestID: call.request.id,
            ip: call.request.remoteAddress)
        guard
            let row = try await call.database.completeSetup(
                tokenHash: hash, email: address.original, emailKey: address.key, name: name,
                passwordHash: try await NewPassword(
                    text: call.input.string("password"), about: [address.original, name]
                ).hashed(call), by: actor)
        else { throw closed }
        return try await ConsoleSession.begin(
            row, by: .password, call,
            answering: .created(row, at: "/v1/operators/\(row.id)", etag: row.etag))
    }
}
