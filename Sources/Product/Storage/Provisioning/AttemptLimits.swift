import Cryptography
import Domain
import Text

/// Limits of refusals per minute. Over a limit the rules still run, but each refusal becomes
/// `rate_limited`, so that refusals do not reveal which users exist. An attempt that is not refused
/// succeeds as usual, so that others' failures lock no user out.
package struct AttemptLimits: Sendable {
    /// The maximum number of refusals for one address. Refusals are counted for each caller
    /// separately, so that one tenant's hook does not use up another tenant's limit.
    var perAddress = 30
    /// The maximum number of refusals at one provider, counted for each caller separately.
    package var perProvider = 600
    /// The most dry runs of one caller.
    package var dryRuns = 60
    /// The maximum number of reservations of one caller for one address; `reservationsPerPool` is
    /// the maximum for one pool. Over a limit the oldest reservations are deleted. This harms no
    /// one, since a reservation is only a hint and gives no access.
    var reservationsPerAddress = 10
    package var reservationsPerPool = 100_000

    init() {}
}

extension Database {
    /// Counts this refused attempt and returns the limit that it exceeds, if any. Counts the
    /// provider before the address in every attempt, which prevents deadlocks: each counter's row
    /// stays locked until the attempt is over.
    func exceededLimit(
        _ named: ResolvedAttempt, _ call: ProvisioningCall, _ change: Change
    ) async throws -> Limit? {
        var over: Limit?
        for limit in bounding(named, call) {
            if try await isOver(limit.most, of: limit.key, in: change) { over = limit }
        }
        return over
    }

    /// The limit that earlier attempts have used up, if any. Counts nothing and locks nothing.
    func usedUpLimit(
        _ named: ResolvedAttempt, _ call: ProvisioningCall, _ change: Change
    ) async throws -> Limit? {
        var over: Limit?
        for limit in bounding(named, call) {
            if try await isUsedUp(limit.most, of: limit.key, in: change) { over = limit }
        }
        return over
    }

    /// The two limits that apply: the provider's, then the address's.
    private func bounding(_ named: ResolvedAttempt, _ call: ProvisioningCall) -> [Limit] {
        let provider = named.provider.map {
            Limit(
                key: "provider \($0.id) \(call.callerName)", most: options.limits.perProvider,
                of: "provider")
        }
        let address = named.attempt.email.map {
            Limit(
                key: "address \($0.key) \(call.callerName)", most: options.limits.perAddress,
                of: "address")
        }
        return [provider, address].compactMap(\.self)
    }
}

/// A limit of one counter, which the attempt exceeds.
struct Limit: Sendable {
    var key: String
    var most: Int
    /// What the limit is counted for: `provider` or `address`.
    var of: String

    func verdict(in tenant: UUID?) -> Verdict {
        var verdict = Verdict(.refused, reason: .rateLimited)
        verdict.tenantID = tenant
        verdict.trace = [
            TraceEntry(
                rule: .limit, result: Reason.rateLimited.rawValue,
                detail: "more than \(most) refusals a minute for the \(of)")
        ]
        return verdict
    }

    /// The digest under which the decision of a rate-limited call is stored. It is the same for all
    /// calls of one caller over this limit within one minute, so that a flood stores only one
    /// decision.
    func digest(_ call: ProvisioningCall, _ tenant: UUID?, at now: Timestamp) -> [UInt8] {
        let parts = [
            "limited", key, call.callerName, tenant?.description ?? "",
            "\(now.microseconds / 60_000_000)",
        ]
        return SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    }
}
