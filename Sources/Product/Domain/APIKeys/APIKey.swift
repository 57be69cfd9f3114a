import Text

/// A machine's credential. It has one current and at most one previous secret.
package struct APIKey: Sendable, Equatable {
    package enum Status: String, Sendable, CaseIterable { case active, grace, revoked, expired }
    package enum Owner: Sendable, Equatable {
        case platform
        case tenant(UUID)
        case user(UUID)
    }

    /// A stored secret: never the text itself.
    package struct Secret: Sendable, Equatable {
        /// SHA-256 of the whole.
        package var hash: [UInt8]
        package var prefix: String
        package var last4: String

        package init(hash: [UInt8], prefix: String, last4: String) {
            self.hash = hash
            self.prefix = prefix
            self.last4 = last4
        }
    }

    package struct Previous: Sendable, Equatable {
        package var secret: Secret
        /// Exclusive.
        package var until: Timestamp
        package var lastUsedAt: Timestamp?
        package var uses: Int64

        package init(
            secret: Secret, until: Timestamp, lastUsedAt: Timestamp? = nil, uses: Int64 = 0
        ) {
            self.secret = secret
            self.until = until
            self.lastUsedAt = lastUsedAt
            self.uses = uses
        }
    }

    package var id: UUID
    package var tenantID: UUID?
    package var owner: Owner
    package var name: String
    package var environment: APIKeySecret.Environment
    package var current: Secret
    package var previous: Previous?
    package var scopes: [String]
    package var allowedIPs: [String]
    package var allowedOrigins: [String]
    package var ratePerMinute: Int?
    package var note: String?
    package var createdBy: UUID?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    package var revocationReason: String?
    /// Since when the user who owns it is deleted: revoked until they are restored.
    package var ownerDeletedAt: Timestamp?
    /// The key whose count of uses this one's count into; nil: its own.
    package var limitSharedWith: UUID?
    package var lastUsedAt: Timestamp?
    package var lastUsedIP: String?

    package init(
        id: UUID, tenantID: UUID?, owner: Owner, name: String,
        environment: APIKeySecret.Environment, current: Secret, previous: Previous? = nil,
        scopes: [String] = [], allowedIPs: [String] = [], allowedOrigins: [String] = [],
        ratePerMinute: Int? = nil, note: String? = nil, createdBy: UUID? = nil,
        createdAt: Timestamp, expiresAt: Timestamp? = nil, revokedAt: Timestamp? = nil,
        revocationReason: String? = nil, lastUsedAt: Timestamp? = nil, lastUsedIP: String? = nil
    ) {
        self.id = id
        self.tenantID = tenantID
        self.owner = owner
        self.name = name
        self.environment = environment
        self.current = current
        self.previous = previous
        self.scopes = scopes
        self.allowedIPs = allowedIPs
        self.allowedOrigins = allowedOrigins
        self.ratePerMinute = ratePerMinute
        self.note = note
        self.createdBy = createdBy
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.revocationReason = revocationReason
        self.lastUsedAt = lastUsedAt
        self.lastUsedIP = lastUsedIP
    }

    package func status(at now: Timestamp) -> Status {
        if isRevoked { return .revoked }
        if let expiresAt, now >= expiresAt { return .expired }
        return livePrevious(at: now) == nil ? .active : .grace
    }

    /// By a revocation of its own or with its owner.
    package var isRevoked: Bool { revokedAt != nil || ownerDeletedAt != nil }

    /// The old secret while it still works.
    package func livePrevious(at now: Timestamp) -> Previous? {
        !isRevoked ? previous.flatMap { now < $0.until ? $0 : nil } : nil
    }
}
