import API
import Domain
import HTTP
import JSON
import Storage

/// The web page's sign-in: this server is the redirect address, and a cookie is the session.
enum TimeTrackerWeb {
    static let sessionCookie = "timetracker_session"
    static let stateCookie = "timetracker_state"
    private static let path = "/auth/callback"
    private static let lifetime = 3600

    static let routes: [ContractRoute] = [
        ContractRoute(.get, path) { try await end($0) }
    ]

    /// 302 to the provider. The cookie binds the return to this browser.
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

    /// 400 unless the cookie shows that this browser began; else a redirect to the page with
    /// success or failure and no more.
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
            // Thrown, so that the log has the reason, which the page does not get.
            var problem = Problem(
                .unauthorized, "authentication_failed", status: 302,
                fields: back(to: app, "error=authentication_failed", [], call))
            problem.cause = refusal.cause ?? "sign-in: \(refusal)"
            throw problem
        }
    }

    /// The cookie names its sign-in, so that another's leaves this one alone.
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
    /// Without a trailing slash.
    fileprivate var appURL: String? {
        setting("app_url")?.string.map { text in
            text.utf8.last == UInt8(ascii: "/") ? String(text.dropLast()) : text
        }
    }
}
