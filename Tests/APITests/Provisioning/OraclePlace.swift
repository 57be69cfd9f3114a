import Domain
import Text

// Rule 4, with P6 and P10.
extension Oracle {
    /// In the rule's order.
    enum Knowledge: Int {
        case suspended, invite, row, active, awaits, deleted, link, domain, open
    }

    enum Standing { case admits, linkable, refuses }

    func knowledge(_ index: Int, asked: Bool) -> Knowledge? {
        let tenant = tenants[index]
        if tenant.row == .suspended { return .suspended }
        if isInvited(index) { return .invite }
        switch tenant.row {
        case .byOperator, .byImport: return .row
        case .active, .activeUnproved: return .active
        case .awaits: return .awaits
        case .deletedLately, .declined: return .deleted
        case .none, .byInvite, .suspended, .deletedLongAgo: break
        }
        // By address or by this sign-in.
        if tenant.signIn == .ofOtherDeleted { return .deleted }
        if isJoining(index) { return .link }
        if tenant.ownsDomain { return .domain }
        return asked && [.open, .approval].contains(tenant.signUp) ? .open : nil
    }

    private func isFiltered(_ tenant: OracleTenant) -> Bool { tenant.filter == .elsewhere }

    func standing(_ index: Int, asked: Bool) -> Standing {
        let tenant = tenants[index]
        if refusesAsKnown(index, asked: true) != nil { return .refuses }
        if isKnownActive(index, asked: true) { return .admits }
        if isBarred(index) { return .refuses }
        let takes: Standing = takesAnother(index) ? .admits : .linkable
        switch knowledge(index, asked: asked) {
        case nil, .suspended, .awaits, .deleted: return .refuses
        case .invite:
            if tenant.signUp == .closed || isFiltered(tenant) && !tenant.externalInvites {
                return .refuses
            }
            return tenant.row.isActive ? takes : .admits
        case .row: return tenant.signUp == .closed ? .refuses : .admits
        case .active: return takes
        case .link: return mayJoin(tenant) && !tenant.isBlocked ? .admits : .refuses
        case .domain:
            let isShut = [.closed, .inviteOnly].contains(tenant.signUpByDomain)
            return isShut || isFiltered(tenant) || tenant.isBlocked ? .refuses : .admits
        case .open: return isFiltered(tenant) || tenant.isBlocked ? .refuses : .admits
        }
    }

    func place(_ asked: Int?, _ held: Answer?) -> Answer {
        let isAsked = asked != nil
        let pool = asked.map { [$0] } ?? tenants.indices.filter { tenants[$0].status == .active }
        let found = pool.filter { knowledge($0, asked: isAsked) != nil }
            .sorted { tenants[$0].id < tenants[$1].id }
        let isAdmitted = found.contains { standing($0, asked: isAsked) == .admits }
        if let held, !isAdmitted || !isTrustedAddress { return held }
        guard !found.isEmpty else { return .refused("4", .noTenant, asked) }
        guard isAdmitted else {
            let first = found.min { rank($0, isAsked) < rank($1, isAsked) } ?? found[0]
            return inside(first, isAsked: isAsked)
        }
        let counted = found.filter {
            standing($0, asked: isAsked) != .refuses || tenants[$0].ownsDomain
        }
        let isOwnedByDead =
            !isAsked && tenants.contains { $0.status == .suspended && $0.ownsDomain }
        if counted.count == 1, !isOwnedByDead { return inside(counted[0], isAsked: isAsked) }
        guard isTrustedAddress else { return .refused("4", .emailUnverified) }
        return Answer(
            rule: "4", outcome: .deferred, reason: .tenantChoiceRequired,
            choices: Set(counted.filter { standing($0, asked: isAsked) != .refuses }))
    }

    private func rank(_ index: Int, _ asked: Bool) -> Int {
        knowledge(index, asked: asked)?.rawValue ?? 9
    }

    /// Rule 8's ways to a second sign-in: a grant, or an issuer that owns the address of an account
    /// whose address was proved.
    func takesAnother(_ index: Int) -> Bool {
        isGranted(index)
            || tenants[index].autoLink && assertedTrust == .owner && tenants[index].row == .active
    }
}
