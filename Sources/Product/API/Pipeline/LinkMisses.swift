import Domain
import HTTP
import JSON
import Storage
import Text

/// Limits, for each client address, the number of tokens that match no invite and no join link.
enum LinkMisses {
    /// The maximum number of tokens without a match from one client address per minute.
    private static let limit = 60

    static func check(_ call: Call) async throws {
        guard try await call.database.counted(name(call)) >= limit else { return }
        throw Problem.rateLimited(
            "Too many invalid links; wait a minute.", limit: limit,
            retryAfter: call.database.secondsOfMinuteLeft)
    }

    /// Counts a token that admits no person. Records the reason as a failed sign-in of the token's
    /// tenant, and returns the problem with the reference of that record.
    static func missed(
        _ problem: Problem, why: String, token: String, _ call: Call
    ) async throws -> Problem {
        try await count(call)
        let failed = FailedSignIn(
            client: "hosted", operation: "\(call.request.method.rawValue) \(call.request.path)",
            reason: why, requestID: call.request.id, reference: Base62.randomText(6),
            ip: call.request.remoteAddress,
            userAgent: call.request.first("user-agent").map {
                String($0.unicodeScalars.prefix(512))
            }, at: call.now)
        // Ignore errors here: the response does not depend on this record, and the reason is also
        // in the log.
        let tenant = try? await call.database.tenant(ofToken: token)
        try? await call.database.scope(tenant ?? .platform).keep(failed)
        var problem = problem
        let reference = failed.reference ?? ""
        problem.detail += " (ref \(reference))"
        problem.members.append(.init("reference", .string(reference)))
        problem.cause = "sign-in: \(why), ref \(reference)"
        return problem
    }

    static func count(_ call: Call) async throws {
        _ = try await call.database.count(name(call))
    }

    private static func name(_ call: Call) -> String {
        "links that do not fit, from \(call.request.network)"
    }
}
