import Domain
import HTTP
import JSON
import Storage
import Text

/// Counts tokens that match no invite and no join link, for each client that sends them.
enum LinkMisses {
    /// The limit for one address per minute.
    private static let limit = 60

    static func check(_ call: Call) async throws {
        guard try await call.database.counted(name(call)) >= limit else { return }
        throw Problem.rateLimited(
            "Too many invalid links; wait a minute.", limit: limit,
            retryAfter: call.database.secondsOfMinuteLeft)
    }

    /// Counts the token, and records as a failed sign-in of its tenant why it admits no person. The
    /// response contains the reference of that record.
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
        // The response is the same whether this is stored or not, and the reason is in the log
        // either way.
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
