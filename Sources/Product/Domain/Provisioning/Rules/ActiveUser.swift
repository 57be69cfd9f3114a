extension Evaluation {
    /// Rule 8: the address belongs to an active user with another identity. This sign-in is added
    /// to the user only if `mayTakeAnother` permits it.
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

    /// Whether this sign-in may be added to the account. A link grant permits it. Without a grant,
    /// it is permitted only if the policy has `auto_link`, the issuer owns the address's domain,
    /// and the account's address is proved and current. An account with an unproved or former
    /// address may belong to another person.
    func mayTakeAnother(_ user: UserFacts, in tenant: TenantFacts) -> Bool {
        if let grant = facts.linkGrant, grant.opens(user.id, at: now) { return true }
        return tenant.policy.autoLink == .authoritative && addressTrust == .authoritative
            && user.isAddressProved && !user.isByFormerAddress
    }
}
