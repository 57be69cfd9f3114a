import Domain
import Text

// Rules 4 (one tenant) to 10.
extension Oracle {
    func inside(_ index: Int, isAsked: Bool) -> Answer {
        let tenant = tenants[index]
        // A tenant's own word counts where the tenant was found by the address.
        if !isAsked, tenant.signIn == .byTenant {
            if tenant.row.isActive { return existing(index, nil) }
            if tenant.row == .suspended { return .refused("1", .userSuspended, index) }
        }
        let known = knowledge(index, asked: isAsked)
        switch known {
        case .suspended: return .refused("4", .userSuspended, index)
        case .awaits: return .refused("4", .approvalPending, index)
        case .deleted:
            return .refused("4", tenant.row == .declined ? .notInvited : .userDeleted, index)
        default: break
        }
        guard isTrustedAddress else { return .refused("5", .emailUnverified, index) }
        if isBarred(index) { return .refused("8", .identityLinkRequired, index) }
        switch known {
        case .invite: return byInvite(index)
        case .row:
            if tenant.signUp == .closed { return .refused("7", .notInvited, index) }
            return Answer(
                rule: "7", outcome: .linked, tenant: index, user: .row,
                change: .activated(tenant.rowRole, byHand: false))
        case .active: return byActive(index)
        case .link: return byJoinLink(index)
        default: return byDomain(index, isAsked)
        }
    }

    /// What the invite gives: its role, if who gave it still may; else member.
    private func givenRole(_ tenant: OracleTenant) -> UserRole {
        let bound: UserRole
        switch tenant.giver {
        case .machine, .operatorAdmin, .userAdmin: bound = .admin
        case .userManager: bound = .manager
        case .operatorSupport, .operatorDeveloper, .operatorSuspended, .userMember,
            .userSuspended:
            bound = .member
        }
        return tenant.invitedRole <= bound ? tenant.invitedRole : .member
    }

    private func byInvite(_ index: Int) -> Answer {
        let tenant = tenants[index]
        if tenant.signUp == .closed { return .refused("6", .notInvited, index) }
        if tenant.filter == .elsewhere, !tenant.externalInvites {
            return .refused("6", .notInvited, index)
        }
        let role = givenRole(tenant)
        if elsewhere == index {
            return Answer(
                rule: "6", outcome: .linked, tenant: index, user: .elsewhere,
                change: .activated(role, byHand: false), acceptsInvite: true)
        }
        switch tenant.row {
        case .active, .activeUnproved: return byActive(index)
        case .byOperator, .byImport, .byInvite, .awaits:
            return Answer(
                rule: "6", outcome: .linked, tenant: index, user: .row,
                change: .activated(role, byHand: false), acceptsInvite: true)
        default:
            return Answer(
                rule: "6", outcome: .created, tenant: index, user: .new,
                change: .created(role, waits: false), acceptsInvite: true)
        }
    }

    private func byActive(_ index: Int) -> Answer {
        guard takesAnother(index) else { return .refused("8", .identityLinkRequired, index) }
        return Answer(
            rule: "8", outcome: .linked, tenant: index, user: .row, change: .joined,
            acceptsInvite: tenants[index].isInvited, usesGrant: isGranted(index))
    }

    private func byDomain(_ index: Int, _ isAsked: Bool) -> Answer {
        let tenant = tenants[index]
        func created(_ rule: String, _ role: UserRole, waits: Bool) -> Answer {
            Answer(
                rule: rule, outcome: .created, tenant: index, user: .new,
                change: .created(role, waits: waits))
        }
        if tenant.isBlocked { return .refused("block_list", .emailBlocked, index) }
        let takesAsking = isAsked && [.open, .approval].contains(tenant.signUp)
        if tenant.ownsDomain {
            let word = tenant.signUpByDomain
            if word == .closed || word == .inviteOnly { return .refused("9", .notInvited, index) }
            if tenant.filter == .elsewhere { return .refused("9", .notInvited, index) }
            if trusted == .owner {
                return created(
                    "9", tenant.domainRole ?? tenant.defaultRole, waits: word == .approval)
            }
            if !takesAsking { return .refused("9", .emailUnverified, index) }
        }
        guard takesAsking, tenant.filter != .elsewhere else {
            return .refused("10", .notInvited, index)
        }
        let asksFirst = tenant.ownsDomain && tenant.mode == .ask
        return created("10", tenant.defaultRole, waits: tenant.signUp == .approval || asksFirst)
    }
}
