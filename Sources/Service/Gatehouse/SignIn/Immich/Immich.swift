import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The sign-in part of the server that an Immich app expects. Its paths are below `/api`, as the
/// well-known document says; photos are not served here.
enum Immich {
    static let contract = Contract(
        name: "immich",
        headers: [
            "x-immich-user-token", "x-immich-session-token", "x-api-key", "devicemodel",
            "devicetype",
        ],
        cookie: "immich_access_token",
        otherCookies: [
            "immich_auth_type", "immich_is_authenticated", ImmichOAuth.stateCookie,
            ImmichOAuth.verifierCookie,
        ],
        settings: [
            .optional(
                "compat", .enumeration(["v2", "v3"]),
                "The generation of the Immich apps; `v3` if absent."),
            .optional(
                "admin_sign_up", .bool,
                "Whether the first person may sign up as an admin. After that, the setting is "
                    + "switched off."),
            .optional(
                "single_label_email", .bool,
                "Whether addresses such as `admin@local`, without a dot in the domain, are "
                    + "accepted."),
            .optional(
                "password_login", .bool,
                "Whether people can sign in with a password; true if absent."),
            .optional(
                "version",
                .object(
                    ObjectShape(
                        ["major", "minor", "patch"].map {
                            .required($0, .integer(0...9999), "The \($0) number of the version.")
                        })),
                "The server's version, which the apps compare with their own."),
            .nullable(
                "mobile_redirect_override",
                .string(min: 1, max: 2048, rule: ImmichOAuth.overrideRule),
                "The redirect URI that the provider gets in place of the app's own scheme, for a "
                    + "provider that accepts only https. This server's "
                    + "`/api/oauth/mobile-redirect` redirects from there to the app."),
            .optional(
                "button_text", .string(min: 1, max: 64),
                "The text on the button for the sign-in at the provider."),
        ],
        leastPassword: { $0.isCompatible("v2") ? TenantPolicy.passwordFloor : nil },
        routes: ImmichServer.routes + ImmichSignIn.routes + ImmichOAuth.routes
            + ImmichPassword.routes
            + ImmichPin.routes + ImmichUser.routes + ImmichProfile.routes
            + ImmichPreferences.routes + ImmichSessions.routes + ImmichKeys.routes,
        encode: encode, explain: explain, refine: refine)

    /// Returns a refusal with exactly the members that the app's own server sends, since the apps'
    /// own tests compare the whole body.
    private static func encode(_ problem: Problem, _ request: Request) -> Response {
        var answer = Response.json(
            problem.status,
            bytes: JSONValue.object([
                .init(
                    message,
                    problem.members.first { sameBytes($0.name, message) }?.value
                        ?? .string(problem.detail)),
                .init("error", .string(reasonPhrase(problem.status))),
                .init("statusCode", .int(problem.status)),
                .init("correlationId", .string(request.id)),
            ]).encoded())
        answer.set("x-immich-cid", request.id)
        for field in problem.fields { answer.fields.append(field) }
        return answer
    }

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        case .wrongPassword: Problem(.unauthorized, "Incorrect email or password")
        case .noCredential: Problem(.unauthorized, "Authentication required")
        case .invalidToken, .signedOut: Problem(.unauthorized, "Invalid user token")
        case .invalidKey: Problem(.unauthorized, "Invalid API key")
        case .pinExists: bad("User already has a PIN code")
        case .pinMissing: bad("User does not have a PIN code")
        case .wrongPin: bad("Wrong PIN code")
        case .wrongOldPassword: bad("Wrong password")
        case .noProvider: bad("OAuth is not enabled")
        case .verifierMissing: bad("OAuth code verifier is missing")
        case .refused(.emailMissing, _): bad("OAuth profile does not have an email address")
        // All these refusals have one text, so that it does not reveal whether an account exists.
        case .stateUnknown, .wrongVerifier, .notProved, .secretOutdated, .refused:
            bad("OAuth authentication failed")
        case .providerAway:
            Problem(
                .unavailable, "OAuth authentication failed", fields: [Field("retry-after", "5")])
        default: nil
        }
    }

    private static let message = "message"

    /// Returns the refusal as the client's generation of apps expects it. Older apps expect a list
    /// with one text for each fault; newer apps expect a single text.
    private static func refine(_ problem: Problem, _ call: ClientCall) -> Problem {
        guard call.isCompatible("v2"), !problem.errors.isEmpty else { return problem }
        var problem = problem
        problem.members = [.init(message, .array(problem.errors.map { .string($0.detail) }))]
        return problem
    }

    /// Returns 400 with this text. If a sign-in failed, `cause` says why, for the log.
    static func bad(_ text: String, cause: String? = nil) -> Problem {
        var problem = Problem(.invalidRequest, text)
        problem.cause = cause.map { SignInRefusal.causeStart + $0 }
        return problem
    }

    /// Returns 400 with the text of the app's validator, such as `email must be an email`.
    static func invalid(_ name: String, _ fault: String) -> Problem {
        invalid(name, text: "\(name) \(fault)")
    }

    /// Returns 400 with this text about the member `name`. `listed` is the text in the list that
    /// older apps expect.
    static func invalid(_ name: String, text: String, listed: String? = nil) -> Problem {
        let detail = listed.map { "[\(name)] \($0)" } ?? text
        return Problem(.invalidRequest, text, errors: [FieldError("/\(name)", .invalid, detail)])
    }
}

extension ClientCall {
    /// Whether the tenant uses this generation of apps: `v2` or `v3`.
    func isCompatible(_ generation: String) -> Bool {
        sameBytes(setting("compat")?.string ?? "v3", generation)
    }
}

extension Input {
    /// Returns a Boolean member; `nil` if it is absent or null. Throws 400 with the validator's
    /// text.
    func flag(_ name: String) throws -> Bool? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let flag = value.bool else { throw Immich.invalid(name, "must be a boolean value") }
        return flag
    }

    /// Returns the kind of a value in the words of the apps' validator.
    private static func kind(of value: JSONValue?) -> String {
        switch value {
        case nil: "undefined"
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// Returns a required text member. Throws 400 with the validator's text.
    func required(_ name: String) throws -> String {
        guard let text = optionalString(name) else {
            throw Immich.invalid(
                name, text: "\(name) must be a string",
                listed: "Invalid input: expected string, received \(Self.kind(of: self[name]))")
        }
        guard !text.isEmpty else {
            throw Immich.invalid(
                name, text: "\(name) should not be empty",
                listed: "Too small: expected string to have >=1 characters")
        }
        return text
    }
}

/// What an app asks the server before the sign-in.
enum ImmichServer {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/.well-known/immich", isPublic: true) { _ in
            .ok(.object([.init("api", .object([.init("endpoint", .string("/api"))]))]))
        },
        ContractRoute(.get, "/api/server/ping", isPublic: true) { _ in
            .ok(.object([.init("res", .string("pong"))]))
        },
        ContractRoute(.get, "/api/server/version", isPublic: true) { .ok(version($0)) },
        ContractRoute(.get, "/api/server/features", isPublic: true) {
            .ok(try await features($0))
        },
        ContractRoute(.get, "/api/server/config", isPublic: true) { .ok(try await config($0)) },
    ]

    private static func version(_ call: ClientCall) -> JSONValue {
        let set = call.setting("version")
        var members: [JSONValue.Member] = [
            .init("major", .int(set?["major"]?.int ?? (call.isCompatible("v2") ? 2 : 3))),
            .init("minor", .int(set?["minor"]?.int ?? 0)),
            .init("patch", .int(set?["patch"]?.int ?? 0)),
        ]
        if !call.isCompatible("v2") { members.append(.init("prerelease", .null)) }
        return .object(members)
    }

    /// Returns the list of features. Features that this server lacks are false, since the generated
    /// clients require every member.
    private static func features(_ call: ClientCall) async throws -> JSONValue {
        let names = [
            "configFile", "duplicateDetection", "email", "facialRecognition", "importFaces", "map",
            "oauth", "oauthAutoLaunch", "ocr", "passwordLogin", "realtimeTranscoding",
            "reverseGeocoding", "search", "sidecar", "smartSearch", "trash",
        ]
        let hasProvider = try await call.hasProvider()
        return .object(
            names.map { name in
                switch name {
                case "oauth": .init(name, .bool(hasProvider))
                case "passwordLogin": .init(name, .bool(call.allowsPasswords))
                default: .init(name, .bool(false))
                }
            })
    }

    private static func config(_ call: ClientCall) async throws -> JSONValue {
        let isInitialized = try await !call.offersAdminSignUp()
        return .object([
            .init("externalDomain", .string(call.baseURL)),
            .init("isInitialized", .bool(isInitialized)),
            .init("isOnboarded", .bool(true)),
            .init("loginPageMessage", .string("")),
            .init("maintenanceMode", .bool(false)),
            .init("mapDarkStyleUrl", .string("")),
            .init("mapLightStyleUrl", .string("")),
            .init("minFaces", .int(3)),
            .init(
                "oauthButtonText",
                .string(call.setting("button_text")?.string ?? "Login with OAuth")),
            .init("publicUsers", .bool(false)),
            .init("trashDays", .int(30)),
            .init("userDeleteDelay", .int(30)),
        ])
    }
}

extension ClientCall {
    var allowsPasswords: Bool { setting("password_login")?.bool ?? true }

    /// Returns whether the app may create the first admin: if the setting permits it and the tenant
    /// has no users.
    func offersAdminSignUp() async throws -> Bool {
        guard setting("admin_sign_up")?.bool == true else { return false }
        return try await !scope.hasUsers()
    }
}
