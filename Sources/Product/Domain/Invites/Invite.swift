import Text

/// An invitation to one address. Its status follows from its times and the clock.
package struct Invite: Sendable, Equatable {
    /// Raw values are those of the wire format.
    package enum Status: String, Sendable, CaseIterable { case pending, accepted, revoked, expired }
    /// With `link` the inviter gets the link and hands it over.
    package enum Delivery: String, Sendable, CaseIterable { case mail, link }
    /// The delivery of an invite's last mail. `sent` means that the mail server accepted it, and
    /// that no report since has said that it bounced.
    package enum DeliveryStatus: String, Sendable, CaseIterable {
        case queued, sent, refused, bounced
    }

    /// Lifetimes in seconds.
    package static let defaultLifetime: Int64 = 7 * 86_400
    package static let lifetimes: ClosedRange<Int64> = 300...(90 * 86_400)

    /// Stays the same when the token is renewed.
    package var id: UUID
    package var tenantID: UUID
    package var email: Email
    /// The role that the acceptance gives, limited by what the inviter may still give.
    package var role: UserRole
    /// Exclusive.
    package var expiresAt: Timestamp
    /// The inviter's text in the mail; `nil` if there is none.
    package var message: String?
    package var delivery: Delivery
    package var revokedAt: Timestamp?
    package var acceptedAt: Timestamp?
    /// The user that the acceptance led to; nil unless accepted.
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

    /// The status. Expiry is exclusive: at `expiresAt` itself the invite is no longer live.
    package func status(at now: Timestamp) -> Status {
        if acceptedAt != nil { return .accepted }
        if revokedAt != nil { return .revoked }
        return now < expiresAt ? .pending : .expired
    }

    /// Whether the invite is pending: neither accepted, revoked nor expired.
    package func isLive(at now: Timestamp) -> Bool { status(at: now) == .pending }
}
