import Text

/// The caller, as far as permissions depend on it.
package enum Principal: Sendable, Equatable {
    /// `tenant` is nil for an operator of the platform.
    case `operator`(id: UUID, role: Operator.Role, tenant: UUID?)
    case user(id: UUID, role: UserRole, tenant: UUID)
    case key(id: UUID, owner: KeyOwner, scopes: [String], limits: KeyLimits = KeyLimits())
    case anyone

    /// The owner, whose rights limit a key.
    package enum KeyOwner: Sendable, Equatable {
        case platform
        case tenant(UUID)
        /// The role is the user's current one, not the one from when the key was made.
        case user(id: UUID, role: UserRole, tenant: UUID)
    }

    /// The parts of a key's bounds that decide what it may create.
    package struct KeyLimits: Sendable, Equatable {
        /// Whether it is bound to addresses, origins or a rate.
        package var isBound: Bool
        /// The key's expiry, exclusive; what the key creates ends no later. `nil` if it never
        /// expires.
        package var expiresAt: Timestamp?

        /// The defaults describe a key without bounds.
        package init(isBound: Bool = false, expiresAt: Timestamp? = nil) {
            self.isBound = isBound
            self.expiresAt = expiresAt
        }
    }

    /// The latest possible end of what this principal creates; `nil` if there is no limit.
    package var expiry: Timestamp? {
        if case .key(_, _, _, let limits) = self { limits.expiresAt } else { nil }
    }

    /// The one tenant of this principal; `nil` for the platform, or for an anonymous caller.
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
