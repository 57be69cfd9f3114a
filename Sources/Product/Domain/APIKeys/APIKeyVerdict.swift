import Text

/// The answer about a presented key.
package enum APIKeyVerdict: String, Sendable, CaseIterable {
    case valid, unknown, revoked, expired
    case tenantSuspended = "tenant_suspended"
    case userSuspended = "user_suspended"
    case ipNotAllowed = "ip_not_allowed"
    case originNotAllowed = "origin_not_allowed"
    case scopeMissing = "scope_missing"
    case rateLimited = "rate_limited"

    /// What is known besides the key. Address ranges and origins are matched by the caller.
    package struct Facts: Sendable {
        package var key: APIKey
        /// SHA-256 of what was presented.
        package var presentedHash: [UInt8]
        package var tenantStatus: Tenant.Status
        /// The owner's, where a user owns the key.
        package var userStatus: User.Status?
        package var requiredScopes: [String]
        /// nil: the caller named no address, so a key bound to ranges is refused.
        package var isIPAllowed: Bool?
        package var isOriginAllowed: Bool?
        package var isRateLimited: Bool

        package init(
            key: APIKey, presentedHash: [UInt8], tenantStatus: Tenant.Status = .active,
            userStatus: User.Status? = nil, requiredScopes: [String] = [],
            isIPAllowed: Bool? = nil, isOriginAllowed: Bool? = nil, isRateLimited: Bool = false
        ) {
            self.key = key
            self.presentedHash = presentedHash
            self.tenantStatus = tenantStatus
            self.userStatus = userStatus
            self.requiredScopes = requiredScopes
            self.isIPAllowed = isIPAllowed
            self.isOriginAllowed = isOriginAllowed
            self.isRateLimited = isRateLimited
        }
    }

    /// nil facts: no such key. An old secret after its grace is as unknown as any other text.
    package static func of(_ facts: Facts?, now: Timestamp) -> APIKeyVerdict {
        guard let facts else { return .unknown }
        let key = facts.key
        let isOld = key.livePrevious(at: now).map { same($0.secret.hash, facts.presentedHash) }
        guard same(key.current.hash, facts.presentedHash) || isOld == true else { return .unknown }
        switch key.status(at: now) {
        case .revoked: return .revoked
        case .expired: return .expired
        case .active, .grace: break
        }
        switch facts.tenantStatus {
        case .active: break
        case .suspended: return .tenantSuspended
        case .deleted: return .unknown
        }
        if case .user = key.owner {
            switch facts.userStatus {
            case .active: break
            case .suspended, .pending: return .userSuspended
            case .deleted, nil: return .unknown
            }
        }
        if !key.allowedIPs.isEmpty, facts.isIPAllowed != true { return .ipNotAllowed }
        if !key.allowedOrigins.isEmpty, facts.isOriginAllowed != true { return .originNotAllowed }
        let holds = { (scope: String) in key.scopes.contains { sameBytes($0, scope) } }
        guard facts.requiredScopes.allSatisfy(holds) else { return .scopeMissing }
        return facts.isRateLimited ? .rateLimited : .valid
    }

    /// In the same time whatever the difference.
    private static func same(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
