import Text

/// Decides whether a second call is a retry of the first.
package enum Retry {
    /// Seconds within which calls without an `event_id` count as one call if their `digestInput` is
    /// equal.
    package static let window: Int64 = 600

    /// The parts of a recorded decision that are compared with a new run of the rules.
    package struct Recorded: Sendable, Equatable {
        /// The outcome as it was recorded, whatever has happened to the user since.
        package var outcome: Outcome
        package var reason: Reason?
        /// The tenant; `nil` if none was found, or if the person still has to choose.
        var tenantID: UUID?
        /// The user whom the decision found or created; `nil` if there is none.
        var userID: UUID?
        /// The invite that was used or refused; `nil` if there is none.
        package var inviteID: UUID?
        /// The ids of the tenants to choose from, sorted; empty unless the person still has to
        /// choose.
        var choices: [UUID]

        /// The defaults describe a decision without tenant and user.
        package init(
            outcome: Outcome, reason: Reason? = nil, tenantID: UUID? = nil, userID: UUID? = nil,
            inviteID: UUID? = nil, choices: [UUID] = []
        ) {
            self.outcome = outcome
            self.reason = reason
            self.tenantID = tenantID
            self.userID = userID
            self.inviteID = inviteID
            self.choices = choices
        }
    }

    /// Whether the recorded decision is also the answer to this call. Otherwise the recomputed
    /// verdict counts as a new decision, so that a user who was suspended in between is refused.
    package static func isSame(recorded: Recorded, recomputed: Verdict) -> Bool {
        let wasSuccess =
            recorded.outcome == .created || recorded.outcome == .linked
            || recorded.outcome == .existing
        if recomputed.isSuccess {
            guard wasSuccess, recorded.choices == recomputed.choices else { return false }
            return recomputed.userID == recorded.userID
                && (recomputed.userID != nil || !recomputed.choices.isEmpty)
        }
        if recomputed.reason == .approvalPending, recorded.outcome == .created {
            return recomputed.userID != nil && recomputed.userID == recorded.userID
        }
        guard recomputed.outcome == recorded.outcome else { return false }
        switch recomputed.outcome {
        case .deferred: return recomputed.choices == recorded.choices
        case .reserved:
            return recomputed.tenantID == recorded.tenantID
                && recomputed.inviteID == recorded.inviteID
        case .refused: return recomputed.reason == recorded.reason
        case .created, .linked, .existing: return false
        }
    }

    /// Returns the recomputed verdict, with one exception. If the recorded decision created a user
    /// who still waits for approval, and the recomputed verdict is a refusal, the returned refusal
    /// says that the user waits. This holds even if the rules now refuse because of another tenant.
    package static func waiting(
        after recorded: Recorded, recomputed: Verdict, facts: Facts
    ) -> Verdict {
        let row = facts.known.first {
            $0.user.id == recorded.userID && $0.user.awaitsApproval
                && facts.tenants[$0.tenantID]?.status == .active
        }
        guard recorded.outcome == .created, recomputed.outcome == .refused, let row else {
            return recomputed
        }
        var verdict = recomputed
        verdict.reason = .approvalPending
        verdict.tenantID = row.tenantID
        verdict.userID = row.user.id
        verdict.inviteID = nil
        return verdict
    }

    /// Returns the bytes whose digest identifies a call without `event_id`. Each field is preceded
    /// by its length, so that different calls have different bytes. The hashes and `tenant` are
    /// used unchanged.
    package static func digestInput(
        attempt: Attempt, tenant: String?, tokenHash: [UInt8]?, joinHash: [UInt8]? = nil
    ) -> [UInt8] {
        var out: [UInt8] = []
        func add(_ bytes: [UInt8]?) {
            guard let bytes else { return out.append(0) }
            out.append(1)
            let count = UInt32(truncatingIfNeeded: bytes.count)
            for shift in [24, 16, 8, 0] as [UInt32] {
                out.append(UInt8(truncatingIfNeeded: count >> shift))
            }
            out += bytes
        }
        func add(_ text: String?) { add(text.map { Array($0.utf8) }) }
        add(attempt.identity.provider.rawValue)
        add(attempt.identity.issuer)
        add(attempt.identity.subject)
        add(attempt.trigger.rawValue)
        add(tenant)
        add(tokenHash)
        switch attempt.address {
        case .missing: add("-")
        case .malformed: add("!")
        case .parsed(let email): add(email.key)
        }
        add(attempt.emailVerified.map { $0 ? "true" : "false" })
        add(attempt.clientID)
        if let joinHash { add(joinHash) }
        return out
    }
}
