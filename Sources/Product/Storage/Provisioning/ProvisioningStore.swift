import Cryptography
import Domain
import Postgres
import Synchronization
import Text

/// Decides about sign-ups and sign-ins. The facts, the decision, its effects, audit rows and answer
/// are read and written in one transaction.
extension Database {
    /// Makes the response from a result. The text is stored, so that a retry gets the same bytes.
    package typealias Render = @Sendable (ProvisioningResult) -> String

    /// Decides about a call and writes the effects. A dry run does the same but is rolled back, and
    /// waits for no lock. Throws `TokenOutdated` if the user was signed out everywhere after the
    /// token was issued.
    package func provision(
        _ call: ProvisioningCall, dryRun: Bool = false, by actor: Actor, render: @escaping Render
    ) async throws -> ProvisioningResult {
        guard let result = try await decide(call, dryRun: dryRun, by: actor, render) else {
            throw StorageFailure.unavailable
        }
        return result
    }

    /// Completes the reservation of a native sign-up, if there is one.
    package func completeReservation(
        _ call: ProvisioningCall, by actor: Actor, render: @escaping Render
    ) async throws {
        var call = call
        call.needsReservation = true
        _ = try await decide(call, dryRun: false, by: actor, render)
    }

    /// Decides about a call under the person's lock. Returns nil if the call only completes a
    /// sign-up and there is nothing to complete yet.
    private func decide(
        _ call: ProvisioningCall, dryRun: Bool, by actor: Actor, _ render: @escaping Render
    ) async throws -> ProvisioningResult? {
        let call = try await choosingAddress(call)
        if dryRun { return try await attempts(at: call, dryRun: true, by: actor, render) }
        let result = try await underPersonLock(call, by: actor, render) {
            try await attempts(at: call, dryRun: false, by: actor, render)
        }
        if let result { noteSignIn(result, by: call) }
        return result
    }

    private func attempts(
        at call: ProvisioningCall, dryRun: Bool, by actor: Actor, _ render: @escaping Render
    ) async throws -> ProvisioningResult? {
        let result = try await afterRaces {
            try await platformScope.change(by: actor, setsTenant: false, dryRun: dryRun) { change in
                var change = change
                change.locksRows = !dryRun
                return try await change.deciding {
                    try await run(call, $0, dryRun: dryRun, render)
                }
            }
        }
        if let result, !dryRun { options.onDecision(result.verdict.outcome) }
        return result
    }

    /// Runs a transaction, and at most twice more if it conflicts with a concurrent one.
    func afterRaces<Result>(_ body: () async throws -> Result) async throws -> Result {
        var tries = 0
        while true {
            tries += 1
            do {
                return try await body()
            } catch {
                guard tries <= 2, Self.mayRunAgain(error) else { throw error }
            }
        }
    }

    private static func mayRunAgain(_ error: any Error) -> Bool {
        if error is ProvisioningRace { return true }
        guard let error = error as? PostgresError else { return false }
        return error.isUniqueViolation || error.isRetryable
    }

    private func run(
        _ call: ProvisioningCall, _ change: Change, dryRun: Bool, _ render: Render
    ) async throws -> ProvisioningResult? {
        let started = ContinuousClock.now
        let named = try await preferringKnown(change.named(call), call, change)
        var reading = FactsReading(self, call, named, change)
        var digest = call.retryDigest(named)
        if !dryRun { reading.begin(digest, isEvent: call.eventID != nil) }
        try await reading.read()
        var earlier = reading.recorded
        guard var verdict = try await ruled(call, reading, change, earlier) else { return nil }
        var isRepeated =
            earlier.map { Retry.isSame(recorded: $0.recorded, recomputed: verdict) } ?? false
            && !Self.changesSomething(verdict)
        if !dryRun, !isRepeated, verdict.isFailure,
            let limit = try await exceededLimit(named, call, change)
        {
            (verdict, digest) = limited(limit, reading, change)
            earlier = try await change.recordedAnswer(digest, isEvent: false)
            isRepeated = earlier != nil
        }
        if verdict.outcome == .refused, !isRepeated, verdict.reason != .rateLimited {
            try await reading.readUnhelpful()
            verdict.trace += Provisioning.unhelpful(
                facts: reading.facts, email: named.attempt.email, now: change.now)
        }
        if !dryRun, !isRepeated, let (tenant, grant) = reading.makersGrant {
            try await change.switching(to: tenant).auditRefusedGrant(grant)
        }
        let tenantChange = try await change.switching(to: verdict.tenantID ?? .platform)
        if let earlier, isRepeated {
            if verdict.reason != .rateLimited { tenantChange.countRepeat(of: earlier.decision) }
            return try await replayed(earlier, verdict, reading, tenantChange)
        }
        var writing = EffectWriting(reading, verdict, tenantChange)
        if !dryRun {
            try await writing.write(verdict.effects)
            verdict.userID = verdict.isSuccess ? writing.userID : verdict.userID
            try await note(verdict, of: reading, tenantChange)
        }
        var result = try await result(
            verdict, reading, tenantChange, identity: writing.identityID, writing.writtenUser)
        if dryRun {
            if let reason = verdict.reason, verdict.outcome == .refused {
                result.wouldAdmit = Provisioning.wouldAdmit(
                    named.attempt, facts: reading.facts, refused: reason, now: change.now)
            }
            result.answer = render(result)
        } else {
            result.decisionID = change.actor.decisionID
            result.reference = Base62.randomText(6)
            result.answer = render(result)
            try await record(result, named, reading, tenantChange, digest, since: started)
        }
        return result
    }

    private func record(
        _ result: ProvisioningResult, _ named: ResolvedAttempt, _ reading: FactsReading,
        _ tenantChange: Change, _ digest: [UInt8], since started: ContinuousClock.Instant
    ) async throws {
        try await tenantChange.recordDecision(
            result, named, policy: reading.tenants[tenantChange.tenant]?.policyVersion,
            since: started)
        try await tenantChange.recordParts(of: result, reading)
        try await tenantChange.record(result, for: digest)
        try await tenantChange.noteUpstream(of: named, by: reading.call)
    }

    /// The verdict for the call, which may differ from that of the rules if an earlier identical
    /// call has a recorded answer.
    private func ruled(
        _ call: ProvisioningCall, _ reading: FactsReading, _ change: Change,
        _ earlier: RecordedResponse?
    ) async throws -> Verdict? {
        let verdict = try await verdict(call, reading, change)
        guard let verdict, let earlier else { return verdict }
        return Retry.waiting(after: earlier.recorded, recomputed: verdict, facts: reading.facts)
    }

    /// The verdict of the rules. For a call that only completes a sign-up, returns nil if there is
    /// nothing to complete. If there is a reservation but the address is not proved yet, binds the
    /// `sub` to the reservation and returns nil.
    private func verdict(
        _ call: ProvisioningCall, _ reading: FactsReading, _ change: Change
    ) async throws -> Verdict? {
        let (attempt, facts) = (reading.attempt, reading.facts)
        guard call.needsReservation else {
            return Provisioning.decide(attempt: attempt, facts: facts, now: change.now)
        }
        guard facts.provider != nil else { return nil }
        guard let reservation = facts.reservation else {
            let former = facts.formerHolders.first
            return former.map { .anotherSub(in: $0.tenantID, of: $0.identityID) }
        }
        if reservation.isAnothers(call.alias?.sub) {
            return .anotherSub(in: reservation.tenantID, of: nil)
        }
        if call.emailVerified == true {
            return Provisioning.decide(attempt: attempt, facts: facts, now: change.now)
        }
        if let alias = call.alias {
            try await change.bind(
                alias, toReservationOf: attempt.identity, caller: reservation.caller)
        }
        return nil
    }

    /// Writes two changes that `verdict.effects` does not contain: the audit event of an identity
    /// name that was given again, and the binding of the attempt's `sub` to a known identity.
    private func note(_ verdict: Verdict, of reading: FactsReading, _ tenantChange: Change)
        async throws
    {
        let key = reading.attempt.identity
        if let identity = verdict.nameGivenAnew {
            try await tenantChange.audit(
                .identityNameGivenAnew, AuditTarget("identity", identity, key.subject))
        }
        // A hook's event binds its `sub` only to an identity that it links. A token may also bind
        // its `sub` to a known identity, since the pool itself has signed the token.
        guard verdict.outcome == .existing, reading.call.isInPerson, let alias = reading.call.alias,
            let row = reading.facts.known.first(where: { $0.tenantID == verdict.tenantID }),
            !row.hasThisSub
        else { return }
        try await tenantChange.bind(alias, to: row.identityID, key)
    }

    /// Whether a verdict has effects other than storing a reservation or choices. Those are stored
    /// already if an earlier identical call was recorded.
    private static func changesSomething(_ verdict: Verdict) -> Bool {
        verdict.effects.contains {
            switch $0 {
            case .reserve, .recordChoices: false
            default: true
            }
        }
    }

    /// The verdict for an exceeded limit, and the digest under which its decision is stored.
    func limited(
        _ limit: Limit, _ reading: FactsReading, _ change: Change
    ) -> (Verdict, digest: [UInt8]) {
        let asked = reading.facts.asked.compactMap(\.tenantID).first
        return (
            limit.verdict(in: asked.flatMap { reading.tenants[$0]?.id }),
            limit.digest(reading.call, asked, at: change.now)
        )
    }

    func replayed(
        _ earlier: RecordedResponse, _ verdict: Verdict, _ reading: FactsReading,
        _ tenantChange: Change
    ) async throws -> ProvisioningResult {
        var repeated = verdict
        repeated.outcome = earlier.recorded.outcome
        repeated.reason = earlier.recorded.reason
        repeated.inviteID = earlier.recorded.inviteID
        var result = try await result(repeated, reading, tenantChange, identity: nil)
        result.decisionID = earlier.decision
        result.reference = earlier.reference
        result.answer = earlier.answer
        return result
    }

    func result(
        _ verdict: Verdict, _ reading: FactsReading, _ tenantChange: Change, identity: UUID?,
        _ written: DecidedUser? = nil
    ) async throws -> ProvisioningResult {
        var decided = written
        if let id = verdict.userID, decided == nil {
            decided = try await tenantChange.decidedUser(id)
        }
        if let decided, verdict.isSuccess, let time = reading.call.tokenTime,
            time.isRefused(signedOutAt: decided.signedOutAt)
        {
            throw TokenOutdated(
                isStale: decided.signedOutAt.map { time.isStale(signedOutAt: $0) } ?? false)
        }
        let user = decided?.row
        let key = reading.attempt.identity
        let known = user?.identities.first {
            sameBytes($0.provider, key.provider.rawValue) && sameBytes($0.issuer, key.issuer)
                && sameBytes($0.subject, key.subject)
        }
        let found = reading.facts.known.first {
            $0.tenantID == verdict.tenantID && $0.user.id == verdict.userID
        }
        return ProvisioningResult(
            verdict: verdict, decisionID: nil, reference: "", user: user,
            tenant: verdict.tenantID.flatMap { reading.tenants[$0] },
            choices: verdict.choices.compactMap { reading.tenants[$0] },
            identityID: identity ?? known?.id ?? found?.identityID,
            isAddressSound: reading.attempt.email != nil,
            isAddressTrusted: reading.isAddressTrusted, answer: "")
    }
}

/// The addresses that exceeded their limit in this minute, each with the caller. This is only a
/// hint in this process: the count in the database and the rules decide.
final class OverLimit: Sendable {
    /// The maximum number of entries. Further addresses are not marked, so their attempts wait for
    /// the lock.
    private static let limit = 4096
    private let marked = Mutex<(minute: Int64, names: Set<String>)>((0, []))

    init() {}

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

/// If an address is over its limit, its attempts are answered without waiting for the person's
/// lock. The rules still run, but without row locks. An attempt that they refuse is answered with
/// `rate_limited`; any other is decided under the lock.
extension Database {
    /// For one address and caller, how many attempts may be answered without the person's lock at
    /// the same time.
    private static let lanes = 4

    /// Runs `body` under the person's lock. If the address is over its limit, first tries to answer
    /// with `rate_limited` without that lock.
    func underPersonLock(
        _ call: ProvisioningCall, by actor: Actor, _ render: @escaping Render,
        _ body: () async throws -> ProvisioningResult?
    ) async throws -> ProvisioningResult? {
        let keys = call.personKeys
        guard let address = call.addressKey, !call.needsReservation else {
            return try await options.personLock.withExclusive(keys: keys, by: call.callerName, body)
        }
        let name = "\(address) \(call.callerName)"
        if !overLimit.isMarked(name, at: clock()) {
            do {
                let result = try await options.personLock.withExclusive(
                    keys: keys, by: call.callerName, isTurnedAway: true, body)
                if result?.verdict.reason == .rateLimited {
                    overLimit.mark(name, at: clock())
                    options.personLock.turnAway(from: address, of: call.callerName)
                }
                return result
            } catch is PersonLock.TurnedAway {}
        }
        let lane = "\(name) lane \(Int.random(in: 0..<Self.lanes))"
        if let held = try await options.personLock.withExclusive(
            keys: [lane], by: call.callerName,
            {
                try await heldBack(call, by: actor, render)
            })
        {
            return held
        }
        return try await options.personLock.withExclusive(keys: keys, by: call.callerName, body)
    }

    /// The `rate_limited` result of an attempt. Returns nil if the rules would not refuse the
    /// attempt, if it is a retry, or if no limit is used up: the attempt must then be decided under
    /// the lock.
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
        if let result { options.onDecision(result.verdict.outcome) }
        return result
    }

    /// The result of the one decision that all rate-limited attempts of this minute share; `nil` if
    /// it is not recorded yet.
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
