import Text

/// The rows that storage read and locked for one attempt. The rules read nothing else.
package struct Facts: Sendable {
    package var provider: Provider?
    /// Every tenant that an input named.
    package var asked: [AskedTenant] = []
    /// Every tenant that is asked for, knows the address, or has a user of this identity.
    package var tenants: [UUID: TenantFacts] = [:]
    /// The users of this identity, at most one in each tenant, deleted ones included.
    package var known: [KnownIdentity] = []
    /// Users who had this native user name before the pool gave it to another `sub`.
    package var formerHolders: [KnownIdentity] = []
    /// Upstreams of the pool seen in events, besides the listed ones.
    package var shownUpstreams: [String] = []
    /// The invite that the token (or the reservation) names, whatever its status.
    package var invite: InviteFacts?
    /// The join link that the token (or the reservation) names, whatever its status.
    package var joinLink: JoinLinkFacts?
    /// Of the attempt's token, used and expired ones included; nil if none came.
    package var linkGrant: LinkGrant?
    /// A native sign-up that waits for the proof of its address.
    package var reservation: Reservation?
    /// Tenants that this identity may still choose.
    package var pendingChoices: [UUID] = []
    /// When the person declined which choice.
    package var declined: [UUID: Timestamp] = [:]

    /// Everything but the provider starts empty; storage fills it in.
    package init(provider: Provider?) { self.provider = provider }
}

/// The columns of a user that the rules read.
package struct UserFacts: Sendable, Equatable {
    /// The user's id, unique across tenants.
    package var id: UUID
    /// A deleted user blocks its address for `Provisioning.deletedFor` seconds.
    package var status: User.Status
    package var role: UserRole
    /// What made the row; a pending row of `.approval` waits for an operator.
    package var source: User.Source
    /// A proved identity, or a password that was set after the proof.
    package var hasProvedCredential: Bool
    /// A password, identity or session without proof of the address.
    package var hasUnprovedCredential: Bool
    /// The row's address is proved: false after an operator's link by hand, and after an acceptance
    /// by a link that was shown.
    package var isAddressProved: Bool
    /// nil unless the user is deleted.
    package var deletedAt: Timestamp?
    /// Found by an address that it had before: who has that address now may be another person.
    package var isByFormerAddress = false
    /// A deleted row whose person waited for approval and was declined: never a user.
    package var isDeclined: Bool

    /// Defaults describe a member with a proved address and no credential.
    package init(
        id: UUID, status: User.Status, role: UserRole = .member, source: User.Source,
        hasProvedCredential: Bool = false, hasUnprovedCredential: Bool = false,
        isAddressProved: Bool = true, deletedAt: Timestamp? = nil, isDeclined: Bool = false
    ) {
        self.id = id
        self.status = status
        self.role = role
        self.source = source
        self.hasProvedCredential = hasProvedCredential
        self.hasUnprovedCredential = hasUnprovedCredential
        self.isAddressProved = isAddressProved
        self.deletedAt = deletedAt
        self.isDeclined = isDeclined
    }

    /// True for a pending user that only an operator's approval activates.
    package var awaitsApproval: Bool { status == .pending && source == .approval }
}

/// A row of this identity and its user.
package struct KnownIdentity: Sendable {
    package var identityID: UUID
    /// The tenant of the user; one identity has at most one user in each.
    package var tenantID: UUID
    /// The user as stored, deleted ones included.
    package var user: UserFacts
    /// Only the tenant asserts that the identity is that user's, so it counts in that tenant alone.
    package var isAssertedByTenant: Bool
    /// The attempt's `sub` is already bound to the identity.
    package var hasThisSub: Bool
    /// An operator linked it by hand, no rule did.
    package var isLinkedManually: Bool
    /// A live invite to that user's own address, which may differ from the attempt's.
    package var invite: InviteFacts?

    /// Defaults describe an identity that a rule linked, without invite.
    package init(
        identityID: UUID, tenantID: UUID, user: UserFacts, isAssertedByTenant: Bool = false,
        hasThisSub: Bool = false, isLinkedManually: Bool = false, invite: InviteFacts? = nil
    ) {
        self.identityID = identityID
        self.tenantID = tenantID
        self.user = user
        self.isAssertedByTenant = isAssertedByTenant
        self.hasThisSub = hasThisSub
        self.isLinkedManually = isLinkedManually
        self.invite = invite
    }
}
