import API
import HTTP
import Text

/// `/metrics` on the service's own port, readable from this machine or with the platform's
/// credential. A request that a proxy forwarded is not from this machine, whatever its address.
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
            let problem = error as? Problem ?? storageProblem(error) ?? Problem.internalError
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
