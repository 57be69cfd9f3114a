import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/session`: sign-in, sign-out and the sessions of operators at the console.
package enum SessionEndpoints {
    package static let all: [Endpoint] =
        [
            signIn, current, signOut, StepUpEndpoint.stepUp,
            NotMeEndpoint.disown, SignInWaysEndpoint.ways,
        ]

    private static let signIn = Endpoint(
        .post, "/v1/session", id: "signIn", tag: "Session",
        summary: "Signs an operator in, with a password, a passkey or the token of a one-time "
            + "link.",
        access: .open,
        body: .json(
            ObjectShape(
                "SignIn",
                [
                    .optional(
                        "email", .string(min: 1, max: 320),
                        "The operator's email address. It is required without `token` and "
                            + "`passkey`."),
                    .optional(
                        "password", .string(min: 1, max: 1024),
                        "The operator's password. It is required with `email`."),
                    .optional(
                        "token", .string(min: 1, max: 128),
                        "The token of a one-time sign-in link: the text after `#token=` in the "
                            + "link."),
                    .optional("passkey", .object(PasskeyInput.assertion), PasskeyInput.about),
                    .optional(
                        "totp", .string(min: 6, max: 16),
                        "The current code of the authenticator app."),
                    .optional(
                        "recovery_code", .string(min: 8, max: 64),
                        "A recovery code, in place of the authenticator app's code. Each recovery "
                            + "code works once."),
                    .optional(
                        "tenant", .string(min: 1, max: 63),
                        "The operator's tenant, by id or slug. An operator whose address is not "
                            + "confirmed needs it with a password if other operators have the same "
                            + "address."),
                ])),
        answers: [
            .created(ConsoleSession.shape),
            Answer(401, .problem([.unauthorized, .secondFactorRequired])),
        ],
        problems: [.reason(.tenantSuspended), .conflict, .rateLimited],
        maxBody: 1 << 15
    ) { call in
        let (person, method) = try await proved(call)
        try await checkTenant(of: person, call)
        return try await ConsoleSession.begin(person, by: method, call)
    }

    private static let current = Endpoint(
        .get, "/v1/session", id: "getSession", tag: "Session",
        summary: "Returns the operator of the console's session.", access: .console,
        answers: [.ok(ConsoleSession.shape)]
    ) { call in
        .ok(
            try ConsoleSession(operator: try await call.operator, until: call.principal.stepUpUntil)
                .json(call))
    }

    private static let signOut = Endpoint(
        .delete, "/v1/session", id: "signOut", tag: "Session",
        summary: "Ends the request's own console session; 404 for an API key.",
        access: .principal,
        answers: [.noContent], problems: [.notFound]
    ) { call in
        guard let session = call.principal.session else { throw Problem.notFound("session") }
        try await call.database.endOperatorSession(
            session, of: call.operator, by: call.actor)
        var answer = Response.noContent
        answer.fields.append(SessionCookie.clear(isTLS: call.request.isTLS))
        // The response does not clear cookies, so that the browser remains known as one in which
        // its operator has signed in.
        answer.fields.append(Field("clear-site-data", "\"cache\", \"storage\""))
        return answer
    }

    /// The operator whom the password, passkey or link in the body identifies. All failures of one
    /// method get the same text.
    private static func proved(_ call: Call) async throws -> (OperatorRow, SignInMethod) {
        if call.input.has("passkey") { return (try await PasskeyProof(call).signIn(), .passkey) }
        if let token = call.input.optionalString("token") {
            guard let hash = TokenSecret.hash(token),
                let person = try await call.database.consumeOperatorLink(hash),
                person.status != .suspended
            else {
                throw Problem.unauthorized(
                    "The link is not valid, or no longer valid; ask for a new one.")
            }
            if let problem = try await elsewhere(person.email, call),
                try await call.database.isProviderRequired(of: person.id)
            {
                throw problem
            }
            guard !person.factors.hasSecondFactor else {
                throw Problem.unauthorized(
                    "A link is not enough for an account with a second factor. Sign in with a "
                        + "passkey, or with the password and a code.")
            }
            return (person, .link)
        }
        var missing: [FieldError] = []
        for name in ["email", "password"] where !call.input.has(name) {
            missing.append(
                FieldError("/\(name)", .required, "is required without a token or a passkey"))
        }
        guard missing.isEmpty else { throw Problem.invalid(missing) }
        let password = Array(try call.input.string("password").utf8)
        let attempt = try SignInAttempt(of: call.input.string("email"), call)
        guard
            let person = try await attempt.prove(
                password, in: call.input.optionalString("tenant"))
        else { throw try await refused(call) }
        let method = try await SecondFactor(person: person, attempt: attempt, call: call).prove()
        return (person, method)
    }

    /// The error for a wrong address or password. If operators of the address's domain must sign in
    /// at a provider, the error names the provider, even if no operator has the address.
    private static func refused(_ call: Call) async throws -> Problem {
        try await elsewhere(call.input.string("email"), call)
            ?? .unauthorized("The address or the password is wrong.")
    }

    /// The error that names the provider where operators of the address's domain must sign in;
    /// `nil` if they need not.
    private static func elsewhere(_ email: String, _ call: Call) async throws -> Problem? {
        guard let setting = try await call.database.operatorSignIn(), setting.isRequired,
            let address = try? EmailAddress(email), setting.covers(address.domain.ascii),
            let provider = try await call.database.provider(setting.provider, owner: nil)
        else { return nil }
        return .unauthorized("Operators of \(address.domain.ascii) sign in at \(provider.name).")
    }

    /// Throws if the operator's tenant is suspended. Without this check, the new session would be
    /// refused only when it is first used.
    package static func checkTenant(of person: OperatorRow, _ call: Call) async throws {
        guard let tenant = person.tenant else { return }
        switch try await call.database.scope(tenant).tenantRow()?.status {
        case .active: return
        case .suspended:
            // If the tenant's own operators suspended the tenant, an owner may sign in to resume
            // it.
            guard person.role == .owner,
                try await call.database.scope(tenant).isSuspendedByItself()
            else { throw Problem(.reason(.tenantSuspended), "The tenant is suspended.") }
        default: throw Problem.unauthorized("The tenant is deleted.")
        }
    }
}

/// `GET /v1/session/ways`: the ways to sign in that the sign-in page offers. They are the same for
/// everyone.
enum SignInWaysEndpoint {
    static let ways = Endpoint(
        .get, "/v1/session/ways", id: "getSignInWays", tag: "Session",
        summary: "Returns the ways to sign in to the console of this server.",
        access: .open,
        answers: [
            .ok(
                ObjectShape(
                    "SignInWays",
                    [
                        .readOnly(
                            "set_up", .bool, "Whether the server is set up: an operator exists."),
                        .readOnly(
                            "passkeys", .bool,
                            "Whether passkeys work at the address of this server."),
                        .readOnly(
                            "passkeys_fault", .string(), nullable: true,
                            "Why passkeys do not work at the address of this server; `null` if "
                                + "they do."),
                        .readOnly(
                            "provider",
                            .object(
                                ObjectShape(
                                    "SignInProvider",
                                    [
                                        .readOnly(
                                            "name", .string(),
                                            "The provider's name, as the sign-in page shows it."),
                                        .readOnly(
                                            "kind", .enumeration(of: ProviderKind.self),
                                            "The kind of the provider: `oidc`, `google` or "
                                                + "`github`. Operators cannot sign in at one of "
                                                + "another kind."),
                                    ])), nullable: true,
                            "The provider at which operators can sign in; `null` if there is "
                                + "none."),
                    ]))
        ]
    ) { call in
        let fault = call.passkeyFault
        var provider: ProviderRow?
        if let setting = try await call.database.operatorSignIn() {
            provider = try await call.database.provider(setting.provider, owner: nil)
        }
        return .ok(
            .object([
                .init("set_up", .bool(try await call.database.hasOperator())),
                .init("passkeys", .bool(fault == nil)),
                .init("passkeys_fault", fault.map(JSONValue.string) ?? .null),
                .init(
                    "provider",
                    provider.map {
                        .object([.init("name", .string($0.name)), .init("kind", .string($0.kind))])
                    } ?? .null),
            ]))
    }
}

/// `POST /v1/session/not-me`: ends the sessions and the password of an operator. The link "this was
/// not me" in a mail opens a page, and a button on that page sends this request. Opening the page
/// changes nothing, since mail systems open links by themselves.
enum NotMeEndpoint {
    static let disown = Endpoint(
        .post, "/v1/session/not-me", id: "disownSessions", tag: "Session",
        summary:
            "Ends all sessions of an operator. If the operator has a password, it is removed, and "
            + "a link to set a new one is mailed, unless the limit of such mails was reached. This "
            + "needs the token from a mail about the operator's account.",
        access: .open,
        body: .json(
            ObjectShape(
                "NotMe",
                [
                    .required(
                        "token", .string(min: 1, max: 128),
                        "The token of the link in the mail: the text after `#token=` in the link.")
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "NotMeDone",
                    [
                        .readOnly(
                            "reset_mailed", .bool,
                            "Whether the operator could sign in with a password. If true, a "
                                + "link to set a new one was mailed, unless the limit of such "
                                + "mails was reached.")
                    ]))
        ], problems: [.notFound, .rateLimited], secret: true, maxBody: 1 << 14
    ) { call in
        try await LinkMisses.check(call)
        let hash = TokenSecret.hash(try call.input.string("token")) ?? []
        let done = try await call.database.disown(
            tokenHash: hash, publicURL: call.application.publicURL, requestID: call.request.id,
            ip: call.request.remoteAddress)
        guard let done else {
            try await LinkMisses.count(call)
            throw Problem(.notFound, "The link is not valid, or no longer valid.")
        }
        var answer = Response.ok(.object([.init("reset_mailed", .bool(done.needsPassword))]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }
}
