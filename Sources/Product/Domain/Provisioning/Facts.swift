import Text

/// Everything that storage read and locked for one attempt. The rules read nothing else.
package struct Facts: Sendable {
    package var provider: Provider?
    /// The tenants that the attempt's inputs name.
    package var asked: [AskedTenant] = []
    /// The tenants to consider: those that are requested, that know the address, or that have a
    /// user with the attempt's identity.
    package var tenants: [UUID: TenantFacts] = [:]
    /// The users with the attempt's identity, at most one in each tenant. Deleted users are
    /// included.
    package var known: [KnownIdentity] = []
    /// The users who had the attempt's native user name before the pool gave that name to another
    /// person, with another `sub`.
    package var formerHolders: [KnownIdentity] = []
    /// Names of upstreams that occurred in the pool's events. The configured upstreams count in
    /// addition.
    package var shownUpstreams: [String] = []
    /// The invite that the attempt's token or the reservation names, whatever the invite's status.
    package var invite: InviteFacts?
    /// The join link that the attempt's token or the reservation names, whatever the link's status.
    package var joinLink: JoinLinkFacts?
    /// The link grant that the attempt's token names, even if it is used or expired; `nil` if there
    /// is none.
    package var linkGrant: LinkGrant?
    /// The stored native sign-up under the attempt's user name, if its address is not proved yet;
    /// `nil` if there is none.
    package var reservation: Reservation?
    /// The tenants among which the person may still choose, because an earlier attempt offered
    /// them.
    package var pendingChoices: [UUID] = []
    /// The tenants that the person declined, each with the time.
    package var declined: [UUID: Timestamp] = [:]

    /// Creates facts with only the provider; storage fills in the rest.
    package init(provider: Provider?) { self.provider = provider }
}

/// A user, with only the columns that the rules read.
package struct UserFacts: Sendable, Equatable {
    /// The user's id, unique across tenants.
    package var id: UUID
    /// The user's status. A deleted user blocks the address for `Provisioning.deletedFor` seconds.
    package var status: User.Status
    var role: UserRole
    /// What created the user. A pending user whose source is `.approval` waits until an operator
    /// approves them.
    var source: User.Source
    /// Whether the user has an identity that was proved, or a password that was set after the
    /// address was proved.
    var hasProvedCredential: Bool
    /// Whether the user has a password, identity or session without a proof of the address.
    var hasUnprovedCredential: Bool
    /// Whether the user's address is proved. A sign-in that an operator linked by hand does not
    /// prove it. Nor does an invite whose link was shown instead of mailed.
    package var isAddressProved: Bool
    /// When the user was deleted; `nil` if the user is not deleted.
    package var deletedAt: Timestamp?
    /// Whether the user was found by an earlier address, which may now belong to another person.
    package var isByFormerAddress = false
    /// Whether this is the deleted row of a person who waited for approval and was declined. Such a
    /// person was never a user.
    package var isDeclined: Bool

    /// The defaults describe a member with a proved address and no credential.
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

    /// Whether this is a pending user who waits for an operator's approval.
    var awaitsApproval: Bool { status == .pending && source == .approval }
}

/// A user who already has the attempt's identity, with the stored identity.
package struct KnownIdentity: Sendable {
    package var identityID: UUID
    /// The tenant of the user. One identity has at most one user in each tenant.
    package var tenantID: UUID
    /// The user as stored; it may be a deleted one.
    package var user: UserFacts
    /// Whether only the tenant asserts that the identity belongs to the user. Such an identity
    /// counts only in that tenant.
    var isAssertedByTenant: Bool
    /// Whether the attempt's `sub` is already bound to the identity.
    package var hasThisSub: Bool
    /// Whether an operator linked the identity by hand; otherwise a rule did.
    var isLinkedManually: Bool
    /// A valid invite to the known user's own address; `nil` if there is none. The attempt's
    /// address may be a different one.
    package var invite: InviteFacts?

    /// The defaults describe an identity that a rule linked, without an invite.
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

/// An invite, with the related rows that the rules read.
package struct InviteFacts: Sendable {
    /// Who made the invite; this limits the role that its acceptance gives.
    package enum Inviter: Sendable, Equatable {
        /// A person made the invite. `mayGive` is the widest role that the person may give now; nil
        /// if the person may give none.
        case person(mayGive: UserRole?)
        /// An API key made the invite. The rules do not check whether the key is still valid.
        case key
    }

    /// The invite as stored; it may be expired, used or revoked.
    package var invite: Invite
    /// Who made the invite. If a person made it who may no longer give its role, its acceptance
    /// gives the role `member`.
    package var inviter: Inviter
    /// The user with the invited address who is not deleted; `nil` if there is none.
    package var row: UserFacts?
    package var acceptedBy: IdentityKey?
    /// The user who accepted the invite; `nil` if no one has accepted it.
    package var acceptedUser: UserFacts?
    /// When the invite's mail was last sent; `nil` if never.
    package var sentAt: Timestamp?

    /// The defaults describe an open invite that an API key made.
    package init(
        invite: Invite, inviter: Inviter = .key, row: UserFacts? = nil,
        acceptedBy: IdentityKey? = nil, acceptedUser: UserFacts? = nil, sentAt: Timestamp? = nil
    ) {
        self.sentAt = sentAt
        self.invite = invite
        self.inviter = inviter
        self.row = row
        self.acceptedBy = acceptedBy
        self.acceptedUser = acceptedUser
    }
}

/// An operator's permission, usable once, to add a second identity to a user.
package struct LinkGrant: Sendable, Equatable {
    /// How long a grant is valid, in seconds.
    package static let lifetime: Int64 = 1800

    /// The grant's id, not its token.
    package var id: UUID
    /// The user that gets the second identity.
    package var userID: UUID
    /// When the grant expires: `lifetime` seconds after the operator made it.
    package var expiresAt: Timestamp
    /// When the grant was used; `nil` if it was not. A grant can be used once.
    package var usedAt: Timestamp?

    package init(id: UUID, userID: UUID, expiresAt: Timestamp, usedAt: Timestamp? = nil) {
        self.id = id
        self.userID = userID
        self.expiresAt = expiresAt
        self.usedAt = usedAt
    }

    /// Whether this user can use the grant now: it belongs to the user, and is neither expired nor
    /// used.
    func opens(_ user: UUID, at now: Timestamp) -> Bool {
        userID == user && usedAt == nil && now < expiresAt
    }
}

/// What a native sign-up without a proved address requested. It is stored because later events of
/// the pool carry no token.
package struct Reservation: Sendable, Equatable {
    /// How long a reservation is kept, in seconds.
    package static let lifetime: Int64 = 86_400

    /// The caller that reported the sign-up: a tenant, or the nil id for the platform.
    package var caller: UUID
    /// The tenant that the sign-up requested; `nil` if it named none.
    package var tenantID: UUID?
    /// The invite whose token was sent; `nil` if none was. An invite that was found only by the
    /// address is not stored, because it would later count as if its token had been sent.
    package var inviteID: UUID?
    /// The join link whose token was sent; `nil` if none was.
    package var joinLinkID: UUID?
    /// The pool's `sub` of the user who signed up; `nil` until an event names it.
    var sub: String?

    /// Creates the reservation; `caller` is the nil UUID for the platform.
    package init(
        caller: UUID, tenantID: UUID? = nil, inviteID: UUID? = nil, joinLinkID: UUID? = nil,
        sub: String? = nil
    ) {
        self.caller = caller
        self.tenantID = tenantID
        self.inviteID = inviteID
        self.joinLinkID = joinLinkID
        self.sub = sub
    }

    /// Whether the reservation belongs to another person with the same user name: its `sub` differs
    /// from `other`. False if the `sub` or `other` is nil.
    package func isAnothers(_ other: String?) -> Bool {
        guard let sub, let other else { return false }
        return !sameBytes(sub, other)
    }
}

/// A tenant that an input named.
package struct AskedTenant: Sendable, Equatable {
    /// Which input named the tenant. If inputs name different tenants, the attempt is refused.
    package enum Source: String, Sendable, CaseIterable {
        case provider, client, caller, attempt, metadata, reservation
    }
    package var source: Source
    /// The id of the named tenant; `nil` if it does not exist.
    package var tenantID: UUID?

    /// Creates the value; `tenantID` is nil if the named tenant does not exist.
    package init(_ source: Source, _ tenantID: UUID?) {
        self.source = source
        self.tenantID = tenantID
    }
}

/// A tenant, with the rows that it has for the attempt's address.
package struct TenantFacts: Sendable {
    package var id: UUID
    /// The tenant's status; a suspended or deleted tenant refuses everyone.
    package var status: Tenant.Status
    /// The tenant's policy, read in the same transaction as the rows.
    package var policy: TenantPolicy
    /// The user with the attempt's address who is not deleted; `nil` if there is none.
    package var user: UserFacts?
    /// Of the tenant's invites to the attempt's address, the newest that is neither accepted nor
    /// revoked. It may be expired.
    package var invite: InviteFacts?
    package var deleted: UserFacts?
    /// The tenant's verified domain that covers the attempt's address.
    package var domain: TenantDomain?
    /// Whether the number of people who wait for approval has reached its limit.
    package var isWaitingRoomFull = false
    /// When an operator unlinked the attempt's identity in this tenant and so locked the identity
    /// out; `nil` if the identity is not locked out.
    package var barredSince: Timestamp?
    /// The newest invite to the attempt's address, if that invite is expired or revoked. No rule
    /// reads it: it only explains a refusal.
    package var lapsedInvite: InviteFacts?
    /// The tenant's claim on the address's domain, if the claim is not proved yet.
    package var unprovedDomain: TenantDomain?
    /// A verified domain above the address's domain. Its claim does not include subdomains, so it
    /// does not cover the address.
    package var parentDomain: TenantDomain?

    /// The defaults describe an active tenant that does not know the address.
    package init(
        id: UUID, status: Tenant.Status = .active, policy: TenantPolicy = TenantPolicy(),
        user: UserFacts? = nil, invite: InviteFacts? = nil, deleted: UserFacts? = nil,
        domain: TenantDomain? = nil
    ) {
        self.id = id
        self.status = status
        self.policy = policy
        self.user = user
        self.invite = invite
        self.deleted = deleted
        self.domain = domain
    }
}
