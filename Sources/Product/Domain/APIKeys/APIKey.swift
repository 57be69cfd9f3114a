import Text

/// A machine's credential. It has one current secret and at most one previous one.
package struct APIKey: Sendable, Equatable {
    /// The state of a key. In `grace` the key is active, and the secret from before the last
    /// rotation works too.
    package enum Status: String, Sendable, CaseIterable { case active, grace, revoked, expired }
    /// The owner. It decides which rights the key's scopes can give.
    package enum Owner: Sendable, Equatable {
        case platform
        case tenant(UUID)
        case user(UUID)
    }

    /// A stored secret: its hash, and the parts of the secret that pages show.
    package struct Secret: Sendable, Equatable {
        package var hash: [UInt8]
        /// The first 12 characters of the secret, shown so that people can find the key.
        package var prefix: String
        /// The last 4 characters of the secret, shown so that people can tell keys apart.
        package var last4: String

        package init(hash: [UInt8], prefix: String, last4: String) {
            self.hash = hash
            self.prefix = prefix
            self.last4 = last4
        }
    }

    /// The secret that was current before the last rotation.
    package struct Previous: Sendable, Equatable {
        /// The previous secret. Until `until` it works in addition to the current one.
        package var secret: Secret
        /// The end of the grace period, exclusive: from this time on the previous secret no longer
        /// works.
        package var until: Timestamp
        /// When the previous secret was last used after the rotation; `nil` if it was not used
        /// since.
        package var lastUsedAt: Timestamp?
        /// The number of uses of the previous secret since the rotation.
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

    /// The key's id, which stays the same when the secret rotates.
    package var id: UUID
    package var tenantID: UUID?
    /// The owner. A user's key stops working when the user is suspended or deleted.
    package var owner: Owner
    package var name: String
    /// Whether the key is for live or for test use; the secret begins with `gate_live_` or
    /// `gate_test_`.
    package var environment: APIKeySecret.Environment
    /// The current secret; it works as long as the key is active.
    package var current: Secret
    /// The secret from before the last rotation; `nil` if the key was never rotated, or if its
    /// grace period was ended early.
    package var previous: Previous?
    /// The key's scopes: management scopes, and scopes of the tenant's own catalogue.
    package var scopes: [String]
    /// IP addresses and CIDR blocks from which the key may be used; if empty, it may be used from
    /// any address.
    package var allowedIPs: [String]
    /// Patterns of the origins whose pages may use the key; if empty, any page may.
    package var allowedOrigins: [String]
    package var ratePerMinute: Int?
    package var note: String?
    package var createdAt: Timestamp
    package var expiresAt: Timestamp?
    package var revokedAt: Timestamp?
    /// Why the key was revoked, as a text for people; `nil` if no reason was given.
    package var revocationReason: String?
    /// When the owning user was deleted. The key counts as revoked until the user is restored.
    package var ownerDeletedAt: Timestamp?
    /// True if the key got its scopes before the following rule existed: only a caller with all
    /// rights of an admin may give an admin-equivalent scope. It becomes false when the scopes are
    /// given again.
    package var isGivenBefore = false
    /// The id of the key whose rate limit counter this key shares; `nil` if it has its own.
    package var limitSharedWith: UUID?
    package var lastUsedAt: Timestamp?
    /// The IP address of the last recorded use; `nil` if the key was never used.
    package var lastUsedIP: String?

    /// Creates the value; the defaults describe an unused key without bounds.
    package init(
        id: UUID, tenantID: UUID?, owner: Owner, name: String,
        environment: APIKeySecret.Environment, current: Secret, previous: Previous? = nil,
        scopes: [String] = [], allowedIPs: [String] = [], allowedOrigins: [String] = [],
        ratePerMinute: Int? = nil, note: String? = nil,
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
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.revocationReason = revocationReason
        self.lastUsedAt = lastUsedAt
        self.lastUsedIP = lastUsedIP
    }

    /// Returns the status at `now`. If several apply, the first of these counts: revoked, expired,
    /// grace.
    package func status(at now: Timestamp) -> Status {
        if isRevoked { return .revoked }
        if let expiresAt, now >= expiresAt { return .expired }
        return livePrevious(at: now) == nil ? .active : .grace
    }

    package var isRevoked: Bool { revokedAt != nil || ownerDeletedAt != nil }

    /// Whether at least one of the key's scopes is equivalent to an admin's rights
    /// (`ManagementScope.isAdminEquivalent`).
    package var leads: Bool {
        scopes.contains { ManagementScope(named: $0)?.isAdminEquivalent ?? false }
    }

    /// The previous secret; `nil` if there is none, or if it no longer works.
    package func livePrevious(at now: Timestamp) -> Previous? {
        !isRevoked ? previous.flatMap { now < $0.until ? $0 : nil } : nil
    }
}

/// Changes of a key's secrets. Each function returns the changed key; if it throws, nothing has
/// changed.
package enum APIKeyRotation {
    /// The allowed lengths of the grace period, in seconds.
    package static let graces: ClosedRange<Int64> = 0...(7 * 86_400)

    package enum Failure: Error, Sendable, Equatable {
        /// The secrets cannot be changed, because the key is revoked or expired.
        case notLive
        case graceOutOfRange
        /// The key has no previous secret, or its previous secret no longer works.
        case nothingInGrace
    }

    /// Replaces the current secret with `secret`, which works at once. The replaced one becomes the
    /// previous secret for `grace` seconds, and an older previous secret stops working.
    package static func rotate(
        _ key: APIKey, to secret: APIKey.Secret, grace: Int64, now: Timestamp
    ) throws(Failure) -> APIKey {
        try checkLive(key, now)
        guard graces.contains(grace) else { throw .graceOutOfRange }
        var next = key
        next.previous =
            grace == 0
            ? nil : APIKey.Previous(secret: key.current, until: now.adding(seconds: grace))
        next.current = secret
        return next
    }

    /// Ends the grace period now: the previous secret stops working.
    package static func cut(_ key: APIKey, now: Timestamp) throws(Failure) -> APIKey {
        guard key.livePrevious(at: now) != nil else { throw .nothingInGrace }
        var next = key
        next.previous = nil
        return next
    }

    /// Makes the previous secret the current one again. The newer secret stops working. Throws if
    /// the previous secret no longer works.
    package static func rollBack(_ key: APIKey, now: Timestamp) throws(Failure) -> APIKey {
        try checkLive(key, now)
        guard let previous = key.livePrevious(at: now) else { throw .nothingInGrace }
        var next = key
        next.current = previous.secret
        next.previous = nil
        return next
    }

    private static func checkLive(_ key: APIKey, _ now: Timestamp) throws(Failure) {
        switch key.status(at: now) {
        case .active, .grace: return
        case .revoked, .expired: throw .notLive
        }
    }
}

/// The result of verifying a presented key.
package enum APIKeyVerdict: String, Sendable, CaseIterable {
    case valid, unknown, revoked, expired
    case tenantSuspended = "tenant_suspended"
    case userSuspended = "user_suspended"
    case userPending = "user_pending"
    case userDeleted = "user_deleted"
    case ipNotAllowed = "ip_not_allowed"
    case originNotAllowed = "origin_not_allowed"
    case scopeMissing = "scope_missing"
    case rateLimited = "rate_limited"

    /// The facts on which the verdict depends: the state of the key, its tenant and its owner, and
    /// whether the request satisfies the key's scopes, address ranges and origins. The caller has
    /// already compared the request with these bounds.
    package struct Facts: Sendable {
        /// Which secret was presented. Uses of the previous one are counted separately.
        package enum Secret: Sendable {
            case current
            /// The secret from before the last rotation. `until` is the end of its grace period;
            /// `nil` if there is no grace period.
            case previous(until: Timestamp?)
        }

        /// Which of the key's secrets was presented.
        package var secret = Secret.current
        package var expiresAt: Timestamp?
        package var revokedAt: Timestamp?
        /// The status of the key's tenant; a key of a deleted tenant is `unknown`.
        package var tenantStatus = Tenant.Status.active
        /// Whether a user owns the key. Only then does `userStatus` count.
        package var isOfUser = false
        /// The owning user's status; `nil` if no user owns the key, or if the user does not exist.
        package var userStatus: User.Status?
        /// Whether the caller's address is in the key's ranges; true if the key has no ranges.
        package var isIPAllowed = true
        /// Whether the request's `Origin` matches the key's origins; true if the key has no
        /// origins.
        package var isOriginAllowed = true
        /// Whether the key has every scope that the caller requires.
        package var holdsScopes = true
        /// Whether this use exceeds the key's rate limit.
        package var isRateLimited = false

        /// The defaults describe a valid key of an active tenant.
        package init() {}
    }

    /// Returns the verdict for a presented key. It is `unknown` if `facts` is nil because no key
    /// has the secret. It is also `unknown` for a previous secret after its grace period.
    package static func of(_ facts: Facts?, now: Timestamp) -> APIKeyVerdict {
        guard let facts else { return .unknown }
        if case .previous(let end) = facts.secret, end.map({ $0 <= now }) ?? true {
            return .unknown
        }
        if facts.revokedAt != nil { return .revoked }
        if let end = facts.expiresAt, end <= now { return .expired }
        switch facts.tenantStatus {
        case .active: break
        case .suspended: return .tenantSuspended
        case .deleted: return .unknown
        }
        if facts.isOfUser {
            switch facts.userStatus {
            case .active: break
            case .suspended: return .userSuspended
            case .pending: return .userPending
            case .deleted: return .userDeleted
            case nil: return .unknown
            }
        }
        if !facts.isIPAllowed { return .ipNotAllowed }
        if !facts.isOriginAllowed { return .originNotAllowed }
        if !facts.holdsScopes { return .scopeMissing }
        return facts.isRateLimited ? .rateLimited : .valid
    }
}
