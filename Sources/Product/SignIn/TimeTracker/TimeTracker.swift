import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The backend that a time-tracking app and its web page expect, as far as signing in goes: the
/// server holds the PKCE verifier, and the app keeps an access token. Time entries are not served.
enum TimeTracker {
    static let contract = Contract(
        name: "timetracker",
        headers: ["x-api-key"],
        cookie: TimeTrackerWeb.sessionCookie,
        otherCookies: [TimeTrackerWeb.stateCookie],
        settings: [
            .optional(
                "app_url", .string(min: 1, max: 2048, rule: webAddress),
                "Where its web page stands; without it only the app signs in.")
        ],
        routes: TimeTrackerSignIn.routes + TimeTrackerWeb.routes + TimeTrackerKeys.routes,
        // The app drops its session on any 401, so that status is only for credentials.
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

    /// `cause`: why a sign-in failed, where the text is about one.
    static func bad(_ text: String, cause: String? = nil) -> Problem {
        var problem = Problem(.invalidRequest, text)
        problem.cause = cause.map { SignInRefusal.causeStart + $0 }
        return problem
    }

    /// `username` is the part before the @: the core identifies users by their address.
    static func json(_ user: UserRow) -> JSONValue {
        let name = String(decoding: user.email.utf8.prefix { $0 != 0x40 }, as: UTF8.self)
        return .object([
            .init("id", .string(user.id.description)), .init("username", .string(name)),
            .init("fullName", user.name.map(JSONValue.string) ?? .null),
            .init("email", .string(user.email)),
        ])
    }
}
