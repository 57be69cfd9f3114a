import Text

/// The caller of a request, reduced to the properties on which permissions depend.
package enum Principal: Sendable, Equatable {
    /// An operator of `tenant`, or of the platform if `tenant` is nil.
    case `operator`(id: UUID, role: Operator.Role, tenant: UUID?)
    case user(id: UUID, role: UserRole, tenant: UUID)
    case key(id: UUID, owner: KeyOwner, scopes: [String], limits: KeyLimits = KeyLimits())
    case anyone

    /// The owner of a key; the owner's rights limit what the key may do.
    package enum KeyOwner: Sendable, Equatable {
        case platform
        case tenant(UUID)
        /// A user owns the key. `role` is the user's current role, not the role at the time when
        /// the key was created.
        case user(id: UUID, role: UserRole, tenant: UUID)
    }

    /// The parts of a key's bounds that limit what the key may create.
    package struct KeyLimits: Sendable, Equatable {
        /// Whether the key is bound to addresses, origins or a rate.
        package var isBound: Bool
        /// The key's expiry, exclusive; `nil` if it never expires. Whatever the key creates expires
        /// no later.
        var expiresAt: Timestamp?

        /// Creates the value; the defaults describe a key without bounds.
        package init(isBound: Bool = false, expiresAt: Timestamp? = nil) {
            self.isBound = isBound
            self.expiresAt = expiresAt
        }
    }

    /// The latest expiry that this principal may give to what it creates; `nil` if there is no
    /// limit.
    package var expiry: Timestamp? {
        if case .key(_, _, _, let limits) = self { limits.expiresAt } else { nil }
    }

    /// The tenant to which this principal belongs; `nil` for the platform, or for an anonymous
    /// caller.
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
