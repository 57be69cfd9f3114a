import Cryptography
import Domain
import Text

/// Limits of refusals per minute. Over the limit the rules still run, and their refusals become
/// `rate_limited`, so that refusals do not reveal which users exist. An attempt that the rules
/// would admit, reserve, defer or keep for approval still succeeds, so that others' failures lock
/// no user out.
package struct AttemptLimits: Sendable {
    /// For one address and one caller, so that a tenant's hook does not use up another's limit.
    package var perAddress = 30
    /// For one provider and one caller.
    package var perProvider = 600
    /// Dry runs of one caller per minute.
    package var dryRuns = 60
    /// The most reservations that are stored for one caller, per address and per pool. The oldest
    /// are deleted first, since a reservation is only a hint and gives no right.
    package var reservationsPerAddress = 10
    package var reservationsPerPool = 100_000

    package init() {}
}

extension Database {
    /// Counts this attempt and returns the exceeded limit, if any. The provider is always counted
    /// before the address, since each is a row that stays locked until the attempt is over.
    func exceededLimit(
        _ named: ResolvedAttempt, _ call: ProvisioningCall, _ change: Change
    ) async throws -> Limit? {
        var over: Limit?
        for limit in bounding(named, call) {
            if try await isOver(limit.most, of: limit.key, in: change) { over = limit }
        }
        return over
    }

    /// The same for the attempts so far; counts nothing and locks nothing.
    func usedUpLimit(
        _ named: ResolvedAttempt, _ call: ProvisioningCall, _ change: Change
    ) async throws -> Limit? {
        var over: Limit?
        for limit in bounding(named, call) {
            if try await isUsedUp(limit.most, of: limit.key, in: change) { over = limit }
        }
        return over
    }

    /// The provider's limit, followed by the address's.
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

/// A limit that is used up.
struct Limit: Sendable {
    var key: String
    var most: Int
    /// What the limit applies to: `provider` or `address`.
    var of: String

    func verdict(in tenant: UUID?) -> Verdict {
        var verdict = Verdict(.refused, reason: .rateLimited)
        verdict.tenantID = tenant
        verdict.trace = [
            TraceEntry(
                rule: .limit, result: Reason.rateLimited.rawValue,
                detail: "\(most) a minute of the \(of)")
        ]
        return verdict
    }

    /// One decision is stored for all refusals over the limit of one caller in one minute, so that
    /// a flood writes nothing.
    func digest(_ call: ProvisioningCall, _ tenant: UUID?, at now: Timestamp) -> [UInt8] {
        let parts = [
            "limited", key, call.callerName, tenant?.description ?? "",
            "\(now.microseconds / 60_000_000)",
        ]
        return SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    }
}
