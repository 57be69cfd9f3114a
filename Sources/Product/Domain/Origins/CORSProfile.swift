/// What the clients of a path send: the headers that a preflight may ask for, and whether cookies
/// are part of the contract.
package struct CORSProfile: Sendable, Equatable {
    /// `/v1` and the console: bearer credentials, never cookies across origins.
    package static let management = CORSProfile()

    /// Lower-case names, beside those that every client may send.
    private let additions: [String]
    package let mayUseCookies: Bool
    /// Names of the cookies that the client sets; a request with one of them has credentials.
    package let cookies: [String]

    private init() {
        additions = []
        mayUseCookies = false
        cookies = []
    }

    /// A client contract's profile. `cookies`: all cookie names that it sets.
    package init(client additions: [String], cookies: [String] = []) {
        self.additions = additions
        mayUseCookies = true
        self.cookies = cookies
    }

    /// Lower-case names of the fields that hold a credential; if one is present, cookies do not
    /// count.
    package static let credentialFields = ["authorization"] + credentialHeaders
    /// Without `Authorization`, whose value has a scheme.
    package static let credentialHeaders = [
        "x-api-key", "x-immich-user-token", "x-immich-session-token",
    ]

    package static let exposedHeaders =
        "x-request-id, x-immich-cid, retry-after, etag, location, link, www-authenticate, "
        + "ratelimit-limit, ratelimit-remaining, ratelimit-reset, x-gatehouse-position"

    /// Methods for an unknown route: the union, so that the page sees the 404 that follows.
    static let allMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// Seconds. Short, because a cached preflight hides a removed origin from the page.
    static let maxAge = 600

    /// Lower-case names. `*` does not cover `Authorization`, so each is named.
    package var allowedHeaders: [String] { Self.base + additions }

    private static let base = [
        "authorization", "content-type", "accept", "x-requested-with", "idempotency-key",
        "if-match", "if-none-match", "x-request-id", "traceparent", "tracestate", "last-event-id",
        "x-gatehouse-position",
    ]
}
