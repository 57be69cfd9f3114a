import Text

/// The rows that storage read and locked for one attempt. The rules read nothing else.
package struct Facts: Sendable {
    package var provider: Provider?
    /// Every tenant that an input names.
    package var asked: [AskedTenant] = []
    /// Every tenant that is requested, knows the address, or has a user of this identity.
    package var tenants: [UUID: TenantFacts] = [:]
    /// The users of this identity, at most one in each tenant, including deleted ones.
    package var known: [KnownIdentity] = []
    /// Users who had this native user name before the pool gave it to another `sub`.
    package var formerHolders: [KnownIdentity] = []
    /// Upstreams of the pool that were seen in events, in addition to the listed ones.
    package var shownUpstreams: [String] = []
    /// The invite that the token (or the reservation) names, whatever its status.
    package var invite: InviteFacts?
    /// The join link that the token (or the reservation) names, whatever its status.
    package var joinLink: JoinLinkFacts?
    /// The link grant of the attempt's token, even if used or expired; `nil` if there is none.
    package var linkGrant: LinkGrant?
    /// A native sign-up that waits for the proof of its address.
    package var reservation: Reservation?
    /// Tenants that this identity may still choose.
    package var pendingChoices: [UUID] = []
    /// The choices that the person declined, with the time.
    package var declined: [UUID: Timestamp] = [:]

    /// Everything except the provider starts empty; storage fills it in.
    package init(provider: Provider?) { self.provider = provider }
}

/// The columns of a user that the rules read.
package struct UserFacts: Sendable, Equatable {
    /// The user's id, unique across tenants.
    package var id: UUID
    /// A deleted user blocks its address for `Provisioning.deletedFor` seconds.
    package var status: User.Status
    package var role: UserRole
    /// What created the row; a pending row with `.approval` waits for an operator.
    package var source: User.Source
    /// Whether there is a proved identity, or a password that was set after the proof.
    package var hasProvedCredential: Bool
    /// Whether there is a password, identity or session without proof of the address.
    package var hasUnprovedCredential: Bool
    /// Whether the row's address is proved. It is not after an operator's link by hand, nor after
    /// an acceptance through a link that was shown.
    package var isAddressProved: Bool
    /// `nil` unless the user is deleted.
    package var deletedAt: Timestamp?
    /// Whether the user was found by an earlier address, which may now belong to another person.
    package var isByFormerAddress = false
    /// Whether the deleted row's person waited for approval and was declined, and so was never a
    /// user.
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

    /// Whether it is a pending user that only an operator's approval activates.
    package var awaitsApproval: Bool { status == .pending && source == .approval }
}

/// A row of this identity and its user.
package struct KnownIdentity: Sendable {
    package var identityID: UUID
    /// The tenant of the user. One identity has at most one user in each tenant.
    package var tenantID: UUID
    /// The user as stored, who may be deleted.
    package var user: UserFacts
    /// Whether only the tenant asserts that the identity is that user's, so that it counts only in
    /// that tenant.
    package var isAssertedByTenant: Bool
    /// Whether the attempt's `sub` is already bound to the identity.
    package var hasThisSub: Bool
    /// Whether an operator linked it by hand, not a rule.
    package var isLinkedManually: Bool
    /// A live invite to that user's own address, which may differ from the attempt's.
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

/// An invite with related rows.
package struct InviteFacts: Sendable {
    /// Limits the role that an accepted invite gives.
    package enum Inviter: Sendable, Equatable {
        /// The widest role that this person may currently give; nil if they may give none.
        case person(mayGive: UserRole?)
        /// A later revocation of the key does not affect an invite that was sent.
        case key
    }

    /// The invite as stored; it may be expired, used or revoked.
    package var invite: Invite
    /// Compared with the invite's role when it is accepted.
    package var inviter: Inviter
    /// The user at the invited address who is not deleted.
    package var row: UserFacts?
    package var acceptedBy: IdentityKey?
    /// The user that the acceptance led to; `nil` before acceptance.
    package var acceptedUser: UserFacts?
    /// When its mail was last sent.
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

/// An operator's one-time permission to add a second identity to a user.
package struct LinkGrant: Sendable, Equatable {
    /// In seconds.
    package static let lifetime: Int64 = 1800

    /// The grant's id, not its token.
    package var id: UUID
    /// The user that gets the second identity.
    package var userID: UUID
    /// The expiry, `lifetime` seconds after the operator granted it.
    package var expiresAt: Timestamp
    /// `nil` if it has not been used; a grant works once.
    package var usedAt: Timestamp?

    package init(id: UUID, userID: UUID, expiresAt: Timestamp, usedAt: Timestamp? = nil) {
        self.id = id
        self.userID = userID
        self.expiresAt = expiresAt
        self.usedAt = usedAt
    }

    /// Whether the grant can be used for this user: it is theirs, not expired and not used.
    package func opens(_ user: UUID, at now: Timestamp) -> Bool {
        userID == user && usedAt == nil && now < expiresAt
    }
}

/// What an unproved native sign-up requested, since later events carry no token.
package struct Reservation: Sendable, Equatable {
    /// In seconds.
    package static let lifetime: Int64 = 86_400

    /// The caller that reported the sign-up: a tenant, or the nil id for the platform.
    package var caller: UUID
    /// The tenant that the sign-up requested; `nil` if it named none.
    package var tenantID: UUID?
    /// The invite whose token was sent. An invite found only by the address is not stored: it would
    /// later count as a token for another address.
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

    /// Whether it is bound to another `sub`, which is another person with the same name.
    package func isAnothers(_ other: String?) -> Bool {
        guard let sub, let other else { return false }
        return !sameBytes(sub, other)
    }
}

/// A tenant that an input named.
package struct AskedTenant: Sendable, Equatable {
    /// Which input named the tenant. If the sources contradict each other, the attempt is refused.
    package enum Source: String, Sendable, CaseIterable {
        case provider, client, caller, attempt, metadata, reservation
    }
    package var source: Source
    /// `nil` if the named tenant does not exist.
    package var tenantID: UUID?

    /// `tenantID` is nil if the named tenant does not exist.
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
    /// Whether the limit of people who wait for approval is reached.
    package var isWaitingRoomFull = false
    /// When an operator unlinked the attempt's identity here; `nil` if it is not barred.
    package var barredSince: Timestamp?
    /// The newest invite to this address, if expired or revoked. Like the two domains below it only
    /// explains a refusal; no rule reads it.
    package var lapsedInvite: InviteFacts?
    /// A claim on the address's domain that is not proved.
    package var unprovedDomain: TenantDomain?
    /// A verified domain above the address's that does not include subdomains.
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
