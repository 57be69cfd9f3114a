/// What the clients of a path send: the headers a preflight may ask for, and whether cookies are
/// part of the contract at all.
package struct CORSProfile: Sendable, Equatable {
    /// `/v1` and the console: bearer credentials, never cookies across origins.
    package static let management = CORSProfile()

    /// Lower-case names, beside those that every client may send.
    private let additions: [String]
    package let mayUseCookies: Bool
    /// Names of the cookies that the client sets; one of them makes a request one with credentials.
    package let cookies: [String]

    private init() {
        additions = []
        mayUseCookies = false
        cookies = []
    }

    /// A client contract's. `cookies`: the names of all that it sets.
    package init(client additions: [String], cookies: [String] = []) {
        self.additions = additions
        mayUseCookies = true
        self.cookies = cookies
    }

    /// Lower-case names of the fields that hold a credential; where one does, cookies do not count.
    package static let credentialFields = ["authorization"] + credentialHeaders
    /// The same without `Authorization`, whose value has a scheme.
    package static let credentialHeaders = [
        "x-api-key", "x-immich-user-token", "x-immich-session-token",
    ]

    package static let exposedHeaders =
        "x-request-id, x-immich-cid, retry-after, etag, location, link, www-authenticate, "
        + "ratelimit-limit, ratelimit-remaining, ratelimit-reset"

    /// Of a route that is not known: the union, so that the page sees the 404 that follows.
    static let allMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// Seconds. Short, because a preflight that passed hides a removal from the page.
    static let maxAge = 600

    /// Lower-case names. `*` would never cover Authorization, so each is named.
    package var allowedHeaders: [String] { Self.base + additions }

    private static let base = [
        "authorization", "content-type", "accept", "x-requested-with", "idempotency-key",
        "if-match", "if-none-match", "x-request-id", "traceparent", "tracestate", "last-event-id",
    ]
}
