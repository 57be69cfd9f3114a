/// What one contract's clients send: the headers a preflight may ask for, and whether cookies are
/// part of the contract at all.
package enum OriginProfile: String, Sendable, CaseIterable {
    /// `/v1` and the console: bearer credentials, never cookies across origins.
    case management
    case immich
    case thinkwork
    case relate
    case deeprecall

    package static let exposedHeaders =
        "x-request-id, x-immich-cid, retry-after, etag, location, link, www-authenticate, "
        + "ratelimit-limit, ratelimit-remaining, ratelimit-reset"

    /// Of a route that is not known: the union, so that the page sees the 404 that follows.
    static let allMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

    /// Seconds. Short, because a preflight that passed hides a removal from the page.
    static let maxAge = 600

    /// Lower-case names. `*` would never cover Authorization, so each is named.
    package var allowedHeaders: [String] { Self.base + additions }

    package var mayUseCookies: Bool { self != .management }

    private static let base = [
        "authorization", "content-type", "accept", "x-requested-with", "idempotency-key",
        "if-match", "if-none-match", "x-request-id", "traceparent", "tracestate", "last-event-id",
    ]

    private var additions: [String] {
        switch self {
        case .management, .deeprecall: []
        case .immich:
            [
                "x-immich-user-token", "x-immich-session-token", "x-api-key", "devicemodel",
                "devicetype",
            ]
        case .thinkwork:
            [
                "x-tenant-id", "x-tenant-slug", "x-thinkwork-tenant-id", "x-thinkwork-tenant-slug",
                "x-thinkwork-deployment-token", "x-api-key",
            ]
        case .relate: ["x-signalr-user-agent"]
        }
    }
}
