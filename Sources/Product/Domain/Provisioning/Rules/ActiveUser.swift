extension Evaluation {
    /// Rule 8: an active user with another identity. A second sign-in needs proof of both accounts.
    mutating func activeUser(_ tenant: TenantFacts) -> Verdict? {
        guard let user = tenant.user, user.status == .active else {
            note(.activeUser, "no active user", "")
            return nil
        }
        var also: [Effect] = []
        if let invite, !otherAddress {
            also.append(.markInviteAccepted(invite: invite.invite.id, user: user.id))
        }
        let accepted = otherAddress ? nil : invite?.invite.id
        if let grant = facts.linkGrant, grant.opens(user.id, at: now) {
            return attach(
                .activeUser, tenant, user, nil, invite: accepted,
                also: also + [.consumeLinkGrant(grant: grant.id)])
        }
        if mayTakeAnother(user, in: tenant) {
            return attach(.activeUser, tenant, user, nil, invite: accepted, also: also)
        }
        let about = [TraceReference.user(user.id, of: tenant.id)]
        if !user.isAddressProved {
            note(.activeUser, TraceEntry.addressUnproved, "\(user.id)", about: about)
        }
        return refuse(.activeUser, .identityLinkRequired, "\(user.id)", user: user.id, about: about)
    }

    /// Whether the account may get another sign-in: with a grant, or from an issuer that owns the
    /// address. If the account's address was never proved, or was given up, its user may be another
    /// person than the owner of the address.
    func mayTakeAnother(_ user: UserFacts, in tenant: TenantFacts) -> Bool {
        if let grant = facts.linkGrant, grant.opens(user.id, at: now) { return true }
        return tenant.policy.autoLink == .authoritative && addressTrust == .authoritative
            && user.isAddressProved && !user.isByFormerAddress
    }
}
