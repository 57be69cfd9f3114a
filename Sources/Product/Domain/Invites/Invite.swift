import Text

/// An invitation to one address. Its status follows from what happened to it and from the time.
package struct Invite: Sendable, Equatable {
    package enum Status: String, Sendable, CaseIterable { case pending, accepted, revoked, expired }
    package enum Delivery: String, Sendable, CaseIterable { case mail, link }

    /// Lifetimes in seconds.
    package static let defaultLifetime: Int64 = 7 * 86_400
    package static let lifetimes: ClosedRange<Int64> = 300...(90 * 86_400)

    package var id: UUID
    package var tenantID: UUID
    package var email: Email
    package var role: UserRole
    package var expiresAt: Timestamp
    package var message: String?
    package var delivery: Delivery
    package var revokedAt: Timestamp?
    package var acceptedAt: Timestamp?
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

    /// Expiry is exclusive: at `expiresAt` itself the invite is no longer live.
    package func status(at now: Timestamp) -> Status {
        if acceptedAt != nil { return .accepted }
        if revokedAt != nil { return .revoked }
        return now < expiresAt ? .pending : .expired
    }

    package func isLive(at now: Timestamp) -> Bool { status(at: now) == .pending }
}
