import API
import HTTP
import Text

/// Who may read `/metrics` on the service's own port: this machine, or the platform. A request that
/// a proxy has passed on is not from this machine, whatever its address.
struct MetricsEndpoint: Sendable {
    let metrics: ServiceMetrics
    let authenticate: @Sendable (Request) async throws -> CallerPrincipal

    func respond(to request: Request) async -> Response {
        if isLocal(request) { return metrics.page() }
        do {
            let principal = try await authenticate(request)
            if principal.kind == .anonymous { throw Problem.unauthorized() }
            guard principal.platform else { throw Problem.forbidden() }
            return metrics.page()
        } catch {
            let problem =
                error as? Problem ?? storageProblem(error) ?? Problem.internalError
            var answer = problem.response(requestID: request.id)
            answer.set("x-request-id", request.id)
            answer.set("cache-control", "no-store")
            return answer
        }
    }

    private func isLocal(_ request: Request) -> Bool {
        IPAddress(request.remoteAddress)?.isLoopback ?? false
            && request.first("origin") == nil && request.first("authorization") == nil
            && !request.isPassedOn
    }
}

extension Request {
    private static let forwarding = ["forwarded", "x-forwarded-for", "x-real-ip", "via"]

    /// A proxy has passed it on, so the peer's address is not the caller's.
    var isPassedOn: Bool { Self.forwarding.contains { first($0) != nil } }
}
