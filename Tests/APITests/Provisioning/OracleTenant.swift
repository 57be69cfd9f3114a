import Domain
import TestSupport
import Text

/// One tenant as the tables speak of it: what it lets in, and what it has of the person.
struct OracleTenant: Sendable {
    /// The row at the attempt's address.
    enum Row: String, CaseIterable {
        case none, byOperator, byImport, byInvite, awaits, active, activeUnproved, suspended,
            deletedLately, deletedLongAgo, declined

        var isActive: Bool { self == .active || self == .activeUnproved }
    }
    enum Filter: CaseIterable { case none, here, elsewhere }
    /// Of the address's domain, or of the one above it with and without its subdomains.
    enum Claim: CaseIterable { case none, pending, verified, above, aboveAlone }
    enum Invited: CaseIterable {
        case none, byMail, byLink, expired, revoked
        /// Another person has accepted it.
        case used
        /// A live one, mailed to another address, which has a row of its own.
        case elsewhere
    }
    /// Who gave the invite its role, as they stand now.
    enum Giver: CaseIterable {
        case machine, operatorAdmin, operatorSupport, operatorDeveloper, operatorSuspended,
            userAdmin, userManager, userMember, userSuspended
    }
    /// How the attempt's sign-in stands to the tenant.
    enum SignIn: CaseIterable {
        case none
        /// A rule linked it to the row.
        case ofRow
        /// An operator linked it to the row: of the platform, of the tenant.
        case byPlatform, byTenant
        /// It is another user's of the tenant, at another address.
        case ofOther, ofOtherSuspended, ofOtherDeleted
        /// An operator unlinked it, before or after the invite was sent.
        case barredBefore, barredAfter
    }
    /// What the tenant keeps out of the person: the address, its domain, or only others.
    enum Block: CaseIterable { case none, others, address, domain, above }
    /// A link grant for the row.
    enum Grant: CaseIterable { case none, good, used, expired }

    var id: UUID
    var rowID: UUID
    var otherID: UUID
    var elsewhereID: UUID
    var giverID: UUID
    var inviteID: UUID
    var status = Tenant.Status.active
    var signUp = TenantPolicy.SignUp.inviteOnly
    var defaultRole = UserRole.member
    var filter = Filter.none
    var externalInvites = true
    var mustMatch = true
    var autoLink = false
    var claim = Claim.none
    var mode: TenantDomain.Mode?
    var domainRole: UserRole?
    var block = Block.none
    var row = Row.none
    var rowRole = UserRole.member
    var invited = Invited.none
    var invitedRole = UserRole.member
    var giver = Giver.machine
    /// The giver changed the role of another's invite.
    var isChanged = false
    var signIn = SignIn.none
    var grant = Grant.none
    var link: OracleJoinLink?

    /// A live invite to the attempt's address.
    var isInvited: Bool { invited == .byMail || invited == .byLink }
    var ownsDomain: Bool { claim == .verified || claim == .above }
    var isBlocked: Bool { block == .address || block == .domain || block == .above }
    /// Who comes in by the tenant's domain: a closed tenant is closed, then the domain's own word
    /// counts, then the policy's.
    var signUpByDomain: TenantPolicy.SignUp {
        if signUp == .closed { return .closed }
        switch mode {
        case .join: return .domain
        case .ask: return .approval
        case .inviteOnly: return .inviteOnly
        case nil: return signUp
        }
    }
    /// The user whom the sign-in is known as here.
    var knownID: UUID? {
        switch signIn {
        case .ofRow, .byPlatform, .byTenant: rowID
        case .ofOther, .ofOtherSuspended, .ofOtherDeleted: otherID
        case .none, .barredBefore, .barredAfter: nil
        }
    }

    init(_ random: inout SeededNumbers, mayOwnDomain: Bool) {
        id = random.uuid()
        rowID = random.uuid()
        otherID = random.uuid()
        elsewhereID = random.uuid()
        giverID = random.uuid()
        inviteID = random.uuid()
        status = random.chance(10) ? .suspended : .active
        if random.chance(40) { status = .deleted }
        signUp = random.pick(TenantPolicy.SignUp.allCases)
        defaultRole = random.pick([.member, .manager])
        filter = random.pick([.none, .none, .here, .elsewhere])
        externalInvites = !random.chance(3)
        mustMatch = !random.chance(2)
        autoLink = random.chance(3)
        claim = mayOwnDomain ? random.pick(Claim.allCases + [.verified, .verified]) : .none
        row = random.pick([.none, .none, .none, .byInvite] + Row.allCases)
        rowRole = random.pick(UserRole.allCases)
        invited = random.pick([.none, .none, .none, .byMail] + Invited.allCases)
        if invited == .elsewhere, ![.none, .suspended, .deletedLately].contains(row) {
            invited = .byMail
        }
        invitedRole = random.pick(UserRole.allCases)
        giver = random.pick([.machine, .machine] + Giver.allCases)
        isChanged = random.chance(2)
        // The role of a row that an invite made and the role of that invite are one.
        if row == .byInvite { rowRole = invitedRole }
        signIn = pickSignIn(&random)
        if row.isActive, random.chance(2) { grant = random.pick(Grant.allCases + [.good]) }
        if random.chance(3) {
            link = OracleJoinLink(
                id: random.uuid(),
                state: random.pick([.live, .live, .live] + OracleJoinLink.State.allCases),
                domains: random.pick([.all] + OracleJoinLink.Domains.allCases))
        }
        if claim != .none {
            mode = random.pick([nil, nil] + TenantDomain.Mode.allCases)
            domainRole = random.pick([nil, .member, .manager])
        }
        if random.chance(5) { block = random.pick(Block.allCases) }
    }

    /// Only what can come about: a rule links none to a row that waits for its person.
    private func pickSignIn(_ random: inout SeededNumbers) -> SignIn {
        if random.chance(2) { return .none }
        let bars: [SignIn] = [.barredBefore, .barredAfter]
        switch row {
        case .none:
            return random.pick(bars + [.ofOther, .ofOtherSuspended, .ofOtherDeleted])
        case .byOperator, .byImport, .byInvite:
            return random.pick(bars + [.byPlatform, .byTenant, .byPlatform, .ofOtherDeleted])
        case .awaits: return random.pick(bars + [.ofRow, .byPlatform, .ofOtherDeleted])
        default: return random.pick(bars + [.ofRow, .ofRow, .byTenant, .ofOtherDeleted])
        }
    }
}
