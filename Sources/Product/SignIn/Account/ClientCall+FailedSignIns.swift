import API
import Domain
import HTTP
import Storage
import Text

extension ClientCall {
    /// Stores why a sign-in failed, if no decision does, so that the operator finds what the
    /// response conceals. `problem`: as it is thrown; its cause, for the log, gets the line's
    /// reference, which is returned. nil: nothing failed that only a line explains.
    @discardableResult
    func noteFailure(_ problem: inout Problem, at operation: String) async -> String? {
        guard let reason = Self.reason(of: problem) else { return nil }
        let reference = Base62.randomText(6)
        problem.cause = (problem.cause ?? "") + SignInRefusal.referenceStart + reference
        let failed = FailedSignIn(
            client: client.name, operation: operation,
            reason: String(reason.unicodeScalars.prefix(500)), requestID: request.id,
            reference: reference,
            ip: request.remoteAddress,
            userAgent: request.first("user-agent").map { String($0.unicodeScalars.prefix(512)) },
            at: now)
        // The response is the same whether this is stored or not; the log has it either way.
        try? await scope.keep(failed)
        return reference
    }

    /// Counts a wrong password or PIN, whose text leaves the caller in the dark. `user` nil: of an
    /// account that does not exist.
    func noteWrong(_ reason: String, of user: UUID?) {
        let path = request.path.split(separator: "/").dropFirst(3).joined(separator: "/")
        core.database.wrongPasswords.note(
            user.map { .user($0) } ?? .unknown, of: tenant.id,
            WrongPasswords.Attempt(
                client: client.name, operation: "\(request.method.rawValue) /\(path)",
                reason: reason, requestID: request.id, ip: request.remoteAddress,
                userAgent: request.first("user-agent").map {
                    String($0.unicodeScalars.prefix(512))
                }), at: now)
    }

    /// nil for anything but a failed sign-in, and for a refusal by the rules: its reference leads
    /// to the decision.
    private static func reason(of problem: Problem) -> String? {
        let start = SignInRefusal.causeStart
        guard let cause = problem.cause, cause.utf8.starts(with: start.utf8),
            !cause.contains(SignInRefusal.referenceStart)
        else { return nil }
        return String(decoding: cause.utf8.dropFirst(start.utf8.count), as: UTF8.self)
    }
}
