import Text

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
