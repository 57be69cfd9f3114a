import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The sign-in part of the backend that a time-tracking app and its web page expect. The server
/// keeps the PKCE verifier, and the app keeps an access token. Time entries are not served.
enum TimeTracker {
    static let contract = Contract(
        name: "timetracker",
        headers: ["x-api-key"],
        cookie: TimeTrackerWeb.sessionCookie,
        otherCookies: [TimeTrackerWeb.stateCookie],
        settings: [
            .optional(
                "app_url", .string(min: 1, max: 2048, rule: webAddress),
                "The URL of the app's web page. If absent, people can sign in only in the app.")
        ],
        routes: TimeTrackerSignIn.routes + TimeTrackerWeb.routes + TimeTrackerKeys.routes,
        // The app drops its session on any 401, so only a wrong credential gets that status.
        encode: { problem, _ in problem.plainError }, explain: explain)

    private static let webAddress = TextRule(
        detail: "must be an http or https address without query and fragment",
        example: "https://time.acme.example"
    ) { text in
        ["https://", "http://"].contains {
            text.utf8.starts(with: $0.utf8) && text.utf8.count > $0.utf8.count
        } && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 && $0 != 0x3F }
    }

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        case .stateUnknown:
            bad("OIDC session not found or expired. Initiate login again.")
        case .wrongVerifier, .verifierMissing, .notProved:
            bad(exchangeFailed + "the provider's answer could not be verified.")
        case .signedOut:
            bad(exchangeFailed + "every session of the account was ended since; sign in again.")
        default: nil
        }
    }

    static let exchangeFailed = "Failed to exchange token: "

    /// Returns 400 with this text. If a sign-in failed, `cause` says why, for the log.
    static func bad(_ text: String, cause: String? = nil) -> Problem {
        var problem = Problem(.invalidRequest, text)
        problem.cause = cause.map { SignInRefusal.causeStart + $0 }
        return problem
    }

    /// Returns the user as the app reads it. `username` is the part of the address before the @,
    /// because the core has no user names.
    static func json(_ user: UserRow) -> JSONValue {
        let name = String(decoding: user.email.utf8.prefix { $0 != 0x40 }, as: UTF8.self)
        return .object([
            .init("id", .string(user.id.description)), .init("username", .string(name)),
            .init("fullName", user.name.map(JSONValue.string) ?? .null),
            .init("email", .string(user.email)),
        ])
    }
}

/// The app's sign-in. The app opens a browser, which is redirected to the provider. The app itself
/// receives the redirect back, and posts the parameters of that redirect.
enum TimeTrackerSignIn {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/health", isPublic: true) { _ in
            .ok(.object([.init("status", .string("ok"))]))
        },
        ContractRoute(.get, "/auth/login") { call in
            try await Contract.mappingServerErrors("Failed to initiate login") {
                try await begin(call)
            }
        },
        ContractRoute(.post, "/auth/token") { call in
            try await Contract.mappingServerErrors(
                TimeTracker.exchangeFailed + "the server could not finish it; try again.",
                away: TimeTracker.exchangeFailed + "the provider cannot be asked; try again."
            ) { try await exchange(call) }
        },
        ContractRoute(.get, "/auth/me") { call in
            .ok(TimeTracker.json(try await TimeTrackerKeys.user(call)))
        },
        ContractRoute(.post, "/auth/logout") { call in
            try await Contract.mappingServerErrors("Failed to logout") { try await signOut(call) }
        },
    ]

    private static let lifetime = 3600

    /// Begins a sign-in. A request without `redirect_uri` comes from the web page.
    private static func begin(_ call: ClientCall) async throws -> Response {
        let query = FormText(call.request.query)
        guard let redirect = query.first("redirect_uri") else {
            return try await TimeTrackerWeb.begin(call)
        }
        guard !query.isRepeated("redirect_uri") else { throw SignInRefusal.redirectNotRegistered }
        let begun = try await call.beginLogin(LoginWish(redirectURI: redirect))
        return Response(302, fields: [Field("location", begun.url)])
    }

    /// Completes the app's sign-in. The redirect address in the body must be the one with which the
    /// sign-in began; it is only compared, never used.
    private static func exchange(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        guard let code = text("code", input), let state = text("state", input) else {
            throw TimeTracker.bad(
                "Missing required parameters: code, state", cause: "no code or state")
        }
        // The app itself received the redirect, and its body has no field for `iss`.
        let user = try await call.completeLogin(
            LoginReturn(
                state: state, code: code,
                redirectURI: input.optionalString("redirect_uri") ?? "", hidesIssuer: true))
        let token = try await call.startTokenSession(
            of: user.id, .oauth, ReportedDevice(), seconds: call.tokenSeconds(default: lifetime))
        return .ok(
            .object([
                .init("access_token", .string(token.text)), .init("token_type", .string("Bearer")),
                .init("expires_in", .int(Int(token.seconds))),
                .init("user", TimeTracker.json(token.user)),
            ]))
    }

    private static func text(_ name: String, _ input: Input) -> String? {
        input.optionalString(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Signs out. An expired session counts as signed out, since the app drops its token whatever
    /// the response is.
    private static func signOut(_ call: ClientCall) async throws -> Response {
        do {
            try await call.endOwnSession()
        } catch SignInRefusal.noCredential, SignInRefusal.invalidToken,
            SignInRefusal.invalidKey
        {}
        var answer = Response.ok(.object([.init("message", .string("Logged out successfully"))]))
        if RequestCookie.value(TimeTrackerWeb.sessionCookie, in: call.request) != nil {
            answer.fields.append(call.clearedCookie(TimeTrackerWeb.sessionCookie))
        }
        return answer
    }
}

/// The web page's sign-in: the provider redirects to this server, and a cookie holds the session.
enum TimeTrackerWeb {
    static let sessionCookie = "timetracker_session"
    static let stateCookie = "timetracker_state"
    private static let path = "/auth/callback"
    private static let lifetime = 3600

    static let routes: [ContractRoute] = [
        ContractRoute(.get, path) { try await end($0) }
    ]

    /// Redirects (302) to the provider, and sets a cookie. The browser's return from the provider
    /// is accepted only with this cookie.
    static func begin(_ call: ClientCall, maxAge: Int64? = nil) async throws -> Response {
        guard call.appURL != nil else { throw SignInRefusal.redirectNotRegistered }
        let begun = try await call.beginLogin(
            LoginWish(redirectURI: call.baseURL + path, isBrowsers: true, maxAge: maxAge))
        let secret = begun.state + "." + (begun.browser ?? "")
        return Response(
            302,
            fields: [
                Field("location", begun.url), call.cookie(stateCookie, secret, seconds: 600),
            ])
    }

    /// Completes the web page's sign-in. Throws 400 if no cookie shows that this browser began the
    /// sign-in. Otherwise redirects to the page, which learns only whether the sign-in succeeded.
    private static func end(_ call: ClientCall) async throws -> Response {
        let query = FormText(call.request.query)
        guard let app = call.appURL, let state = query.first("state"), !query.isRepeated("state"),
            let browser = secret(of: state, call)
        else { throw TimeTracker.bad("Invalid session", cause: "state_unknown") }
        do {
            guard let code = query.first("code"), !query.isRepeated("code") else {
                throw SignInRefusal.notProved("no code")
            }
            let (person, begun) = try await call.proveLogin(
                LoginReturn(
                    state: state, code: code, redirectURI: call.baseURL + path,
                    issuer: query.first("iss"), browser: browser))
            let user: UserRow
            do {
                user = try await call.admit(person)
            } catch SignInRefusal.signedOut(isStale: true) where !begun.isAskedAnew {
                return try await self.begin(call, maxAge: 0)
            }
            let seconds = call.tokenSeconds(default: lifetime)
            let (token, _) = try await call.startSession(
                of: user.id, .oauth, ReportedDevice(), seconds: seconds)
            let cookies = [call.cookie(sessionCookie, token, seconds: seconds)]
            return Response(302, fields: back(to: app, "success=true", cookies, call))
        } catch let refusal as SignInRefusal {
            // The redirect is thrown as a problem, so that the log gets the reason, which the page
            // does not get.
            var problem = Problem(
                .unauthorized, "authentication_failed", status: 302,
                fields: back(to: app, "error=authentication_failed", [], call))
            problem.cause = refusal.cause ?? "sign-in: \(refusal)"
            throw problem
        }
    }

    /// Returns the secret of the sign-in with this state from the cookie; `nil` if the cookie is of
    /// another sign-in.
    private static func secret(of state: String, _ call: ClientCall) -> String? {
        guard let cookie = RequestCookie.value(stateCookie, in: call.request),
            cookie.utf8.starts(with: (state + ".").utf8)
        else { return nil }
        return String(decoding: cookie.utf8.dropFirst(state.utf8.count + 1), as: UTF8.self)
    }

    private static func back(
        to app: String, _ query: String, _ cookies: [Field], _ call: ClientCall
    ) -> [Field] {
        [Field("location", "\(app)\(path)?\(query)")] + cookies + [call.clearedCookie(stateCookie)]
    }
}

extension ClientCall {
    /// The address of the web page, without a trailing slash; `nil` if it is not set.
    fileprivate var appURL: String? {
        setting("app_url")?.string.map { text in
            text.utf8.last == UInt8(ascii: "/") ? String(text.dropLast()) : text
        }
    }
}

/// The user's API keys. They act as the user in this app and have no right at `/v1`.
enum TimeTrackerKeys {
    /// The scope that every key made by this app has.
    private static let scope = "timetracker"
    /// The scopes with which a key may read in this app: the app's own scope, and two scopes of the
    /// tenant's catalogue.
    private static let reading = [scope, "app", "api:read"]

    /// Returns the signed-in user, or the owner of a key that may read in this app. Throws 403 for
    /// any other key, because a 401 would sign the app out.
    static func user(_ call: ClientCall) async throws -> UserRow {
        let caller = try await call.caller()
        if let key = caller.key,
            !key.scopes.contains(where: { own in reading.contains { sameBytes($0, own) } })
        {
            throw Problem.forbidden("The key lacks the scope \(reading.joined(separator: " or ")).")
        }
        guard let user = caller.user else {
            throw SignInRefusal.invalidKey("The key belongs to no user.")
        }
        return user
    }

    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api-keys") { try await create($0) },
        ContractRoute(.get, "/api-keys") { call in
            let keys = try await call.ownKeys(of: owner(call))
            let items = keys.map { row in
                JSONValue.object(
                    shown(row.key) + [
                        .init("createdAt", .string(row.key.createdAt.description)),
                        .init(
                            "lastUsedAt",
                            row.key.lastUsedAt.map { .string($0.description) } ?? .null),
                    ])
            }
            return .json(bytes: JSONValue.array(items).encoded())
        },
        ContractRoute(.delete, "/api-keys/{key}") { call in
            let user = try await owner(call)
            guard let id = UUID(try call.parameter("key")),
                try await call.ownKeys(of: user).contains(where: { $0.key.id == id })
            else { throw Problem(.notFound, "API key not found") }
            try await call.revokeKey(id, by: user, with: nil)
            return .noContent
        },
    ]

    private static func create(_ call: ClientCall) async throws -> Response {
        let user = try await owner(call)
        let name = DisplayText.named(try call.object().optionalString("name") ?? "")
        guard (1...255).contains(name.unicodeScalars.count) else {
            throw TimeTracker.bad("name must have 1 to 255 characters")
        }
        guard DisplayText.isName(name) else {
            throw TimeTracker.bad("name must have no control or invisible characters")
        }
        let (row, secret) = try await call.makeKey(
            name: name, scopes: [scope], owner: user, by: nil)
        return .json(
            201,
            bytes: JSONValue.object(
                shown(row.key) + [
                    .init("rawKey", .string(secret.text)),
                    .init("createdAt", .string(row.key.createdAt.description)),
                ]
            ).encoded())
    }

    private static func shown(_ key: APIKey) -> [JSONValue.Member] {
        [
            .init("id", .string(key.id.description)), .init("name", .string(key.name)),
            .init("prefix", .string(key.current.prefix)),
        ]
    }

    /// Returns the signed-in user. Throws for a key: otherwise its holder could create further
    /// keys, and keep access after the key is revoked.
    private static func owner(_ call: ClientCall) async throws -> UserRow {
        guard case .person(let person) = try await call.caller() else {
            throw Problem.forbidden("Only a signed-in session may manage API keys.")
        }
        return person.user
    }
}
