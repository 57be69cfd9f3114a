import Domain
import Text

/// What an attempt must come to, by the tables of rules alone and in their order. It knows
/// nothing of the engine.
struct Oracle {
    /// Which user the answer is about.
    enum Person: Equatable {
        case none
        /// At the address, at another address of the known sign-in, at the invited other address.
        case row, other, elsewhere
        case new
    }

    /// What becomes of that user.
    enum Change: Equatable {
        case none
        /// The row becomes active with this role; by an operator's hand its address stays unproved.
        case activated(UserRole, byHand: Bool)
        /// The row stays as it is and has one sign-in more.
        case joined
        case created(UserRole, waits: Bool)
    }

    struct Answer: Equatable {
        /// The rule that decides: its number in the table, or the step before the rules.
        var rule: String
        var outcome: Outcome
        var reason: Reason?
        var tenant: Int?
        var user = Person.none
        var choices: Set<Int> = []
        var change = Change.none
        var acceptsInvite = false
        var usesGrant = false
        var usesLink = false

        static func refused(_ rule: String, _ reason: Reason, _ tenant: Int? = nil) -> Answer {
            Answer(rule: rule, outcome: .refused, reason: reason, tenant: tenant)
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
    var trusted: Trusted { state.isNative ? .owner : assertedTrust }

    /// The same without what a native sign-up is judged by.
    var assertedTrust: Trusted {
        if state.isNative { return .no }
        var word = Trusted.no
        if state.claimed != false {
            let claim: Trusted = state.claimed == true ? .claimed : .no
            let owns = !state.isOwnProvider || tenants[0].ownsDomain
            switch state.trust {
            case .none, .ownerElsewhere: word = .no
            case .claim: word = claim
            case .owner: word = owns ? .owner : .no
            case .google: word = owns && state.isHosted ? .owner : claim
            }
        }
        // A mailed token proves its mailbox; it is no word of the domain's owner. The token of a link
        // that was shown proves nothing.
        if case .of(let index) = state.token, tenants[index].invited == .byMail {
            return max(word, .claimed)
        }
        return word
    }

    var isTrustedAddress: Bool { trusted > .no }

    /// The tenant whose live invite to another address came along by its token.
    var elsewhere: Int? {
        guard case .of(let index) = state.token, tenants[index].invited == .elsewhere else {
            return nil
        }
        return index
    }

    /// A live invite that lets the person in: to the address, or whose token came along.
    func isInvited(_ index: Int) -> Bool { tenants[index].isInvited || elsewhere == index }

    /// An operator has unlinked the sign-in, and no invite sent since or grant brings it back.
    func isBarred(_ index: Int) -> Bool {
        switch tenants[index].signIn {
        case .barredAfter: !isGranted(index)
        case .barredBefore: !isInvited(index) && !isGranted(index)
        default: false
        }
    }

    /// A one-time link grant for the tenant's row came along.
    func isGranted(_ index: Int) -> Bool {
        state.granted == index && tenants[index].grant == .good
    }

    // MARK: the order

    var answer: Answer {
        switch asked {
        case .failure(let refusal): return .refused("tenant", refusal.reason, refusal.tenant)
        case .success(let tenant):
            let answer = decide(tenant)
            guard state.isNative else { return answer }
            // A user whom the pool's administrator made may be without a tenant.
            if state.native == .madeAllowed, answer.reason == .noTenant {
                return Answer(rule: "admin_create", outcome: .reserved)
            }
            return reserved(answer)
        }
    }

    /// Once the address of what was reserved is proved: the rules run as if what the reservation
    /// keeps were given.
    func proved(in tenant: Int) -> Answer { decide(tenant) }

    /// The reason that a refused person reads who calls in person: with an address that is not
    /// vouched for all of rules 4 to 10 read alike, unless the sign-in itself is known there.
    func told(_ due: Answer, asked isAsked: Bool) -> Reason? {
        guard due.outcome == .refused, let rule = Int(due.rule), rule >= 4, assertedTrust == .no
        else {
            return due.reason
        }
        let isKnown = due.tenant.map { index in
            tenants[index].knownID != nil && (isAsked || tenants[index].signIn != .byTenant)
        }
        return isKnown == true ? due.reason : .emailUnverified
    }

    private struct Refusal: Error {
        var reason: Reason
        var tenant: Int?
    }

    /// All who name a tenant must name the same one, and it must be open.
    private var asked: Result<Int?, Refusal> {
        let named = self.named
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

    /// The tenants that were named; nil is one that does not exist.
    var named: [Int?] {
        var named: [Int?] = []
        if state.isOwnProvider || state.isTenantsCall { named.append(0) }
        switch state.asked {
        case .none: break
        case .unknown: named.append(nil)
        case .tenant(let index): named.append(index)
        }
        if case .of(let index) = state.token { named.append(index) }
        if case .of(let index) = state.joining { named.append(index) }
        return named
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
        case .missing: return held ?? .refused("2", .emailMissing, asked)
        case .malformed: return held ?? .refused("2", .emailInvalid, asked)
        case .there: break
        }
        if let bad = badToken ?? badJoinToken { return .refused("3", bad, asked) }
        return place(asked, held)
    }

    /// Rule 3. A token names its tenant, so that it is always asked here.
    private var badToken: Reason? {
        switch state.token {
        case .none: return nil
        case .unknown: return .inviteUnknown
        case .of(let index):
            switch tenants[index].invited {
            case .expired: return .inviteExpired
            case .revoked: return .inviteRevoked
            case .used: return .inviteUsed
            case .elsewhere:
                return tenants[index].mustMatch || !isTrustedAddress ? .inviteEmailMismatch : nil
            case .none, .byMail, .byLink: return nil
            }
        }
    }

    /// What would succeed is reserved; who is known is known, and nothing is touched.
    private func reserved(_ answer: Answer) -> Answer {
        switch answer.outcome {
        case .created, .linked:
            return Answer(rule: answer.rule, outcome: .reserved, tenant: answer.tenant)
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
