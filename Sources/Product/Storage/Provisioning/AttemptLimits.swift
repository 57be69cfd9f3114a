import Cryptography
import Domain
import Text

/// How many refusals a minute may hold. Over the limit the rules still run, and their refusals
/// become `rate_limited`, so that refusals do not reveal which users exist. Attempts to be
/// admitted, reserved, deferred or kept for approval still are: others' failures lock no user out.
package struct AttemptLimits: Sendable {
    /// For one address, by one caller: a tenant's hook does not use up another's.
    package var perAddress = 30
    /// For one provider, by one caller.
    package var perProvider = 600
    /// Dry runs of one caller per minute.
    package var dryRuns = 60
    /// Reservations of one caller that are stored for one address, and for one pool; the oldest are
    /// deleted first, since each holds a hint and no right.
    package var reservationsPerAddress = 10
    package var reservationsPerPool = 100_000

    package init() {}
}

extension Database {
    /// Counts this attempt; returns the exceeded limit, if any. Always counts the provider before
    /// the address: each is a row that is locked until the attempt is over.
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

    /// The provider's before the address's.
    private func bounding(_ named: ResolvedAttempt, _ call: ProvisioningCall) -> [Limit] {
        let provider = named.provider.map {
            Limit(
                key: "provider \($0.id) \(call.callerName)", most: limits.perProvider,
                of: "provider")
        }
        let address = named.attempt.email.map {
            Limit(
                key: "address \($0.key) \(call.callerName)", most: limits.perAddress,
                of: "address")
        }
        return [provider, address].compactMap(\.self)
    }
}

/// A limit that is used up.
struct Limit: Sendable {
    var key: String
    var most: Int
    /// What is limited: `provider` or `address`.
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

    /// One decision is stored for all refusals of one caller over the limit in one minute, so that
    /// a flood writes nothing.
    func digest(_ call: ProvisioningCall, _ tenant: UUID?, at now: Timestamp) -> [UInt8] {
        let parts = [
            "limited", key, call.callerName, tenant?.description ?? "",
            "\(now.microseconds / 60_000_000)",
        ]
        return SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    }
}
