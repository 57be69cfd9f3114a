import Text

/// The caller, as far as permissions depend on it.
package enum Principal: Sendable, Equatable {
    /// `tenant` nil: at the platform.
    case `operator`(id: UUID, role: Operator.Role, tenant: UUID?)
    case user(id: UUID, role: UserRole, tenant: UUID)
    case key(id: UUID, owner: KeyOwner, scopes: [String], limits: KeyLimits = KeyLimits())
    case anyone

    /// The owner, whose rights limit a key.
    package enum KeyOwner: Sendable, Equatable {
        case platform
        case tenant(UUID)
        /// The user's current role, not the role when the key was made.
        case user(id: UUID, role: UserRole, tenant: UUID)
    }

    /// What of a key's bounds decides whom it may make.
    package struct KeyLimits: Sendable, Equatable {
        /// By addresses, origins or a rate.
        package var isBound: Bool
        /// Exclusive; what the key makes ends no later. Nil: never.
        package var expiresAt: Timestamp?

        /// By default of a key without bounds.
        package init(isBound: Bool = false, expiresAt: Timestamp? = nil) {
            self.isBound = isBound
            self.expiresAt = expiresAt
        }
    }

    /// When what this principal makes ends at the latest; nil: not limited.
    package var expiry: Timestamp? {
        if case .key(_, _, _, let limits) = self { limits.expiresAt } else { nil }
    }

    /// The one tenant of this principal; nil: the platform, or an anonymous caller.
    package var tenantID: UUID? {
        switch self {
        case .operator(_, _, let tenant): tenant
        case .user(_, _, let tenant): tenant
        case .key(_, .tenant(let tenant), _, _), .key(_, .user(_, _, let tenant), _, _): tenant
        case .key(_, .platform, _, _), .anyone: nil
        }
    }

    var column: Column? {
        switch self {
        case .operator(_, let role, _): .operator(role)
        case .user(_, let role, _), .key(_, .user(_, let role, _), _, _): .user(role)
        case .key, .anyone: nil
        }
    }

    package var selfID: UUID? {
        switch self {
        case .operator(let id, _, _), .user(let id, _, _), .key(_, .user(let id, _, _), _, _): id
        case .key(let id, _, _, _): id
        case .anyone: nil
        }
    }
}
