import API
import HTTP
import JSON
import Storage

/// The app's sign-in: a browser is redirected to the provider, the app catches the redirect and
/// posts what it caught.
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

    /// Without `redirect_uri` the request is from the web page.
    private static func begin(_ call: ClientCall) async throws -> Response {
        let query = FormText(call.request.query)
        guard let redirect = query.first("redirect_uri") else {
            return try await TimeTrackerWeb.begin(call)
        }
        guard !query.isRepeated("redirect_uri") else { throw SignInRefusal.redirectNotRegistered }
        let begun = try await call.beginLogin(LoginWish(redirectURI: redirect))
        return Response(302, fields: [Field("location", begun.url)])
    }

    /// The redirect address has to be the one with which the sign-in began: the body's value is
    /// compared, never passed on.
    private static func exchange(_ call: ClientCall) async throws -> Response {
        let input = try call.object()
        guard let code = text("code", input), let state = text("state", input) else {
            throw TimeTracker.bad(
                "Missing required parameters: code, state", cause: "no code or state")
        }
        // The app itself caught the redirect, and its body has no field for `iss`.
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

    /// The app drops its token whatever the response: an expired session is signed out already.
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
