import Text

/// A machine's credential. It has one current and at most one previous secret.
package struct APIKey: Sendable, Equatable {
    /// `grace`: active, and the previous secret works too.
    package enum Status: String, Sendable, CaseIterable { case active, grace, revoked, expired }
    /// Decides which rights the key's scopes can name.
    package enum Owner: Sendable, Equatable {
        case platform
        case tenant(UUID)
        case user(UUID)
    }

    /// A stored secret: its hash and the parts that are shown.
    package struct Secret: Sendable, Equatable {
        package var hash: [UInt8]
        /// The first 12 characters; shown to find a key.
        package var prefix: String
        /// The last 4 characters; shown to tell keys apart.
        package var last4: String

        package init(hash: [UInt8], prefix: String, last4: String) {
            self.hash = hash
            self.prefix = prefix
            self.last4 = last4
        }
    }

    /// The secret before the last rotation.
    package struct Previous: Sendable, Equatable {
        /// Works until `until`, beside the current one.
        package var secret: Secret
        /// Exclusive.
        package var until: Timestamp
        /// Uses of this secret alone; nil: none since the rotation.
        package var lastUsedAt: Timestamp?
        /// Uses of this secret since the rotation.
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

    /// Stays the same when the secret rotates.
    package var id: UUID
    package var tenantID: UUID?
    /// A user's key ends with that user's access.
    package var owner: Owner
    package var name: String
    /// Part of the secret's prefix, `gate_live_` or `gate_test_`.
    package var environment: APIKeySecret.Environment
    /// Always works while the key is active.
    package var current: Secret
    /// nil: never rotated, or the grace was cut.
    package var previous: Previous?
    /// Management scopes and the tenant's own catalogue.
    package var scopes: [String]
    /// Addresses and CIDR blocks; empty: from everywhere.
    package var allowedIPs: [String]
    /// Origin patterns; empty: from every page.
    package var allowedOrigins: [String]
    package var ratePerMinute: Int?
    package var note: String?
    /// Not read back from storage: see `APIKeyRow.createdByID`.
    package var createdBy: UUID?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    /// For people; nil: none was given.
    package var revocationReason: String?
    /// When the owning user was deleted: the key is revoked until the user is restored.
    package var ownerDeletedAt: Timestamp?
    /// Whether its scopes were given before those that lead to an admin were asked of who gives them,
    /// and have not been given anew since.
    package var isGivenBefore = false
    /// The key whose rate limit counter this one shares; nil: its own.
    package var limitSharedWith: UUID?
    package var lastUsedAt: Timestamp?
    /// Of the last recorded use; nil: never used.
    package var lastUsedIP: String?

    /// Defaults describe an unused key without bounds.
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

    /// Revoked before expired before grace.
    package func status(at now: Timestamp) -> Status {
        if isRevoked { return .revoked }
        if let expiresAt, now >= expiresAt { return .expired }
        return livePrevious(at: now) == nil ? .active : .grace
    }

    package var isRevoked: Bool { revokedAt != nil || ownerDeletedAt != nil }

    /// Whether a scope leads to the rights of an admin by design.
    package var leads: Bool {
        scopes.contains { ManagementScope(named: $0)?.isAdminEquivalent ?? false }
    }

    /// The old secret while it still works.
    package func livePrevious(at now: Timestamp) -> Previous? {
        !isRevoked ? previous.flatMap { now < $0.until ? $0 : nil } : nil
    }
}
