import Text

extension Evaluation {
    /// Returns a success that links the identity to an existing user. Credentials without a proof
    /// of the address are removed first, against account pre-hijacking.
    mutating func attach(
        _ rule: Rule, _ tenant: TenantFacts, _ row: UserFacts, _ change: Effect?,
        invite: UUID? = nil, also: [Effect] = [], outcome: Outcome = .linked
    ) -> Verdict {
        let mine = facts.known.first { $0.tenantID == tenant.id && $0.user.status != .deleted }
        if let mine, mine.user.id != row.id { return conflict(rule, mine) }
        var effects = tombstones(tenant)
        // An active user's own credentials stay; a link grant only adds one.
        let wipes = row.hasUnprovedCredential && row.status != .active
        if wipes { effects.append(.wipeUnverifiedCredentials(user: row.id)) }
        if let change { effects.append(change) }
        // The wipe unlinks the user's identities, except those that an operator linked by hand.
        let isLinked = mine.map { !wipes || $0.isLinkedManually } ?? false
        if !isLinked { effects.append(.linkIdentity(user: row.id)) }
        return succeed(
            rule, isLinked && change == nil ? .existing : outcome, tenant: tenant, user: row.id,
            invite: invite,
            effects: effects + also)
    }

    /// Returns a success that creates a user with this address. If the tenant already has a user
    /// with the address, whom no earlier rule admitted, that user is removed or taken over.
    mutating func create(
        _ rule: Rule, _ tenant: TenantFacts, role: UserRole, source: User.Source,
        status: User.Status, invite: UUID? = nil, also: [Effect] = []
    ) -> Verdict {
        var effects = tombstones(tenant)
        if let row = tenant.user {
            guard row.source == .invite, !row.hasUnprovedCredential, !row.hasProvedCredential else {
                let change: Effect =
                    status == .active
                    ? .activateUser(user: row.id, role: role)
                    : .awaitApproval(user: row.id, role: role)
                return attach(
                    rule, tenant, row, change, invite: invite, also: also,
                    outcome: status == .active ? .linked : .created)
            }
            effects.append(.removeUnreachableRow(user: row.id))
        }
        // The removal above also removes that user's identities, so only an identity of another
        // user is a conflict.
        if let mine = facts.known.first(where: {
            $0.tenantID == tenant.id && $0.user.status != .deleted
                && $0.user.id != tenant.user?.id
        }) {
            return conflict(rule, mine)
        }
        effects.append(.createUser(status: status, role: role, source: source))
        effects.append(.linkIdentity(user: nil))
        return succeed(
            rule, .created, tenant: tenant, user: nil, invite: invite, effects: effects + also)
    }

    private mutating func conflict(_ rule: Rule, _ mine: KnownIdentity) -> Verdict {
        refuse(
            rule, .identityConflict, "\(mine.user.id)", user: mine.user.id,
            about: [.user(mine.user.id, of: mine.tenantID)])
    }

    /// Returns the effects that unlink the identities of deleted users, and of the person who had
    /// this user name before.
    private func tombstones(_ tenant: TenantFacts) -> [Effect] {
        let deleted = facts.known.filter { $0.user.status == .deleted }
        return (deleted + facts.formerHolders).filter { $0.tenantID == tenant.id }
            .map { .tombstoneIdentity(identity: $0.identityID) }
    }
}
