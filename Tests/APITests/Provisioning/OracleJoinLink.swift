import Cryptography
import Domain
import JSON
import Storage
import Text

/// The tenant's join link, made by the giver of its invite.
struct OracleJoinLink: Sendable {
    enum State: CaseIterable { case live, expired, revoked, usedUp }
    /// Of which domains it takes addresses.
    enum Domains: CaseIterable { case all, here, elsewhere }

    static let places = 5

    var id: UUID
    var state: State
    var domains: Domains

    var uses: Int { state == .usedUp ? Self.places : 0 }
}

// Rule 3 for a join link's token, and what it does to rules 4 and 10.
extension Oracle {
    /// A link asks its maker's right again at each use.
    private func isMakersLost(_ tenant: OracleTenant) -> Bool {
        switch tenant.giver {
        case .machine, .operatorAdmin, .operatorSupport, .userAdmin, .userManager: false
        case .operatorDeveloper, .operatorSuspended, .userMember, .userSuspended: true
        }
    }

    var badJoinToken: Reason? {
        switch state.joining {
        case .none: return nil
        case .unknown: return .joinUnknown
        case .of(let index):
            guard let link = tenants[index].link else { return .joinUnknown }
            switch link.state {
            case .expired: return .joinExpired
            case .revoked: return .joinRevoked
            case .usedUp: return .joinUsedUp
            case .live: return isMakersLost(tenants[index]) ? .joinRevoked : nil
            }
        }
    }

    func isJoining(_ index: Int) -> Bool { state.joining == .of(index) }

    func mayJoin(_ tenant: OracleTenant) -> Bool {
        tenant.signUp != .closed && tenant.link?.domains != .elsewhere
            && (tenant.filter != .elsewhere || tenant.externalInvites)
    }

    func byJoinLink(_ index: Int) -> Answer {
        if tenants[index].isBlocked { return .refused("block_list", .emailBlocked, index) }
        guard mayJoin(tenants[index]) else { return .refused("10", .notInvited, index) }
        return Answer(
            rule: "10", outcome: .created, tenant: index, user: .new,
            change: .created(.member, waits: false), usesLink: true)
    }
}

extension OracleRows {
    static func joinToken(_ state: OracleState, _ index: Int) -> String {
        "\(locator(state, index))\(state.tenants[index].link?.id.description ?? "none")"
    }

    mutating func addJoinLink(_ state: OracleState, _ tenant: OracleTenant, _ index: Int) {
        guard let link = tenant.link else { return }
        var domains: [JSONValue] = []
        switch link.domains {
        case .all: break
        case .here: domains = [.string(state.domain), .string("more.example")]
        case .elsewhere: domains = [.string(state.above)]
        }
        let maker = tenant.giverParts
        put(
            "join_links",
            [
                ("tenant_id", id(tenant.id)), ("id", id(link.id)),
                ("token_hash", bytes(SHA256.hash(Array(Self.joinToken(state, index).utf8)))),
                ("domains", .array(domains)), ("max_uses", .int(OracleJoinLink.places)),
                ("uses", .int(link.uses)), ("maker_type", .string(maker?.type ?? "system")),
                ("maker_id", .string(maker?.id ?? "test")), ("maker_name", .string("Test")),
                ("expires_at", time(link.state == .expired ? -1 : 3600)),
                ("revoked_at", link.state == .revoked ? time(-5) : .null), ("version", .int(1)),
                ("created_at", time(-50)), ("updated_at", time(-50)),
            ])
    }
}
