import Cryptography
import Domain
import Text

/// How many attempts that are neither retries nor successes a minute may hold. Over it they are
/// refused `rate_limited` whatever the rules say, so that refusals do not tell who exists. A
/// success is never held back: nobody is locked out by somebody else's failures.
package struct AttemptLimits: Sendable {
    /// Of one address, by one caller: a tenant's hook does not use up another's.
    package var perAddress = 30
    /// Of one provider, by one caller.
    package var perProvider = 600

    package init() {}
}

extension Database {
    /// Counts this attempt; the limit that it is over, if any. The provider's count is taken before
    /// the address's, always: each is a row that is locked until the attempt is over.
    func exceededLimit(
        _ named: NamedFacts, _ call: ProvisioningCall, _ change: Change
    ) async throws -> Limit? {
        var over: Limit?
        if let provider = named.provider {
            let key = "provider \(provider.id) \(call.callerName)"
            if try await isOver(limits.perProvider, of: key, in: change) {
                over = Limit(key: key, detail: "\(limits.perProvider) a minute of the provider")
            }
        }
        if let email = named.attempt.email {
            let key = "address \(email.key) \(call.callerName)"
            if try await isOver(limits.perAddress, of: key, in: change) {
                over = Limit(key: key, detail: "\(limits.perAddress) a minute of the address")
            }
        }
        return over
    }
}

/// A limit that is used up.
struct Limit: Sendable {
    var key: String
    var detail: String

    func verdict(in tenant: UUID?) -> Verdict {
        var verdict = Verdict(.refused, reason: .rateLimited)
        verdict.tenantID = tenant
        verdict.trace = [
            TraceEntry(rule: "limit", result: Reason.rateLimited.rawValue, detail: detail)
        ]
        return verdict
    }

    /// One decision stands for all that are held back in one minute for one asker, so that a flood
    /// writes nothing.
    func digest(_ call: ProvisioningCall, _ tenant: UUID?, at now: Timestamp) -> [UInt8] {
        let parts = [
            "limited", key, call.callerName, tenant?.description ?? "",
            "\(now.microseconds / 60_000_000)",
        ]
        return SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    }
}
