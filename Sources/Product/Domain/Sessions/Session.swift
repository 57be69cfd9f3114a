import Text

/// A signed-in person or operator on one device.
package struct Session: Sendable, Equatable {
    package enum Holder: Sendable, Equatable {
        case user(UUID)
        case `operator`(UUID)
    }

    package var id: UUID
    package var holder: Holder
    package var tenantID: UUID?
    package var client: String?
    package var device: String?
    package var createdAt: Timestamp
    package var lastSeenAt: Timestamp
    package var expiresAt: Timestamp
    package var endedAt: Timestamp?
    package var address: String?
    package var userAgent: String?

    package init(
        id: UUID, holder: Holder, tenantID: UUID?, client: String? = nil, device: String? = nil,
        createdAt: Timestamp, lastSeenAt: Timestamp, expiresAt: Timestamp,
        endedAt: Timestamp? = nil, address: String? = nil, userAgent: String? = nil
    ) {
        self.id = id
        self.holder = holder
        self.tenantID = tenantID
        self.client = client
        self.device = device
        self.createdAt = createdAt
        self.lastSeenAt = lastSeenAt
        self.expiresAt = expiresAt
        self.endedAt = endedAt
        self.address = address
        self.userAgent = userAgent
    }

    package func isLive(at now: Timestamp) -> Bool { endedAt == nil && now < expiresAt }
}
