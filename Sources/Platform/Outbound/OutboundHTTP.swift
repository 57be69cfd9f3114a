import Deadlines
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

    /// `end`: an earlier end than the policy's, where several calls share one time; that of the
    /// request that waits for the answer is kept too.
    package func send(
        _ request: OutboundRequest, until end: ContinuousClock.Instant? = nil
    ) async throws(OutboundFailure) -> OutboundResponse {
        let policy = policy
        let now = ContinuousClock.now
        let left = Deadline.current.map { min($0.left, policy.total) } ?? policy.total
        let latest = now + left
        let deadline = end.map { min($0, latest) } ?? latest
        let result = await workers.run { () -> Result<OutboundResponse, OutboundFailure> in
            Result { () throws(OutboundFailure) in
                try CurlTransfer(request, policy: policy).run(until: deadline)
            }
        }
        guard let result else { throw .busy }
        return try result.get()
    }
}
