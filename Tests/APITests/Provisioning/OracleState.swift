import Domain
import Storage
import TestSupport
import Text

extension SeededNumbers {
    mutating func uuid() -> UUID {
        UUID(high: next() & ~0xF000 | 0x4000, low: next() & ~(3 << 62) | 1 << 63)
    }
}

/// One attempt and the world that it meets.
struct OracleState: Sendable {
    enum Trust: CaseIterable { case google, none, claim, owner, ownerElsewhere }
    enum Address: CaseIterable { case there, missing, malformed }
    /// A native sign-up, or a user whom an administrator of the pool made, in a pool that refuses
    /// those without a tenant or in one that allows them.
    enum Native: CaseIterable { case none, signUp, made, madeAllowed }
    enum Asked: Equatable {
        case none, unknown
        case tenant(Int)
    }
    enum Token: Equatable {
        case none, unknown
        /// That of the tenant's invite.
        case of(Int)
    }

    var number: Int
    var tenants: [OracleTenant] = []
    var trust = Trust.claim
    /// The provider is the first tenant's own.
    var isOwnProvider = false
    /// The credential is the first tenant's.
    var isTenantsCall = false
    var claimed: Bool? = true
    var isHosted = false
    var address = Address.there
    var native = Native.none
    var asked = Asked.none
    var token = Token.none
    /// The token of the tenant's join link.
    var joining = Token.none
    /// The tenant whose link grant came along.
    var granted: Int?

    var isNative: Bool { native != .none }
    var above: String { "p\(number).example" }
    var domain: String { "d.\(above)" }
    var email: String { "ann@\(domain)" }
    var subject: String { "s\(number)" }

    init(number: Int, seed: UInt64) {
        self.number = number
        var random = SeededNumbers(seed: seed &* 1_000_003 &+ UInt64(number))
        for index in 0..<random.pick([1, 1, 1, 2, 2, 3]) {
            let mayOwnDomain = index == 0 || random.chance(3)
            tenants.append(OracleTenant(&random, mayOwnDomain: mayOwnDomain))
        }
        keepDomainsApart()
        trust = random.pick(Trust.allCases + [.claim, .claim, .owner, .owner])
        claimed = random.pick([true, true, true, false, nil])
        isHosted = random.chance(2)
        address = random.chance(25) ? random.pick(Address.allCases) : .there
        native = random.chance(5) ? random.pick(Native.allCases) : .none
        isOwnProvider = !isNative && random.chance(6)
        isTenantsCall = !isNative && random.chance(10)
        // Mostly they name the same tenant.
        let isBound = (isOwnProvider || isTenantsCall) && !random.chance(4)
        let some = isBound ? 0 : random.pick(Array(tenants.indices))
        asked = random.pick([.none, .none, .tenant(some)])
        if random.chance(40) { asked = .unknown }
        // An address that was not invited matters only where the token is there.
        if random.chance(5) || tenants[some].invited == .elsewhere && !random.chance(4) {
            let has = tenants[some].invited != .none && (!isTenantsCall || some == 0)
            token = has ? .of(some) : random.chance(3) ? .unknown : .none
        }
        granted = tenants.indices.first { tenants[$0].grant != .none && !random.chance(4) }
        if tenants[some].link != nil, !random.chance(4) {
            joining = !isTenantsCall || some == 0 ? .of(some) : .unknown
        } else if random.chance(40) {
            joining = .unknown
        }
    }

    /// A verified domain belongs to one tenant.
    private mutating func keepDomainsApart() {
        for index in tenants.indices.dropFirst() {
            let before = tenants[..<index].map(\.claim)
            switch tenants[index].claim {
            case .verified where before.contains(.verified): tenants[index].claim = .pending
            case .above, .aboveAlone:
                if before.contains(.above) || before.contains(.aboveAlone) {
                    tenants[index].claim = .none
                }
            default: break
            }
        }
    }
}
