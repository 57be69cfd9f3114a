import API
import HTTP
import JSON
import Storage

/// Signing in at the tenant's provider: the app holds the PKCE verifier, or its web page leaves it
/// to the server.
enum ImmichOAuth {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/oauth/authorize") { call in
            try await requireProvider(call)
            if let method = call.query("code_challenge_method"), method != "S256" {
                throw Immich.bad("code_challenge_method must be S256")
            }
            guard let challenge = call.query("code_challenge") else {
                throw SignInRefusal.verifierMissing
            }
            let begun = try await call.beginLogin(
                LoginWish(
                    redirectURI: try redirect(call, call.query("redirect_uri")),
                    state: call.query("state"), challenge: challenge))
            return .ok(.object([.init("url", .string(begun.url))]))
        },
        ContractRoute(.post, "/api/oauth/authorize") { try await begin($0) },
        ContractRoute(.post, "/api/oauth/callback") { try await end($0) },
        ContractRoute(.get, "/api/oauth/mobile-redirect") { call in
            let query = call.request.query.isEmpty ? "" : "?\(call.request.query)"
            return Response(307, fields: [Field("location", appRedirect + query)])
        },
    ]

    private static let appRedirect = "app.immich:///oauth-callback"
    private static let stateCookie = "immich_oauth_state"
    private static let verifierCookie = "immich_oauth_code_verifier"

    /// What is not set up is said before anything is held against what was sent.
    private static func requireProvider(_ call: ClientCall) async throws {
        guard try await call.hasProvider() else { throw SignInRefusal.noProvider }
    }

    private static func begin(_ call: ClientCall) async throws -> Response {
        try await requireProvider(call)
        let input = try call.object()
        let challenge = input.optionalString("codeChallenge")
        let begun = try await call.beginLogin(
            LoginWish(
                redirectURI: try redirect(call, input.optionalString("redirectUri")),
                state: input.optionalString("state"), challenge: challenge,
                isBrowsers: challenge == nil))
        var answer = Response.json(
            201, bytes: JSONValue.object([.init("url", .string(begun.url))]).encoded())
        for (name, value) in [(stateCookie, begun.state), (verifierCookie, begun.browser ?? "")]
        where !value.isEmpty {
            answer.fields.append(call.cookie(name, value, seconds: 600))
        }
        return answer
    }

    /// The older apps name none: then the client's first is meant.
    private static func redirect(_ call: ClientCall, _ given: String?) throws -> String {
        guard let uri = given ?? call.client.redirectURIs.first else {
            throw SignInRefusal.redirectNotRegistered
        }
        return uri
    }

    private static func end(_ call: ClientCall) async throws -> Response {
        try await requireProvider(call)
        let input = try call.object()
        let url = try input.required("url")
        let query = FormText(String(url.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }))
        guard let state = query.first("state") else { throw Immich.bad("OAuth state is missing") }
        if let error = query.first("error") {
            throw SignInRefusal.notProved("the provider's answer: " + String(error.prefix(64)))
        }
        guard let code = query.first("code"), !query.isRepeated("code"),
            !query.isRepeated("state")
        else { throw SignInRefusal.notProved("no code") }
        let expected =
            input.optionalString("state") ?? Credential.cookie(stateCookie, in: call.request)
        if let expected, !expected.utf8.elementsEqual(state.utf8) {
            throw SignInRefusal.stateUnknown
        }
        let verifier = input.optionalString("codeVerifier")
        let browser = Credential.cookie(verifierCookie, in: call.request)
        if expected != nil, verifier == nil, browser?.isEmpty ?? true {
            throw SignInRefusal.verifierMissing
        }
        let answer = LoginReturn(
            state: state, code: code, verifier: verifier, issuer: query.first("iss"),
            browser: verifier ?? browser)
        let user: UserRow
        do {
            user = try await call.completeLogin(answer)
        } catch SignInRefusal.stateUnknown where expected == nil && verifier == nil {
            throw Immich.bad("OAuth state is missing")
        }
        return try await ImmichSession.begin(call, of: user, .oauth)
    }
}
