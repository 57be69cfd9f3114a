import Domain
import Text

// Rule 1, with P7 and P9.
extension Oracle {
    enum Known {
        case answered(Answer)
        case refuses(Answer)
        case unknown
    }

    /// An operator's word gives a prepared row its person; a row by an invite needs that invite.
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

    func isKnownActive(_ index: Int, asked: Bool) -> Bool {
        let tenant = tenants[index]
        switch tenant.signIn {
        case .ofOther: return true
        case .ofRow, .byPlatform: return tenant.row.isActive
        case .byTenant: return asked && tenant.row.isActive
        default: return false
        }
    }

    func refusesAsKnown(_ index: Int, asked: Bool) -> Reason? {
        let tenant = tenants[index]
        switch tenant.signIn {
        case .none, .barredBefore, .barredAfter, .ofOtherDeleted: return nil
        case .ofOtherSuspended: return .userSuspended
        case .byTenant where !asked: return nil
        case .ofRow, .byPlatform, .byTenant, .ofOther: break
        }
        if tenant.signIn != .ofOther, tenant.row == .suspended { return .userSuspended }
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
                    rule: "1", outcome: .existing, reason: .tenantChoiceRequired,
                    choices: Set(active).union(openElsewhere(asked, than: nil))))
        }
        if let index = active.first { return .answered(existing(index, asked)) }
        let waiting = open.filter { waitsByHand($0, asked: asked != nil) }
        if waiting.count > 1 {
            return .answered(
                Answer(
                    rule: "1", outcome: .deferred, reason: .tenantChoiceRequired,
                    choices: Set(waiting)))
        }
        if let index = waiting.first {
            return .answered(
                Answer(
                    rule: "1", outcome: .linked, tenant: index, user: .row,
                    choices: openElsewhere(asked, than: index),
                    change: .activated(tenants[index].rowRole, byHand: true),
                    acceptsInvite: tenants[index].isInvited))
        }
        for reason in [Reason.userSuspended, .tenantSuspended, .approvalPending] {
            let refusing = all.sorted { tenants[$0].id < tenants[$1].id }.first {
                refusesAsKnown($0, asked: asked != nil) == reason
            }
            if let refusing { return .refuses(.refused("1", reason, refusing)) }
        }
        return .unknown
    }

    func existing(_ index: Int, _ asked: Int?) -> Answer {
        // A live invite to that user's own address is marked accepted.
        let isOther = tenants[index].signIn == .ofOther
        return Answer(
            rule: "1", outcome: .existing, tenant: index, user: isOther ? .other : .row,
            choices: openElsewhere(asked, than: index),
            acceptsInvite: tenants[index].isInvited && !isOther)
    }

    /// P7: live invites and further rows of the person that are open elsewhere.
    private func openElsewhere(_ asked: Int?, than here: Int?) -> Set<Int> {
        guard asked == nil, state.address == .there, assertedTrust > .no else { return [] }
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
