import Text

/// An invitation of one email address to a tenant. Its status is not stored: it is computed from
/// the invite's times and the current time.
package struct Invite: Sendable, Equatable {
    /// The state of an invite; raw values are those of the wire format.
    package enum Status: String, Sendable, CaseIterable { case pending, accepted, revoked, expired }
    /// How the invite reaches the person: by mail from this service, or as a link that the inviter
    /// gets and hands over.
    package enum Delivery: String, Sendable, CaseIterable { case mail, link }
    /// The state of the last mail of an invite. `sent` means that the mail server accepted it and
    /// that no bounce has been reported since.
    package enum DeliveryStatus: String, Sendable, CaseIterable {
        case queued, sent, refused, bounced
    }

    /// The lifetime of a new invite, in seconds, if the inviter names none.
    package static let defaultLifetime: Int64 = 7 * 86_400
    package static let lifetimes: ClosedRange<Int64> = 300...(90 * 86_400)

    /// The invite's id, which stays the same when its token is renewed.
    package var id: UUID
    var tenantID: UUID
    package var email: Email
    /// The role that the user gets by accepting the invite. If the inviter is a person who may no
    /// longer give this role, the user becomes a member.
    var role: UserRole
    /// The expiry, exclusive: from this time on the invite is no longer valid.
    var expiresAt: Timestamp
    /// The inviter's text in the mail; `nil` if there is none.
    var message: String?
    package var delivery: Delivery
    package var revokedAt: Timestamp?
    package var acceptedAt: Timestamp?
    /// The user who accepted the invite; `nil` unless it was accepted.
    package var acceptedUserID: UUID?

    package init(
        id: UUID, tenantID: UUID, email: Email, role: UserRole, expiresAt: Timestamp,
        message: String? = nil, delivery: Delivery = .mail, revokedAt: Timestamp? = nil,
        acceptedAt: Timestamp? = nil, acceptedUserID: UUID? = nil
    ) {
        self.id = id
        self.tenantID = tenantID
        self.email = email
        self.role = role
        self.expiresAt = expiresAt
        self.message = message
        self.delivery = delivery
        self.revokedAt = revokedAt
        self.acceptedAt = acceptedAt
        self.acceptedUserID = acceptedUserID
    }

    /// Returns the status at this time. At `expiresAt` itself the invite is already expired.
    func status(at now: Timestamp) -> Status {
        if acceptedAt != nil { return .accepted }
        if revokedAt != nil { return .revoked }
        return now < expiresAt ? .pending : .expired
    }

    /// Whether the invite is pending: neither accepted, revoked nor expired.
    package func isLive(at now: Timestamp) -> Bool { status(at: now) == .pending }
}
