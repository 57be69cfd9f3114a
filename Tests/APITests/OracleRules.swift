import Domain
import Text

// Rule 1, with P7, P9 and P10.
extension Oracle {
    enum Known {
        case answered(Answer)
        case refuses(Answer)
        case unknown
    }

    /// An operator's word makes a prepared row somebody's; a row by an invite needs that invite.
    private func waitsByHand(_ index: Int, asked: Bool) -> Bool {
        let tenant = tenants[index]
        guard tenant.signIn == .byPlatform || asked && tenant.signIn == .byTenant else {
            return false
        }
        switch tenant.row {
        case .byOperator, .byImport: return true
        case .byInvite: return tenant.isInvited
        default: return false
        }
    }

    private func isKnownActive(_ index: Int, asked: Bool) -> Bool {
        let tenant = tenants[index]
        switch tenant.signIn {
        case .ofOther: return true
        case .ofRow, .byPlatform: return tenant.row == .active || tenant.row == .activeUnproved
        case .byTenant:
            return asked && (tenant.row == .active || tenant.row == .activeUnproved)
        default: return false
        }
    }

    private func refusesAsKnown(_ index: Int, asked: Bool) -> Reason? {
        let tenant = tenants[index]
        guard tenant.knownID != nil, asked || tenant.signIn != .byTenant else { return nil }
        if tenant.signIn == .ofOtherSuspended || tenant.row == .suspended { return .userSuspended }
        if isKnownActive(index, asked: asked) || waitsByHand(index, asked: asked) {
            return tenant.status == .suspended ? .tenantSuspended : nil
        }
        let isApproved = tenant.isInvited && state.address == .there
        return tenant.row == .awaits && !isApproved ? .approvalPending : nil
    }

    func known(_ asked: Int?) -> Known {
        let all = asked.map { [$0] } ?? tenants.indices.filter { tenants[$0].status != .deleted }
        let open = all.filter { tenants[$0].status == .active }
        let active = open.filter { isKnownActive($0, asked: asked != nil) }
        if active.count > 1 {
            return .answered(
                Answer(
                    outcome: .existing, reason: .tenantChoiceRequired, tenant: nil,
                    choices: Set(active).union(openElsewhere(asked, than: nil))))
        }
        if let index = active.first { return .answered(existing(index, asked)) }
        let waiting = open.filter { waitsByHand($0, asked: asked != nil) }
        if waiting.count > 1 {
            return .answered(
                Answer(
                    outcome: .deferred, reason: .tenantChoiceRequired, tenant: nil,
                    choices: Set(waiting)))
        }
        if let index = waiting.first {
            return .answered(
                Answer(
                    outcome: .linked, reason: nil, tenant: index,
                    change: .activated(tenants[index].rowRole),
                    acceptsInvite: tenants[index].isInvited))
        }
        for reason in [Reason.userSuspended, .tenantSuspended, .approvalPending] {
            let refusing = all.sorted { tenants[$0].id < tenants[$1].id }.first {
                refusesAsKnown($0, asked: asked != nil) == reason
            }
            if let refusing { return .refuses(.refused(reason, refusing)) }
        }
        return .unknown
    }

    private func existing(_ index: Int, _ asked: Int?) -> Answer {
        // A live invite to that user's own address is marked accepted.
        let accepts = tenants[index].isInvited && tenants[index].signIn != .ofOther
        return Answer(
            outcome: .existing, reason: nil, tenant: index,
            choices: openElsewhere(asked, than: index), acceptsInvite: accepts)
    }

    /// P7: live invites and further rows of the person that are open elsewhere.
    private func openElsewhere(_ asked: Int?, than here: Int?) -> Set<Int> {
        guard asked == nil, state.address == .there, !state.isNative, isVouched(trusted) else {
            return []
        }
        return Set(
            tenants.indices.filter { index in
                guard index != here, tenants[index].status == .active else { return false }
                switch knowledge(index, asked: false) {
                case .invite, .row: return standing(index, asked: false) == .admits
                default: return false
                }
            })
    }
}

// Rule 4, with P6.
extension Oracle {
    /// In the rule's order.
    enum Knowledge: Int {
        case suspended, invite, row, active, awaits, deleted, domain, open
    }

    enum Standing { case admits, linkable, refuses }

    func knowledge(_ index: Int, asked: Bool) -> Knowledge? {
        let tenant = tenants[index]
        if tenant.row == .suspended { return .suspended }
        if tenant.isInvited { return .invite }
        switch tenant.row {
        case .byOperator, .byImport: return .row
        case .active, .activeUnproved: return .active
        case .awaits: return .awaits
        case .deletedLately: return .deleted
        case .none, .byInvite, .suspended, .deletedLongAgo: break
        }
        if tenant.claim == .verified { return .domain }
        return asked && tenant.signUp == .open ? .open : nil
    }

    private func isFiltered(_ tenant: OracleTenant) -> Bool { tenant.filter == .elsewhere }

    func standing(_ index: Int, asked: Bool) -> Standing {
        let tenant = tenants[index]
        if refusesAsKnown(index, asked: true) != nil { return .refuses }
        if isKnownActive(index, asked: true) { return .admits }
        if tenant.isBarred { return .refuses }
        let takes: Standing =
            tenant.autoLink && trusted == .owner && !state.isNative && tenant.row == .active
            ? .admits : .linkable
        switch knowledge(index, asked: asked) {
        case nil, .suspended, .awaits, .deleted: return .refuses
        case .invite:
            if tenant.signUp == .closed || isFiltered(tenant) && !tenant.externalInvites {
                return .refuses
            }
            let isActive = tenant.row == .active || tenant.row == .activeUnproved
            return isActive ? takes : .admits
        case .row: return tenant.signUp == .closed ? .refuses : .admits
        case .active: return takes
        case .domain:
            let isShut = tenant.signUp == .closed || tenant.signUp == .inviteOnly
            return isShut || isFiltered(tenant) ? .refuses : .admits
        case .open: return isFiltered(tenant) ? .refuses : .admits
        }
    }

    func place(_ asked: Int?, _ held: Answer?) -> Answer {
        let isAsked = asked != nil
        let pool = asked.map { [$0] } ?? tenants.indices.filter { tenants[$0].status == .active }
        let found = pool.filter { knowledge($0, asked: isAsked) != nil }
            .sorted { tenants[$0].id < tenants[$1].id }
        let isAdmitted = found.contains { standing($0, asked: isAsked) == .admits }
        if let held, !isAdmitted || !isVouched(trusted) { return held }
        guard !found.isEmpty else { return .refused(.noTenant, asked) }
        guard isAdmitted else {
            let first = found.min { rank($0, isAsked) < rank($1, isAsked) } ?? found[0]
            return inside(first, isAsked: isAsked)
        }
        let counted = found.filter {
            standing($0, asked: isAsked) != .refuses || tenants[$0].claim == .verified
        }
        let isOwnedByDead =
            !isAsked
            && tenants.contains { $0.status == .suspended && $0.claim == .verified }
        if counted.count == 1, !isOwnedByDead { return inside(counted[0], isAsked: isAsked) }
        guard isVouched(trusted) else { return .refused(.emailUnverified) }
        return Answer(
            outcome: .deferred, reason: .tenantChoiceRequired, tenant: nil,
            choices: Set(counted.filter { standing($0, asked: isAsked) != .refuses }))
    }

    private func rank(_ index: Int, _ asked: Bool) -> Int {
        knowledge(index, asked: asked)?.rawValue ?? 9
    }
}

// Rules 4 (one tenant) to 10.
extension Oracle {
    private func inside(_ index: Int, isAsked: Bool) -> Answer {
        let tenant = tenants[index]
        // A tenant's own word counts where the tenant was found by the address.
        if !isAsked, tenant.signIn == .byTenant {
            if tenant.row == .active || tenant.row == .activeUnproved {
                return Answer(
                    outcome: .existing, reason: nil, tenant: index,
                    choices: openElsewhere(nil, than: index), acceptsInvite: tenant.isInvited)
            }
        }
        let known = knowledge(index, asked: isAsked)
        switch known {
        case .suspended: return .refused(.userSuspended, index)
        case .awaits: return .refused(.approvalPending, index)
        case .deleted: return .refused(.userDeleted, index)
        default: break
        }
        guard isVouched(trusted) else { return .refused(.emailUnverified, index) }
        if tenant.isBarred { return .refused(.identityLinkRequired, index) }
        switch known {
        case .invite: return byInvite(index, isAsked)
        case .row:
            if tenant.signUp == .closed { return .refused(.notInvited, index) }
            return Answer(
                outcome: .linked, reason: nil, tenant: index, change: .activated(tenant.rowRole))
        case .active: return byActive(index)
        default: return byDomain(index, isAsked)
        }
    }

    private func byInvite(_ index: Int, _ isAsked: Bool) -> Answer {
        let tenant = tenants[index]
        if tenant.signUp == .closed { return .refused(.notInvited, index) }
        if isFiltered(tenant), !tenant.externalInvites { return .refused(.notInvited, index) }
        switch tenant.row {
        case .active, .activeUnproved: return byActive(index)
        case .byOperator, .byImport, .byInvite, .awaits:
            return Answer(
                outcome: .linked, reason: nil, tenant: index,
                change: .activated(tenant.invitedRole), acceptsInvite: true)
        default:
            return Answer(
                outcome: .created, reason: nil, tenant: index,
                change: .created(tenant.invitedRole, waits: false), acceptsInvite: true)
        }
    }

    private func byActive(_ index: Int) -> Answer {
        let tenant = tenants[index]
        let isOwner = trusted == .owner && !state.isNative
        guard tenant.autoLink, isOwner, tenant.row == .active else {
            return .refused(.identityLinkRequired, index)
        }
        return Answer(
            outcome: .linked, reason: nil, tenant: index, change: .joined,
            acceptsInvite: tenant.isInvited)
    }

    private func byDomain(_ index: Int, _ isAsked: Bool) -> Answer {
        let tenant = tenants[index]
        if tenant.claim == .verified {
            switch tenant.signUp {
            case .closed, .inviteOnly: return .refused(.notInvited, index)
            case .domain, .open, .approval: break
            }
            if isFiltered(tenant) { return .refused(.notInvited, index) }
            if trusted == .owner {
                return Answer(
                    outcome: .created, reason: nil, tenant: index,
                    change: .created(tenant.defaultRole, waits: tenant.signUp == .approval))
            }
            if !(isAsked && tenant.signUp == .open) { return .refused(.emailUnverified, index) }
        }
        guard isAsked, tenant.signUp == .open, !isFiltered(tenant) else {
            return .refused(.notInvited, index)
        }
        return Answer(
            outcome: .created, reason: nil, tenant: index,
            change: .created(tenant.defaultRole, waits: false))
    }
}
