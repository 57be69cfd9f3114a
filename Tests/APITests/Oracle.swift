import Domain
import Text

/// What an attempt must come to, told from the tables of rules alone and in their order. It knows
/// nothing of the engine.
struct Oracle {
    /// What becomes of the users of the tenant.
    enum Change: Equatable {
        case none
        /// The row at the address, or the one that is known, becomes active with this role.
        case activated(UserRole)
        /// The row stays as it is and has one sign-in more.
        case joined
        case created(UserRole, waits: Bool)
    }

    struct Answer: Equatable {
        var outcome: Outcome
        var reason: Reason?
        var tenant: Int?
        var choices: Set<Int> = []
        var change = Change.none
        var acceptsInvite = false

        static func refused(_ reason: Reason, _ tenant: Int? = nil) -> Answer {
            Answer(outcome: .refused, reason: reason, tenant: tenant)
        }
    }

    enum Trusted: Int, Comparable {
        case no, claimed, owner
        static func < (left: Trusted, right: Trusted) -> Bool { left.rawValue < right.rawValue }
    }

    let state: OracleState

    var tenants: [OracleTenant] { state.tenants }

    // MARK: trust

    /// The provider's word, a mailed token, or, of a native sign-up, as if it were proved.
    var trusted: Trusted {
        if state.isNative { return .owner }
        var word = Trusted.no
        if state.claimed != false {
            let claim: Trusted = state.claimed == true ? .claimed : .no
            let owns = !state.isOwnProvider || tenants[0].claim == .verified
            switch state.trust {
            case .none, .ownerElsewhere: word = .no
            case .claim: word = claim
            case .owner: word = owns ? .owner : .no
            case .google: word = owns && state.isHosted ? .owner : claim
            }
        }
        if case .own(let index) = state.token, tenants[index].invited == .byMail {
            // The token of a link that was shown proves nothing.
            return max(word, .claimed)
        }
        return word
    }

    /// A token proves the mailbox; it makes nobody the domain's owner.
    func isVouched(_ trusted: Trusted) -> Bool { trusted > .no }

    // MARK: the order

    var answer: Answer {
        switch asked {
        case .failure(let reason): return .refused(reason.reason, reason.tenant)
        case .success(let tenant):
            let answer = decide(tenant)
            return state.isNative ? reserved(answer) : answer
        }
    }

    private struct Refusal: Error {
        var reason: Reason
        var tenant: Int?
    }

    /// Everybody who names a tenant must name the same one, and it must be open.
    private var asked: Result<Int?, Refusal> {
        var named: [Int?] = []
        if state.isOwnProvider { named.append(0) }
        switch state.asked {
        case .none: break
        case .unknown: named.append(nil)
        case .tenant(let index): named.append(index)
        }
        if case .own(let index) = state.token { named.append(index) }
        guard let first = named.first else { return .success(nil) }
        guard let tenant = first, named.allSatisfy({ $0 == first }) else {
            return .failure(Refusal(reason: .noTenant))
        }
        switch tenants[tenant].status {
        case .active: return .success(tenant)
        case .suspended: return .failure(Refusal(reason: .tenantSuspended, tenant: tenant))
        case .deleted: return .failure(Refusal(reason: .tenantDeleted, tenant: tenant))
        }
    }

    private func decide(_ asked: Int?) -> Answer {
        var held: Answer?
        switch known(asked) {
        case .answered(let answer): return answer
        case .refuses(let answer):
            if asked != nil { return answer }
            held = answer
        case .unknown: break
        }
        switch state.address {
        case .missing: return held ?? .refused(.emailMissing, asked)
        case .malformed: return held ?? .refused(.emailInvalid, asked)
        case .there: break
        }
        if let bad = badToken { return .refused(bad, asked) }
        return place(asked, held)
    }

    /// Rule 3. A token names its tenant, so that it is always asked here.
    private var badToken: Reason? {
        switch state.token {
        case .none: return nil
        case .unknown: return .inviteUnknown
        case .own(let index):
            switch tenants[index].invited {
            case .expired: return .inviteExpired
            case .revoked: return .inviteRevoked
            default: return nil
            }
        }
    }

    /// What would succeed is reserved; who is known is known, and nothing is touched.
    private func reserved(_ answer: Answer) -> Answer {
        switch answer.outcome {
        case .created, .linked:
            return Answer(outcome: .reserved, reason: nil, tenant: answer.tenant)
        case .existing:
            var answer = answer
            answer.change = .none
            answer.acceptsInvite = false
            answer.choices = answer.tenant == nil ? answer.choices : []
            return answer
        case .reserved, .deferred, .refused: return answer
        }
    }
}
