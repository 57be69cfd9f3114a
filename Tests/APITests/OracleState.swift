import Domain
import Storage
import Text

/// A seeded generator (SplitMix64), so that a difference can be run again.
struct OracleRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func pick<T>(_ values: [T]) -> T { values[Int(next() % UInt64(values.count))] }
    mutating func chance(_ one: UInt64) -> Bool { next() % one == 0 }
    mutating func uuid() -> UUID {
        UUID(high: next() & ~0xF000 | 0x4000, low: next() & ~(3 << 62) | 1 << 63)
    }
}

/// One tenant as the tables speak of it: what it lets in, and what it has of the person.
struct OracleTenant: Sendable {
    /// The row at the attempt's address.
    enum Row: String, CaseIterable {
        case none, byOperator, byImport, byInvite, awaits, active, activeUnproved, suspended,
            deletedLately, deletedLongAgo
    }
    enum Filter: CaseIterable { case none, here, elsewhere }
    enum Claim: CaseIterable { case none, pending, verified }
    enum Invited: CaseIterable { case none, byMail, byLink, expired, revoked }
    /// How the attempt's sign-in stands to the tenant.
    enum SignIn: CaseIterable {
        case none
        /// A rule linked it to the row.
        case ofRow
        /// An operator linked it to the row: of the platform, of the tenant.
        case byPlatform, byTenant
        /// It is another user's of the tenant, at another address.
        case ofOther, ofOtherSuspended
        /// An operator unlinked it, before or after the invite was sent.
        case barredBefore, barredAfter
    }

    var id: UUID
    var rowID: UUID
    var otherID: UUID
    var inviteID: UUID
    var status = Tenant.Status.active
    var signUp = TenantPolicy.SignUp.inviteOnly
    var defaultRole = UserRole.member
    var filter = Filter.none
    var externalInvites = true
    var mustMatch = true
    var autoLink = false
    var claim = Claim.none
    var row = Row.none
    var rowRole = UserRole.member
    var invited = Invited.none
    var invitedRole = UserRole.member
    var signIn = SignIn.none

    var isInvited: Bool { invited == .byMail || invited == .byLink }
    var isBarred: Bool {
        signIn == .barredAfter || signIn == .barredBefore && !isInvited
    }
    /// The user whom the sign-in is known as here.
    var knownID: UUID? {
        switch signIn {
        case .ofRow, .byPlatform, .byTenant: rowID
        case .ofOther, .ofOtherSuspended: otherID
        case .none, .barredBefore, .barredAfter: nil
        }
    }
}

/// One attempt and the world that it meets.
struct OracleState: Sendable {
    enum Trust: CaseIterable { case google, none, claim, owner, ownerElsewhere }
    enum Address: CaseIterable { case there, missing, malformed }
    enum Asked: Equatable {
        case none, unknown
        case tenant(Int)
    }
    enum Token: Equatable {
        case none, unknown
        /// The invite to the attempt's address in that tenant.
        case own(Int)
    }

    var number: Int
    var tenants: [OracleTenant] = []
    var trust = Trust.claim
    /// The provider is the first tenant's own.
    var isOwnProvider = false
    var claimed: Bool? = true
    var isHosted = false
    var address = Address.there
    var isNative = false
    var asked = Asked.none
    var token = Token.none

    var domain: String { "d\(number).example" }
    var email: String { "ann@\(domain)" }
    var subject: String { "s\(number)" }

    init(number: Int, seed: UInt64) {
        self.number = number
        var random = OracleRandom(seed: seed &* 1_000_003 &+ UInt64(number))
        for index in 0..<random.pick([1, 1, 2, 2, 2, 3]) {
            let mayOwnDomain = index == 0 || random.chance(4)
            tenants.append(Self.tenant(&random, mayOwnDomain: mayOwnDomain))
        }
        // A verified domain belongs to one tenant.
        for index in tenants.indices.dropFirst()
        where tenants[..<index].contains(where: { $0.claim == .verified }) {
            if tenants[index].claim == .verified { tenants[index].claim = .pending }
        }
        trust = random.pick(Trust.allCases + [.claim, .claim, .owner])
        claimed = random.pick([true, true, true, false, nil])
        isHosted = random.chance(2)
        address = random.chance(20) ? random.pick(Address.allCases) : .there
        isNative = random.chance(6)
        isOwnProvider = !isNative && random.chance(6)
        let some = random.pick(Array(tenants.indices))
        asked = random.pick([.none, .none, .none, .tenant(some), .tenant(some), .unknown])
        if random.chance(4) { asked = .none }
        if random.chance(5) {
            let has = tenants[some].invited != .none
            token = has && !random.chance(5) ? .own(some) : .unknown
        }
    }

    private static func tenant(
        _ random: inout OracleRandom, mayOwnDomain: Bool
    ) -> OracleTenant {
        var tenant = OracleTenant(
            id: random.uuid(), rowID: random.uuid(), otherID: random.uuid(),
            inviteID: random.uuid())
        tenant.status = random.pick([.active, .active, .active, .active, .active, .suspended])
        if random.chance(25) { tenant.status = .deleted }
        tenant.signUp = random.pick(TenantPolicy.SignUp.allCases)
        tenant.defaultRole = random.pick([.member, .manager])
        tenant.filter = random.pick([.none, .none, .here, .elsewhere])
        tenant.externalInvites = !random.chance(3)
        tenant.mustMatch = !random.chance(4)
        tenant.autoLink = random.chance(3)
        tenant.claim = mayOwnDomain ? random.pick(OracleTenant.Claim.allCases) : .none
        tenant.row = random.pick([.none] + OracleTenant.Row.allCases)
        tenant.rowRole = random.pick(UserRole.allCases)
        tenant.invited = random.pick([.none] + OracleTenant.Invited.allCases)
        tenant.invitedRole = random.pick(UserRole.allCases)
        tenant.signIn = signIn(&random, tenant)
        return tenant
    }

    /// Only what can come about: a rule links none to a row that waits for its person.
    private static func signIn(
        _ random: inout OracleRandom, _ tenant: OracleTenant
    ) -> OracleTenant.SignIn {
        if random.chance(2) { return .none }
        let bars: [OracleTenant.SignIn] = [.barredBefore, .barredAfter]
        switch tenant.row {
        case .none: return random.pick(bars + [.ofOther, .ofOtherSuspended])
        case .byOperator, .byImport, .byInvite:
            return random.pick(bars + [.byPlatform, .byTenant, .byPlatform])
        case .awaits: return random.pick(bars + [.ofRow, .byPlatform])
        default: return random.pick(bars + [.ofRow, .ofRow, .byTenant])
        }
    }
}
