import HTTP
import Runtime
import Synchronization
import Text

/// An HTTP client for servers that tenants or operators configure: identity providers and trace
/// collectors. It follows no redirects, ignores proxies in the environment, and keeps no cookies
/// and no connections.
///
/// An owner is the tenant that configured a server, or the platform. The number of simultaneous
/// transfers is limited for each owner, and also for each host of an owner. A host that timed out
/// several times is skipped for a while. So a host that stalls delays only the owner that
/// configured it.
package final class OutboundHTTP: Sendable {
    /// A host together with the owner that configured it. The same host counts separately for each
    /// owner.
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

    /// Makes a client that runs at most `threads` transfers at once. `tenant` returns the tenant
    /// with the given slug, so that the policy's allowances can be applied. It returns `nil` if
    /// there is no such tenant or it cannot be looked up now.
    package init(
        policy: OutboundPolicy = OutboundPolicy(), threads: Int = OutboundPolicy.threads,
        tenant: @escaping @Sendable (_ slug: String) async -> UUID? = { _ in nil }
    ) {
        self.policy = policy
        self.tenant = tenant
        workers = WorkerPool(threads: threads, queueLimit: OutboundPolicy.queueLimit)
    }

    /// Sends a request and returns the response. `owner` is the tenant that configured the host;
    /// `nil` is the platform. The call ends at the earliest of three times: when the policy's limit
    /// has passed, at `end`, or when the time limit of the incoming request that needs this call
    /// has passed. Several calls may share one `end`.
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
        // Wait for the host's slot first and for the owner's slot second. While the call waits for
        // a slow host, it does not use up a slot that the owner's other hosts need.
        guard await targets.enter(target, limit: limits.toHost) else { throw .busy }
        defer { targets.leave(target) }
        guard await owners.enter(owner, limit: limits.all) else { throw .busy }
        defer { owners.leave(owner) }
        return try await transfer(request, target, until: deadline)
    }

    private func transfer(
        _ request: OutboundRequest, _ target: Target, until deadline: ContinuousClock.Instant
    ) async throws(OutboundFailure) -> OutboundResponse {
        // The host may have timed out in other calls while this call waited for a slot.
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
            // If the caller had hardly any time left, the timeout is not the host's fault.
            if deadline - started >= policy.fairTime { breaker.timedOut(target, at: .now) }
        } else {
            breaker.succeeded(target)
        }
        return try result.get()
    }

    /// Whether the policy can allow a request of `owner` to this URL. It never allows a text that
    /// is not a URL, plain http to another machine, or an internal address that the operator has
    /// not allowed. A host name is not resolved here; its addresses are checked at each connection.
    package func permits(_ url: String, for owner: UUID?) async -> Bool {
        let policy = await policy(for: owner)
        guard let target = try? CurlTransfer.Target(url, policy) else { return false }
        guard let address = target.address else { return true }
        return policy.permits(address, port: target.port, isPlain: target.isPlain)
    }

    /// Returns the policy with only those allowances that apply to this owner.
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

    /// Returns the host and port in lower case. Returns the whole text if it is not a URL; such a
    /// request is refused later.
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

/// A request to a server outside this service.
package struct OutboundRequest: Sendable {
    var method: Method
    /// An absolute URL with `https`, or with `http` where the policy permits it. A URL with a user,
    /// a password or another scheme is refused.
    package var url: String
    package var fields: [Field]
    var body: [UInt8]

    package init(_ method: Method, _ url: String, fields: [Field] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }
}

/// A whole response with any status; redirects are not followed.
package struct OutboundResponse: Sendable {
    package var status: Int
    /// The header fields with names in lower case, in the order of the response.
    var fields: [Field]
    package var body: [UInt8]

    /// Returns the first value of a field. `name` must be in lower case.
    package func first(_ name: String) -> String? {
        fields.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}

/// Why a request has no response.
package enum OutboundFailure: String, Error, Sendable {
    /// The URL is not absolute or has a scheme that is not permitted, or a header field contains a
    /// line break.
    case invalidRequest
    /// The policy allows none of the host's addresses.
    case refusedAddress
    case unresolved
    /// There was no connection, or it broke before the response was complete.
    case unreachable
    /// The certificate does not match the name or is not trusted, or the TLS handshake failed.
    case untrusted
    case timedOut
    /// The head or the body exceeds the limit.
    case tooLarge
    /// The response is not HTTP.
    case malformed
    /// Too many calls are waiting already.
    case busy
    /// The host timed out several times in a row; it is tried again later.
    case suspended

    /// The text for the failure that the owner of the host may see. The text does not disclose
    /// whether a name exists in the internal network.
    package var told: String {
        switch self {
        case .unresolved, .refusedAddress, .unreachable: "unreachable"
        default: rawValue
        }
    }
}

/// Stops calls to a key, such as a host, after `threshold` timeouts in a row. Calls to this key
/// then fail at once. After `pause`, one call is let through as a trial.
final class CircuitBreaker<Key: Hashable & Sendable>: Sendable {
    static var threshold: Int { 3 }
    static var pause: Duration { .seconds(10) }
    /// The maximum number of keys whose failures are remembered. If a further key fails, the key
    /// whose last failure is the oldest is forgotten.
    static var keyLimit: Int { 1024 }

    private struct State {
        var failures = 0
        var failedAt: ContinuousClock.Instant
        var isTrying = false
    }

    private let states = Mutex<[Key: State]>([:])

    /// Whether a call would be refused now. Such a call need not even wait for a slot.
    func isOpen(_ key: Key, at now: ContinuousClock.Instant) -> Bool {
        states.withLock { states in
            guard let state = states[key], state.failures >= Self.threshold else { return false }
            return now - state.failedAt < Self.pause
        }
    }

    /// Whether a call may be made now. Report how it ended with `succeeded` or `timedOut`.
    func permits(_ key: Key, at now: ContinuousClock.Instant) -> Bool {
        states.withLock { states in
            guard let state = states[key], state.failures >= Self.threshold else { return true }
            // If the end of a trial is never reported, the trial counts as over after twice the
            // pause.
            guard now - state.failedAt >= (state.isTrying ? Self.pause * 2 : Self.pause) else {
                return false
            }
            states[key]?.isTrying = true
            return true
        }
    }

    /// Forgets the failures of a key. Call this function after any response, even after one that
    /// refuses the request.
    func succeeded(_ key: Key) { states.withLock { _ = $0.removeValue(forKey: key) } }

    func timedOut(_ key: Key, at now: ContinuousClock.Instant) {
        states.withLock { states in
            if states[key] == nil, states.count >= Self.keyLimit,
                let oldest = states.min(by: { $0.value.failedAt < $1.value.failedAt })
            {
                states[oldest.key] = nil
            }
            var state = states[key] ?? State(failedAt: now)
            state.failures += 1
            state.failedAt = now
            state.isTrying = false
            states[key] = state
        }
    }
}
