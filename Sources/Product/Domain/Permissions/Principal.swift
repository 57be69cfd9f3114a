import Text

/// The caller, as far as permissions depend on it.
package enum Principal: Sendable, Equatable {
    /// `tenant` nil: at the platform.
    case `operator`(id: UUID, role: Operator.Role, tenant: UUID?)
    case user(id: UUID, role: UserRole, tenant: UUID)
    case key(id: UUID, owner: KeyOwner, scopes: [String])
    case anyone

    /// The owner, whose rights limit a key.
    package enum KeyOwner: Sendable, Equatable {
        case platform
        case tenant(UUID)
        /// The user's current role, not the role when the key was made.
        case user(id: UUID, role: UserRole, tenant: UUID)
    }

    /// The one tenant of this principal; nil: the platform, or an anonymous caller.
    package var tenantID: UUID? {
        switch self {
        case .operator(_, _, let tenant): tenant
        case .user(_, _, let tenant): tenant
        case .key(_, .tenant(let tenant), _), .key(_, .user(_, _, let tenant), _): tenant
        case .key(_, .platform, _), .anyone: nil
        }
    }

    var column: Column? {
        switch self {
        case .operator(_, let role, _): .operator(role)
        case .user(_, let role, _), .key(_, .user(_, let role, _), _): .user(role)
        case .key, .anyone: nil
        }
    }

    package var selfID: UUID? {
        switch self {
        case .operator(let id, _, _), .user(let id, _, _), .key(_, .user(let id, _, _), _): id
        case .key(let id, _, _): id
        case .anyone: nil
        }
    }
}
