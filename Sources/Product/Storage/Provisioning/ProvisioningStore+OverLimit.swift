import Domain
import Postgres
import Synchronization
import Text

/// Addresses that exceeded their limit in this minute, by the name of the count. Only a hint of
/// this process: the count in the database and the rules decide.
package final class OverLimit: Sendable {
    /// Names kept at once; beyond it the hint is missed, and the attempt waits for the lock.
    private static let limit = 4096
    private let marked = Mutex<(minute: Int64, names: Set<String>)>((0, []))

    package init() {}

    func mark(_ name: String, at now: Timestamp) {
        let minute = now.microseconds / 60_000_000
        marked.withLock { marked in
            if marked.minute != minute { marked = (minute, []) }
            if marked.names.count < Self.limit { marked.names.insert(name) }
        }
    }

    func isMarked(_ name: String, at now: Timestamp) -> Bool {
        let minute = now.microseconds / 60_000_000
        return marked.withLock { $0.minute == minute && $0.names.contains(name) }
    }
}

/// Rate limiting of an address over its limit, without waiting for the person's lock: the rules
/// still run, without row locks, and only their refusals become `rate_limited`.
extension Database {
    /// How many attempts per address run at once.
    private static let lanes = 4

    /// Runs under the person's lock, without waiting for it if the result would be `rate_limited`.
    func underPersonLock(
        _ call: ProvisioningCall, by actor: Actor, _ render: @escaping Render,
        _ body: () async throws -> ProvisioningResult?
    ) async throws -> ProvisioningResult? {
        let keys = call.personKeys
        guard let address = call.addressKey, !call.needsReservation else {
            return try await personLock.withExclusive(keys: keys, by: call.callerName, body)
        }
        let name = "\(address) \(call.callerName)"
        if !overLimit.isMarked(name, at: clock()) {
            do {
                let result = try await personLock.withExclusive(
                    keys: keys, by: call.callerName, isTurnedAway: true, body)
                if result?.verdict.reason == .rateLimited {
                    overLimit.mark(name, at: clock())
                    personLock.turnAway(from: address, of: call.callerName)
                }
                return result
            } catch is PersonLock.TurnedAway {}
        }
        let lane = "\(name) lane \(Int.random(in: 0..<Self.lanes))"
        if let held = try await personLock.withExclusive(
            keys: [lane], by: call.callerName,
            {
                try await heldBack(call, by: actor, render)
            })
        {
            return held
        }
        return try await personLock.withExclusive(keys: keys, by: call.callerName, body)
    }

    /// nil if the rules would not refuse, the attempt is a retry, or no limit is exceeded: it is
    /// then decided under the lock.
    private func heldBack(
        _ call: ProvisioningCall, by actor: Actor, _ render: @escaping Render
    ) async throws -> ProvisioningResult? {
        let result = try await platformScope.change(by: actor) { change in
            var change = change
            change.locksRows = false
            let named = try await preferringKnown(change.named(call), call, change)
            let digest = call.retryDigest(named)
            let isEvent = call.eventID != nil
            guard try await change.recordedAnswer(digest, isEvent: isEvent) == nil else {
                return nil as ProvisioningResult?
            }
            var reading = FactsReading(self, call, named, change)
            try await reading.read()
            let verdict = Provisioning.decide(
                attempt: named.attempt, facts: reading.facts, now: change.now)
            guard verdict.isFailure, let limit = try await usedUpLimit(named, call, change) else {
                return nil
            }
            return try await recorded(limit, reading, change)
        }
        if let result { onDecision(result.verdict.outcome) }
        return result
    }

    /// The minute's one decision for all rate-limited attempts; nil if there is none yet.
    private func recorded(
        _ limit: Limit, _ reading: FactsReading, _ change: Change
    ) async throws -> ProvisioningResult? {
        let (verdict, digest) = limited(limit, reading, change)
        guard let earlier = try await change.recordedAnswer(digest, isEvent: false) else {
            return nil
        }
        let tenantChange = try await change.switching(to: verdict.tenantID ?? .platform)
        return try await replayed(earlier, verdict, reading, tenantChange)
    }
}
