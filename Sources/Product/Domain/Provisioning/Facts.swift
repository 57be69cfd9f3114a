import Text

/// What storage read and locked for one attempt. The rules look at nothing else.
package struct Facts: Sendable {
    /// nil: nobody registered it.
    package var provider: Provider?
    /// Every tenant that was named, by whom.
    package var asked: [AskedTenant] = []
    /// Every tenant that is asked for, knows the address, or holds a user of this identity.
    package var tenants: [UUID: TenantFacts] = [:]
    /// The users of this identity, one a tenant at most, deleted ones included.
    package var known: [KnownIdentity] = []
    /// Users of a pool's native name that is somebody else's by now: the pool gave another `sub`
    /// under it.
    package var formerHolders: [KnownIdentity] = []
    /// Upstreams of the pool that events have shown, beside those that it lists.
    package var shownUpstreams: [String] = []
    /// The invite that the token (or the reservation) names, live or not.
    package var invite: InviteFacts?
    /// Of the attempt's token, used and expired ones included; nil if none came.
    package var linkGrant: LinkGrant?
    /// What a native sign-up kept back until its address is proved.
    package var reservation: Reservation?
    /// Tenants among which this identity may still choose.
    package var pendingChoices: [UUID] = []
    /// Choices that the person declined, and when.
    package var declined: [UUID: Timestamp] = [:]

    /// Everything but the provider starts empty; storage fills it in.
    package init(provider: Provider?) { self.provider = provider }
}

/// A tenant that somebody named; `tenantID` is nil when there is no such tenant.
package struct AskedTenant: Sendable, Equatable {
    /// Which input named the tenant; contradicting sources refuse the attempt.
    package enum Source: String, Sendable, CaseIterable {
        case provider, client, caller, attempt, metadata, reservation
    }
    /// Shown in the trace.
    package var source: Source
    /// nil: the named tenant does not exist.
    package var tenantID: UUID?

    /// `tenantID` nil: the named tenant does not exist.
    package init(_ source: Source, _ tenantID: UUID?) {
        self.source = source
        self.tenantID = tenantID
    }
}

/// What one tenant knows about the attempt's address.
package struct TenantFacts: Sendable {
    /// The tenant's id.
    package var id: UUID
    /// A suspended or deleted tenant refuses.
    package var status: Tenant.Status
    /// Read in the same transaction as the rows.
    package var policy: TenantPolicy
    /// The one live row at this address.
    package var user: UserFacts?
    /// The newest invite to this address that is neither accepted nor revoked.
    package var invite: InviteFacts?
    /// A row deleted at this address.
    package var deleted: UserFacts?
    /// The verified domain that covers the address.
    package var domain: TenantDomain?
    /// When an operator unlinked the attempt's identity here; it stays out from then on.
    package var barredSince: Timestamp?
    /// The newest invite to this address that is expired or revoked; like the two domains below read
    /// only to explain a refusal, no rule looks at them.
    package var lapsedInvite: InviteFacts?
    /// A claim on the address's domain that is not proved.
    package var unprovedDomain: TenantDomain?
    /// A verified domain above the address's, which does not include subdomains.
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

/// The part of a user row that the rules read.
package struct UserFacts: Sendable, Equatable {
    /// The user's id, unique across tenants.
    package var id: UUID
    /// A deleted user blocks its address for `Provisioning.deletedFor` seconds.
    package var status: User.Status
    /// The role in this tenant.
    package var role: UserRole
    /// What made the row; a pending row of `.approval` waits for an operator.
    package var source: User.Source
    /// A proved identity or a password that was set after proof.
    package var hasProvedCredential: Bool
    /// A password, identity or session that nobody proved the address for.
    package var hasUnprovedCredential: Bool
    /// Somebody has proved the row's address: false after an operator's hand link, and after an
    /// acceptance by a link that was shown.
    package var isAddressProved: Bool
    /// nil unless the user is deleted.
    package var deletedAt: Timestamp?

    /// Defaults describe a member with a proved address and no credential.
    package init(
        id: UUID, status: User.Status, role: UserRole = .member, source: User.Source,
        hasProvedCredential: Bool = false, hasUnprovedCredential: Bool = false,
        isAddressProved: Bool = true, deletedAt: Timestamp? = nil
    ) {
        self.id = id
        self.status = status
        self.role = role
        self.source = source
        self.hasProvedCredential = hasProvedCredential
        self.hasUnprovedCredential = hasUnprovedCredential
        self.isAddressProved = isAddressProved
        self.deletedAt = deletedAt
    }

    /// True for a pending user that only an operator's approval activates.
    package var awaitsApproval: Bool { status == .pending && source == .approval }
}

/// A row of this identity and the user it stands for.
package struct KnownIdentity: Sendable {
    /// The row in `identities`, not the user.
    package var identityID: UUID
    /// The tenant of the user; one identity has at most one user in each.
    package var tenantID: UUID
    /// The user as stored, deleted ones included.
    package var user: UserFacts
    /// The tenant alone vouches that the identity is that user's, so it counts there alone.
    package var isAssertedByTenant: Bool
    /// The pool's `sub` of this attempt stands beside the identity already.
    package var hasThisSub: Bool
    /// An operator linked it, no rule: the operator's word is all that it stands on.
    package var isLinkedByHand: Bool
    /// A live invite to that user's own address, which may differ from the attempt's.
    package var invite: InviteFacts?

    /// Defaults describe an identity that a rule linked, without invite.
    package init(
        identityID: UUID, tenantID: UUID, user: UserFacts, isAssertedByTenant: Bool = false,
        hasThisSub: Bool = false, isLinkedByHand: Bool = false, invite: InviteFacts? = nil
    ) {
        self.identityID = identityID
        self.tenantID = tenantID
        self.user = user
        self.isAssertedByTenant = isAssertedByTenant
        self.hasThisSub = hasThisSub
        self.isLinkedByHand = isLinkedByHand
        self.invite = invite
    }
}

/// An invite with what storage knows beside it.
package struct InviteFacts: Sendable {
    /// Limits the role that an accepted invite gives.
    package enum Inviter: Sendable, Equatable {
        /// The widest role that this person may give now; nil once there is none.
        case person(mayGive: UserRole?)
        /// A key's later revocation does not change a sent invite.
        case key
    }

    /// As stored: may be expired, used or revoked.
    package var invite: Invite
    /// Compared with the invite's role when it is accepted.
    package var inviter: Inviter
    /// The live row at the invited address.
    package var row: UserFacts?
    /// Who used it up.
    package var acceptedBy: IdentityKey?
    /// The user that the acceptance led to; nil before acceptance.
    package var acceptedUser: UserFacts?
    /// When it was sent last.
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

/// An operator's one-time leave to add a second sign-in to a user.
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

    /// `usedAt` nil: not used yet.
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

/// What an unproved native sign-up asked for; later events carry no token.
package struct Reservation: Sendable, Equatable {
    /// Seconds.
    package static let lifetime: Int64 = 86_400

    /// Who told of the sign-up: a tenant, or the nil id for the platform.
    package var caller: UUID
    /// The tenant that the sign-up asked for; nil: it named none.
    package var tenantID: UUID?
    /// Only of an invite whose token came along: one that was found by the address alone would count
    /// as a token later, for another address.
    package var inviteID: UUID?
    /// The `sub` that the pool gave to the user who signed up, once it was told.
    package var sub: String?

    /// `caller` is the nil UUID for the platform.
    package init(
        caller: UUID, tenantID: UUID? = nil, inviteID: UUID? = nil, sub: String? = nil
    ) {
        self.caller = caller
        self.tenantID = tenantID
        self.inviteID = inviteID
        self.sub = sub
    }

    /// Bound to another `sub` than this one: another person's, of the same name.
    package func isAnothers(_ other: String?) -> Bool {
        guard let sub, let other else { return false }
        return !sameBytes(sub, other)
    }
}
