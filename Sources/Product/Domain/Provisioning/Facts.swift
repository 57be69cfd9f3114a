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

/// An invite with related rows.
package struct InviteFacts: Sendable {
    /// Limits the role that an accepted invite gives.
    package enum Inviter: Sendable, Equatable {
        /// The widest role that this person may give now; nil: none.
        case person(mayGive: UserRole?)
        /// A later revocation of the key does not change a sent invite.
        case key
    }

    /// As stored: may be expired, used or revoked.
    package var invite: Invite
    /// Compared with the invite's role when it is accepted.
    package var inviter: Inviter
    /// The user at the invited address who is not deleted.
    package var row: UserFacts?
    package var acceptedBy: IdentityKey?
    /// The user that the acceptance led to; nil before acceptance.
    package var acceptedUser: UserFacts?
    /// When its mail was last sent.
    package var sentAt: Timestamp?

    /// Defaults describe an open invite that an API key made.
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

/// An operator's one-time permission to add a second identity to a user.
package struct LinkGrant: Sendable, Equatable {
    /// Seconds.
    package static let lifetime: Int64 = 1800

    /// The grant's id, not its token.
    package var id: UUID
    /// The user that gets the second identity.
    package var userID: UUID
    /// `lifetime` seconds after the operator granted it.
    package var expiresAt: Timestamp
    /// nil: not used yet; a grant works once.
    package var usedAt: Timestamp?

    package init(id: UUID, userID: UUID, expiresAt: Timestamp, usedAt: Timestamp? = nil) {
        self.id = id
        self.userID = userID
        self.expiresAt = expiresAt
        self.usedAt = usedAt
    }

    /// True for the granted user, before the expiry, if not used yet.
    package func opens(_ user: UUID, at now: Timestamp) -> Bool {
        userID == user && usedAt == nil && now < expiresAt
    }
}

/// What an unproved native sign-up asked for: later events carry no token.
package struct Reservation: Sendable, Equatable {
    /// Seconds.
    package static let lifetime: Int64 = 86_400

    /// The caller that reported the sign-up: a tenant, or the nil id for the platform.
    package var caller: UUID
    /// The tenant that the sign-up asked for; nil: it named none.
    package var tenantID: UUID?
    /// Only an invite whose token was sent: one found by the address alone would later count as a
    /// token for another address.
    package var inviteID: UUID?
    /// The join link whose token was sent.
    package var joinLinkID: UUID?
    /// The pool's `sub` of the user who signed up, once an event has named it.
    package var sub: String?

    /// `caller` is the nil UUID for the platform.
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

    /// True if bound to another `sub`: another person with the same name.
    package func isAnothers(_ other: String?) -> Bool {
        guard let sub, let other else { return false }
        return !sameBytes(sub, other)
    }
}

/// A tenant that an input named.
package struct AskedTenant: Sendable, Equatable {
    /// Which input named the tenant; contradicting sources refuse the attempt.
    package enum Source: String, Sendable, CaseIterable {
        case provider, client, caller, attempt, metadata, reservation
    }
    package var source: Source
    /// nil: the named tenant does not exist.
    package var tenantID: UUID?

    /// `tenantID` nil: the named tenant does not exist.
    package init(_ source: Source, _ tenantID: UUID?) {
        self.source = source
        self.tenantID = tenantID
    }
}

/// The rows of one tenant about the attempt's address.
package struct TenantFacts: Sendable {
    package var id: UUID
    /// A suspended or deleted tenant refuses.
    package var status: Tenant.Status
    /// Read in the same transaction as the rows.
    package var policy: TenantPolicy
    /// The user at this address who is not deleted.
    package var user: UserFacts?
    /// The newest invite to this address that is neither accepted nor revoked.
    package var invite: InviteFacts?
    package var deleted: UserFacts?
    /// The verified domain that covers the address.
    package var domain: TenantDomain?
    /// As many people wait for approval as may.
    package var isWaitingRoomFull = false
    /// When an operator unlinked the attempt's identity here; nil: not barred.
    package var barredSince: Timestamp?
    /// The newest invite to this address that is expired or revoked. Like the two domains below it
    /// only explains a refusal; no rule reads it.
    package var lapsedInvite: InviteFacts?
    /// A claim on the address's domain without proof.
    package var unprovedDomain: TenantDomain?
    /// A verified parent domain of the address's that does not include subdomains.
    package var parentDomain: TenantDomain?

    /// Defaults describe an active tenant that does not know the address.
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
