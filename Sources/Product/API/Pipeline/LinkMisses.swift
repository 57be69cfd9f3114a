import HTTP
import Storage

/// Tokens that fit no invite and no join link, counted for the client that brought them.
enum LinkMisses {
    /// From one address per minute.
    private static let limit = 60

    static func check(_ call: Call) async throws {
        let database = try call.services.database
        guard try await database.counted(name(call)) >= limit else { return }
        throw Problem.rateLimited(
            "Too many links that do not fit; wait a minute.", limit: limit,
            retryAfter: database.secondsOfMinuteLeft)
    }

    static func count(_ call: Call) async throws {
        _ = try await call.services.database.count(name(call))
    }

    private static func name(_ call: Call) -> String {
        "links that do not fit, from \(call.request.remoteAddress)"
    }
}
