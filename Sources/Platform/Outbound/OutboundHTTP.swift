import Deadlines
import Text
import Workers

/// An HTTP client for servers that tenants or operators configure: identity providers, collectors. Follows no
/// redirects, uses no proxy from the environment, keeps no cookies and no connections.
///
/// Each owner has few transfers at once and fewer to one host, and a host that times out is skipped
/// for a while: a host that stalls delays only the owner that configured it.
package final class OutboundHTTP: Sendable {
    /// The owner that configured the host, and the host: owners do not affect each other.
    private struct Target: Hashable {
        var owner: UUID?
        var host: String
    }

    private let workers: WorkerPool
    private let policy: OutboundPolicy
    private let tenant: @Sendable (_ slug: String) async -> UUID?
    private let owners = FairSlots<UUID?>(waitingLimit: OutboundPolicy.waitingLimit)
    private let targets = FairSlots<Target>(waitingLimit: OutboundPolicy.waitingLimit)
    private let breaker = CircuitBreaker<Target>()

    /// `threads`: how many transfers there can be at once. `tenant`: the tenant with this slug, for the policy's
    /// allowances; nil if there is none, or if it cannot be known now.
    package init(
        policy: OutboundPolicy = OutboundPolicy(), threads: Int = OutboundPolicy.threads,
        tenant: @escaping @Sendable (_ slug: String) async -> UUID? = { _ in nil }
    ) {
        self.policy = policy
        self.tenant = tenant
        workers = WorkerPool(threads: threads, queueLimit: OutboundPolicy.queueLimit)
    }

    /// `owner`: the tenant that configured the host; nil: the platform. `end`: an earlier end than
    /// the policy's, if several calls share one time limit; the waiting request's own limit applies
    /// too.
    package func send(
        _ request: OutboundRequest, for owner: UUID?, until end: ContinuousClock.Instant? = nil
    ) async throws(OutboundFailure) -> OutboundResponse {
        let left = Deadline.current.map { min($0.left, policy.total) } ?? policy.total
        let latest = ContinuousClock.now + left
        let deadline = end.map { min($0, latest) } ?? latest
        let target = Target(owner: owner, host: Self.host(of: request.url))
        guard !breaker.isOpen(target, at: .now) else { throw .suspended }
        let limits =
            owner == nil ? OutboundPolicy.platformTransfers : OutboundPolicy.tenantTransfers
        // The host's slot first: waiting for a slow host takes no slot of the owner's others.
        guard await targets.enter(target, limit: limits.toHost) else { throw .busy }
        defer { targets.leave(target) }
        guard await owners.enter(owner, limit: limits.all) else { throw .busy }
        defer { owners.leave(owner) }
        return try await transfer(request, target, until: deadline)
    }

    private func transfer(
        _ request: OutboundRequest, _ target: Target, until deadline: ContinuousClock.Instant
    ) async throws(OutboundFailure) -> OutboundResponse {
        // The host may have stalled others while this call waited.
        guard breaker.permits(target, at: .now) else { throw .suspended }
        let started = ContinuousClock.now
        guard started < deadline else { throw .busy }
        let policy = await policy(for: target.owner)
        let result = await workers.run { () -> Result<OutboundResponse, OutboundFailure> in
            Result { () throws(OutboundFailure) in
                try CurlTransfer(request, policy: policy).run(until: deadline)
            }
        }
        guard let result else { throw .busy }
        if case .failure(.timedOut) = result {
            // If the caller had hardly any time left, the timeout does not count against the host.
            if deadline - started >= policy.fairTime { breaker.timedOut(target, at: .now) }
        } else {
            breaker.succeeded(target)
        }
        return try result.get()
    }

    /// Whether a request of `owner` to this URL can be allowed: false if the URL is none, if it is plain http to another
    /// machine, or if its host is an inner address that the operator did not open. A host's name is resolved, and its
    /// addresses are judged, at each connection.
    package func permits(_ url: String, for owner: UUID?) async -> Bool {
        let policy = await policy(for: owner)
        guard let target = try? CurlTransfer.Target(url, policy) else { return false }
        guard let address = target.address else { return true }
        return policy.permits(address, port: target.port, isPlain: target.isPlain)
    }

    /// The policy with the allowances of this owner alone.
    private func policy(for owner: UUID?) async -> OutboundPolicy {
        var own = policy
        own.allowances = []
        for one in policy.allowances {
            if let slug = one.slug {
                guard let owner, await tenant(slug) == owner else { continue }
            } else if owner != nil {
                continue
            }
            own.allowances.append(one)
        }
        return own
    }

    /// Host with port, in lower case; the whole text if it is no URL, which is refused later.
    private static func host(of url: String) -> String {
        var bytes = url.utf8[...]
        while let slash = bytes.firstIndex(of: UInt8(ascii: "/")) {
            let rest = bytes[slash...].dropFirst()
            if rest.first == UInt8(ascii: "/") {
                bytes = rest.dropFirst()
                break
            }
            bytes = rest
        }
        let end = bytes.prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        return String(decoding: end, as: UTF8.self).lowercased()
    }
}
