import Workers

/// An HTTP client for servers that others name: identity providers, webhooks. Follows no
/// redirects, takes no proxy from the environment, keeps no cookies and no connections.
package final class OutboundHTTP: Sendable {
    private let workers: WorkerPool
    private let policy: OutboundPolicy

    package init(policy: OutboundPolicy = OutboundPolicy()) {
        self.policy = policy
        workers = WorkerPool(
            threads: OutboundPolicy.threads, queueLimit: OutboundPolicy.queueLimit)
    }

    package func send(
        _ request: OutboundRequest
    ) async throws(OutboundFailure) -> OutboundResponse {
        let policy = policy
        let deadline = ContinuousClock.now + policy.total
        let result = await workers.run { () -> Result<OutboundResponse, OutboundFailure> in
            Result { () throws(OutboundFailure) in
                try CurlTransfer(request, policy: policy).run(until: deadline)
            }
        }
        guard let result else { throw .busy }
        return try result.get()
    }
}
