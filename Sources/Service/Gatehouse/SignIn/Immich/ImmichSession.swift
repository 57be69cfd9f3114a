import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The session as the app gets it: the token in the body, and three cookies for its web pages.
enum ImmichSession {
    /// The lifetime in seconds: 400 days, the longest that browsers keep a cookie.
    private static let lifetime = 34_560_000

    /// Begins the session; returns 201 with the login response.
    static func begin(
        _ call: ClientCall, of user: UserRow, _ method: NewSession.Method,
        mustChangePassword: Bool = false
    ) async throws -> Response {
        let seconds = call.tokenSeconds(default: lifetime)
        let (token, row) = try await call.startSession(
            of: user.id, method, device(call.request), seconds: seconds)
        let profile = try await call.immichProfile(of: row)
        var answer = Response.json(
            201,
            bytes: JSONValue.object([
                .init("accessToken", .string(token)),
                .init("userId", .string(row.id.description)),
                .init("userEmail", .string(ImmichUser.email(of: row))),
                .init("name", .string(row.name ?? "")),
                .init("isAdmin", .bool(row.role == .admin)),
                .init(
                    "shouldChangePassword", .bool(mustChangePassword || profile.hasFirstPassword)),
                .init("profileImagePath", .string("")),
                .init("isOnboarded", .bool(profile.isOnboarded)),
            ]).encoded())
        for (name, value, isHidden) in [
            ("immich_access_token", token, true), ("immich_auth_type", method.rawValue, true),
            ("immich_is_authenticated", "true", false),
        ] {
            answer.fields.append(call.cookie(name, value, seconds: seconds, isHidden: isHidden))
        }
        return answer
    }

    /// Returns the response (200) to a sign-out. The response removes the cookies.
    static func ended(_ call: ClientCall) -> Response {
        var answer = Response.ok(
            .object([
                .init("successful", .bool(true)),
                .init("redirectUri", .string("/auth/login?autoLaunch=0")),
            ]))
        for name in ["immich_access_token", "immich_auth_type", "immich_is_authenticated"] {
            answer.fields.append(call.clearedCookie(name))
        }
        return answer
    }

    static func device(_ request: Request) -> ReportedDevice {
        ReportedDevice(type: request.first("devicetype"), os: request.first("devicemodel"))
    }
}

/// The devices on which the user is signed in to this app, as its web page lists them.
enum ImmichSessions {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/sessions") { call in
            let (user, current) = try await holder(call, "session.read")
            let page = try await call.scope.sessions(of: user.id, ListQuery(limit: 200))
            let items = page.rows.filter { sameBytes($0.client, call.client.name) }
                .map { json($0, isCurrent: $0.id == current) }
            return .json(bytes: JSONValue.array(items).encoded())
        },
        ContractRoute(.delete, "/api/sessions") { call in
            let (user, current) = try await holder(call, "session.delete")
            try await call.scope.change(by: call.actor(user)) {
                try await $0.endSessions(of: user, at: call.client.name, except: current)
            }
            return .noContent
        },
        ContractRoute(.delete, "/api/sessions/{session}") { call in
            let (user, _) = try await holder(call, "session.delete")
            guard let id = UUID(try call.parameter("session")) else { throw missing }
            do {
                try await call.scope.change(by: call.actor(user)) {
                    try await $0.endSessions(of: user, at: call.client.name, id: id)
                }
            } catch StorageFailure.notFound {
                throw missing
            }
            return .noContent
        },
    ]

    private static let missing = Immich.bad("Not found or no authDevice.delete access")

    /// Returns the user, and the id of the request's session. If the caller is a key, there is no
    /// session, and the key must have the permission.
    private static func holder(
        _ call: ClientCall, _ permission: String
    ) async throws -> (user: UserRow, current: UUID?) {
        let caller = try await call.caller()
        try ImmichKeys.require(permission, of: caller)
        guard let user = caller.user else { throw Problem.forbidden("Forbidden") }
        if case .person(let person) = caller { return (user, person.session.id) }
        return (user, nil)
    }

    private static func json(_ session: UserSessionRow, isCurrent: Bool) -> JSONValue {
        .object([
            .init("id", .string(session.id.description)),
            .init("createdAt", .string(session.createdAt.description)),
            .init("updatedAt", .string(session.lastSeenAt.description)),
            .init("current", .bool(isCurrent)),
            .init("isPendingSyncReset", .bool(false)),
            .init("deviceOS", .string(session.deviceOS ?? "")),
            .init("deviceType", .string(session.deviceType ?? "")),
            .init("appVersion", .null),
        ])
    }
}

/// The PIN of the app's locked folder. A wrong PIN gets 400 and never 401, because the app would
/// sign out on a 401.
enum ImmichPin {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/pin-code") { call in
            let person = try await call.personForbiddingKeys()
            try await call.setPin(pin("pinCode", try call.object()), of: person)
            return .noContent
        },
        ContractRoute(.put, "/api/auth/pin-code") { try await change($0) },
        ContractRoute(.delete, "/api/auth/pin-code") { call in
            let person = try await call.personForbiddingKeys()
            try await prove(call, person, try call.object())
            try await call.replacePin(with: nil, of: person)
            return .noContent
        },
        ContractRoute(.post, "/api/auth/pin-code/verify") { try await unlock($0) },
        ContractRoute(.post, "/api/auth/session/unlock") { try await unlock($0) },
        ContractRoute(.post, "/api/auth/session/lock") { call in
            try await call.lower(call.personForbiddingKeys())
            return .noContent
        },
        ContractRoute(.get, "/api/auth/status") { status($0, try await $0.personForbiddingKeys()) },
    ]

    /// Sets the first PIN if only `pinCode` is sent. With `newPinCode`, changes the PIN, which
    /// needs the old PIN or the password.
    private static func change(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let person = try await call.personForbiddingKeys()
        guard input.has("newPinCode") else {
            try await call.setPin(pin("pinCode", input), of: person)
            return .noContent
        }
        let new = try pin("newPinCode", input)
        try await prove(call, person, input)
        try await call.replacePin(with: new, of: person)
        return .noContent
    }

    private static func unlock(_ call: ClientCall) async throws -> Response {
        let person = try await call.personForbiddingKeys()
        try await call.checkPin(pin("pinCode", try call.object()), of: person)
        try await call.lift(person)
        return .noContent
    }

    private static func prove(_ call: ClientCall, _ person: SignedIn, _ input: Input) async throws {
        if person.secrets.pinHash == nil { throw SignInRefusal.pinMissing }
        if let password = input.optionalString("password") {
            guard try await call.isPassword(password, of: person) else {
                throw SignInRefusal.wrongOldPassword
            }
        } else if let pin = input.optionalString("pinCode") {
            try await call.checkPin(pin, of: person)
        } else {
            throw Immich.bad("Either password or pinCode is required")
        }
    }

    private static func pin(_ name: String, _ input: Input) throws -> String {
        guard let text = input.optionalString(name), ClientCall.isPin(text) else {
            throw Immich.invalid(name, "must be 4 to 8 digits")
        }
        return text
    }

    private static func status(_ call: ClientCall, _ person: SignedIn) -> Response {
        var members: [JSONValue.Member] = [
            .init("pinCode", .bool(person.secrets.pinHash != nil)),
            .init("password", .bool(person.secrets.passwordHash != nil)),
            .init("isElevated", .bool(person.session.isElevated(at: call.now))),
            .init("expiresAt", .string(person.session.expiresAt.description)),
        ]
        if let until = person.session.elevatedUntil, call.now < until {
            members.append(.init("pinExpiresAt", .string(until.description)))
        }
        return .ok(.object(members))
    }
}
