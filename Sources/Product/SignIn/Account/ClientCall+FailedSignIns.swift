import API
import HTTP
import Storage
import Text

extension ClientCall {
    /// Stores why a sign-in failed, if no decision does, so that the operator finds what the
    /// response conceals. `problem`: as it is thrown, its cause for the log.
    func noteFailure(_ problem: Problem, at route: ContractRoute) async {
        guard let reason = Self.reason(of: problem) else { return }
        let failed = FailedSignIn(
            client: client.name, operation: "\(route.method.rawValue) \(route.path)",
            reason: String(reason.unicodeScalars.prefix(500)), requestID: request.id,
            ip: request.remoteAddress,
            userAgent: request.first("user-agent").map { String($0.unicodeScalars.prefix(512)) },
            at: now)
        // The response is the same whether this is stored or not; the log has it either way.
        try? await scope.keep(failed)
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
