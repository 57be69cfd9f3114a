import Text

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

    /// The state of a key, its tenant and its owner. The caller matches scopes, address ranges and
    /// origins.
    package struct Facts: Sendable {
        /// Uses of the old secret are counted apart.
        package enum Secret: Sendable {
            case current
            /// The secret before the last rotation, with the end of its grace; nil: it had none.
            case previous(until: Timestamp?)
        }

        /// Which of the key's secrets was presented.
        package var secret = Secret.current
        package var expiresAt: Timestamp?
        package var revokedAt: Timestamp?
        /// A deleted tenant's keys are `unknown`.
        package var tenantStatus = Tenant.Status.active
        /// True if a user owns the key: `userStatus` then counts.
        package var isOfUser = false
        /// The owning user's status; nil: there is no such user.
        package var userStatus: User.Status?
        /// The caller's address is in the key's ranges, or there are none.
        package var isIPAllowed = true
        /// Whether `Origin` matches the key's origins; true if it has none.
        package var isOriginAllowed = true
        /// The key has every scope that the caller asked for.
        package var holdsScopes = true
        /// This use exceeds the key's limit.
        package var isRateLimited = false

        /// Describes a valid key of an active tenant.
        package init() {}
    }

    /// nil facts: no such key. An old secret after its grace is `unknown`.
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
