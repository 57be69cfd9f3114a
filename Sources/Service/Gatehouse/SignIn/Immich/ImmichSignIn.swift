import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Sign-in with a password, creation of the first admin, and signing out.
enum ImmichSignIn {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/login") { try await signIn($0) },
        ContractRoute(.post, "/api/auth/logout") { try await signOut($0) },
        ContractRoute(.post, "/api/auth/validateToken") { call in
            try ImmichKeys.requireOfApp(try await call.caller())
            return .ok(.object([.init("authStatus", .bool(true))]))
        },
        ContractRoute(.post, "/api/auth/admin-sign-up") { try await signUp($0) },
    ]

    private static func signIn(_ call: ClientCall) async throws -> Response {
        guard call.allowsPasswords else {
            throw Problem(.unauthorized, "Password login has been disabled")
        }
        let input = try call.object()
        let email = try input.required("email")
        let password = try input.required("password")
        guard (try? EmailAddress(email, allowSingleLabel: call.allowsSingleLabel)) != nil else {
            throw Immich.invalid("email", "must be an email")
        }
        let (user, secrets) = try await call.user(
            email: email, password: password, device: ImmichSession.device(call.request))
        return try await ImmichSession.begin(
            call, of: user, .password, mustChangePassword: secrets.mustChangePassword)
    }

    private static func signOut(_ call: ClientCall) async throws -> Response {
        try await call.endOwnSession()
        return ImmichSession.ended(call)
    }

    private static func signUp(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        let email = try input.required("email")
        let password = try input.required("password")
        let name = try input.required("name")
        guard try await call.offersAdminSignUp() else {
            throw Immich.bad("The server already has an admin")
        }
        let lower = asciiLowercased(email)
        guard let address = try? EmailAddress(lower, allowSingleLabel: call.allowsSingleLabel)
        else { throw Immich.invalid("email", "must be an email") }
        let hash = try await call.newPasswordHash(password, about: [email, name])
        let user = try await call.scope.change(by: call.actor()) {
            try await $0.makeFirstAdmin(
                email: address, name: name, passwordHash: hash, client: call.client.name,
                profile: ImmichProfile.firstAdmin)
        }
        guard let user else { throw Immich.bad("The server already has an admin") }
        let shown = try await ImmichUser.shown(user, mustChangePassword: false, call)
        return .json(201, bytes: shown.encoded())
    }
}

/// Changes the password: with the old password or, shortly after the sign-in, without it.
enum ImmichPassword {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/change-password") { call in
            let input = try call.object()
            let person = try await call.personForbiddingKeys()
            let old = try input.required("password")
            let new = try input.required("newPassword")
            guard try await call.isPassword(old, of: person) else {
                throw SignInRefusal.wrongOldPassword
            }
            let user = try await call.changePassword(
                of: person, to: new, endsOthers: try input.flag("invalidateSessions") ?? true)
            return .ok(try await ImmichUser.shown(user, mustChangePassword: false, call))
        },
        ContractRoute(.put, "/api/auth/change-password") { call in
            let input = try call.object()
            let person = try await call.personForbiddingKeys()
            let password = try input.required("password")
            try requireFresh(call, person)
            let user = try await call.changePassword(of: person, to: password)
            return .ok(try await ImmichUser.shown(user, mustChangePassword: false, call))
        },
    ]

    /// The seconds after a sign-in during which the user may set a password without the old one.
    private static let freshFor: Int64 = 300

    /// Throws if the session is no longer new, unless an operator chose the password. Without this
    /// check, a thief with an unlocked phone could take over the account.
    static func requireFresh(_ call: ClientCall, _ person: SignedIn) throws {
        guard
            person.secrets.mustChangePassword
                || call.now < person.session.createdAt.adding(seconds: freshFor)
        else { throw Immich.bad("Sign in again to change the password") }
    }
}

/// Sign-in at the tenant's provider. The app holds the PKCE verifier; for its web page, this server
/// may hold it.
enum ImmichOAuth {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/oauth/authorize") { call in
            try await requireProvider(call)
            if let method = call.query("code_challenge_method"), method != "S256" {
                throw Immich.bad("code_challenge_method must be S256", cause: "challenge_unfit")
            }
            guard let challenge = call.query("code_challenge") else {
                throw SignInRefusal.verifierMissing
            }
            // The documented app sends no redirect address here, so the first one of the client is
            // used.
            guard let uri = call.query("redirect_uri") ?? call.client.redirectURIs.first else {
                throw SignInRefusal.redirectNotRegistered
            }
            let begun = try await call.beginLogin(
                wish(call, uri, state: call.query("state"), challenge: challenge))
            return .ok(.object([.init("url", .string(begun.url))]))
        },
        ContractRoute(.post, "/api/oauth/authorize") { try await begin($0) },
        ContractRoute(.post, "/api/oauth/callback") { try await end($0) },
        ContractRoute(.get, "/api/oauth/mobile-redirect") { call in
            let query = call.request.query.isEmpty ? "" : "?\(call.request.query)"
            return Response(307, fields: [Field("location", appRedirect(call) + query)])
        },
    ]

    private static let mobileRedirect = "app.immich:///oauth-callback"
    static let stateCookie = "immich_oauth_state"
    static let verifierCookie = "immich_oauth_code_verifier"

    /// Throws if the tenant has no provider, before the request is checked.
    private static func requireProvider(_ call: ClientCall) async throws {
        guard try await call.hasProvider() else { throw SignInRefusal.noProvider }
    }

    private static func begin(_ call: ClientCall) async throws -> Response {
        try await requireProvider(call)
        let input = try call.object()
        let challenge = input.optionalString("codeChallenge")
        var wish = wish(
            call, try input.required("redirectUri"), state: input.optionalString("state"),
            challenge: challenge)
        wish.isBrowsers = challenge == nil
        let begun = try await call.beginLogin(wish)
        var answer = Response.json(
            201, bytes: JSONValue.object([.init("url", .string(begun.url))]).encoded())
        for (name, value) in [(stateCookie, begun.state), (verifierCookie, begun.browser ?? "")]
        where !value.isEmpty {
            answer.fields.append(call.cookie(name, value, seconds: 600))
        }
        return answer
    }

    /// Returns the parameters of the sign-in. If the redirect address has the app's own scheme and
    /// an operator has set `mobile_redirect_override`, the provider gets the override instead of
    /// the redirect address.
    private static func wish(
        _ call: ClientCall, _ uri: String, state: String?, challenge: String?
    ) -> LoginWish {
        var wish = LoginWish(redirectURI: uri, state: state, challenge: challenge)
        if isApps(uri) { wish.sentRedirectURI = call.setting(overrideName)?.string }
        return wish
    }

    /// Returns the app's own address, to which the override redirects.
    private static func appRedirect(_ call: ClientCall) -> String {
        let apps = call.client.redirectURIs.filter(isApps)
        return apps.contains { sameBytes($0, mobileRedirect) }
            ? mobileRedirect : apps.first ?? mobileRedirect
    }

    /// Whether the address has a scheme that only an app handles.
    private static func isApps(_ uri: String) -> Bool {
        !["https://", "http://"].contains { asciiLowercased(uri).utf8.starts(with: $0.utf8) }
    }

    static let overrideName = "mobile_redirect_override"

    static let overrideRule = TextRule(
        detail: "must be an https address without a fragment, or one with http on localhost, "
            + "127.0.0.1 or [::1]",
        example: "https://id.example.com/t/acme/immich/api/oauth/mobile-redirect"
    ) { text in
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        let local = ["127.0.0.1", "localhost", "[::1]"].flatMap {
            ["http://\($0)/", "http://\($0):"]
        }
        return isPlain
            && (["https://"] + local).contains { start in
                text.utf8.starts(with: start.utf8) && text.utf8.count > start.utf8.count
            }
    }

    private static func end(_ call: ClientCall) async throws -> Response {
        try await requireProvider(call)
        let input = try call.object()
        let url = try input.required("url")
        let query = FormText(String(url.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }))
        guard let state = query.first("state") else {
            throw Immich.bad("OAuth state is missing", cause: "no state")
        }
        if let error = query.first("error") {
            throw SignInRefusal.notProved("the provider's answer: " + String(error.prefix(64)))
        }
        guard let code = query.first("code"), !query.isRepeated("code"),
            !query.isRepeated("state")
        else { throw SignInRefusal.notProved("no code") }
        let expected =
            input.optionalString("state") ?? RequestCookie.value(stateCookie, in: call.request)
        if let expected, !expected.utf8.elementsEqual(state.utf8) {
            throw SignInRefusal.stateUnknown
        }
        // The documented app sends only its verifier. If the request has neither a state nor a
        // verifier, the error is the missing state.
        guard expected != nil || input.has("codeVerifier") else {
            throw Immich.bad("OAuth state is missing", cause: "no state")
        }
        // The cookie contains the app's own verifier, or our secret for the browser that began the
        // sign-in.
        let verifier =
            input.optionalString("codeVerifier")
            ?? RequestCookie.value(verifierCookie, in: call.request)
        guard let verifier, !verifier.isEmpty else { throw SignInRefusal.verifierMissing }
        let user = try await call.completeLogin(
            LoginReturn(
                state: state, code: code, verifier: verifier, issuer: query.first("iss"),
                browser: verifier))
        return try await ImmichSession.begin(call, of: user, .oauth)
    }
}
