import Text

extension Evaluation {
    /// Resolves the tenant that the inputs name. Refuses if they name different tenants, so that no
    /// input can request one tenant while another is checked.
    mutating func resolveAskedTenant() -> Verdict? {
        var named = facts.asked
        if let id = facts.provider?.tenantID, !named.contains(where: { $0.source == .provider }) {
            named.append(AskedTenant(.provider, id))
        }
        if let client = attempt.clientID, let id = facts.provider?.clientTenant(client),
            !named.contains(where: { $0.source == .client })
        {
            named.append(AskedTenant(.client, id))
        }
        if let id = facts.reservation?.tenantID { named.append(AskedTenant(.reservation, id)) }
        if carriesInvite, let id = facts.invite?.invite.tenantID {
            named.append(AskedTenant(.attempt, id))
        }
        if carriesJoin, let id = facts.joinLink?.link.tenantID {
            named.append(AskedTenant(.attempt, id))
        }
        guard let first = named.first else {
            note(.askedTenant, "none asked", "")
            return nil
        }
        guard named.allSatisfy({ $0.tenantID == first.tenantID }) else {
            askedIsSound = false
            return refuse(
                .askedTenant, .noTenant, "two tenants were named",
                about: named.compactMap { $0.tenantID.map { .tenant($0) } })
        }
        guard let id = first.tenantID, let tenant = facts.tenants[id] else {
            askedIsSound = false
            return refuse(.askedTenant, .noTenant, "no such tenant")
        }
        asked = tenant
        switch tenant.status {
        case .active: break
        case .suspended:
            return refuse(.askedTenant, .tenantSuspended, id.description, about: [.tenant(id)])
        case .deleted:
            return refuse(.askedTenant, .tenantDeleted, id.description, about: [.tenant(id)])
        }
        note(.askedTenant, "asked", id.description, about: [.tenant(id)])
        return nil
    }

    /// Whether the attempt has an invite's token, or its reservation names an invite.
    var carriesInvite: Bool { attempt.hasInviteToken || facts.reservation?.inviteID != nil }

    /// Whether the attempt has a join link's token, or its reservation names a join link.
    var carriesJoin: Bool { attempt.hasJoinToken || facts.reservation?.joinLinkID != nil }
}
