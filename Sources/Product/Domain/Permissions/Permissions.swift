import Text

package enum Permission: Sendable, Equatable {
    case allowed
    /// `missing` names the scope or the right, for the problem's detail.
    case forbidden(missing: String)
    /// Another tenant's object: hidden from this principal.
    case notFound
}

/// The object of an action, as far as rights depend on it.
package struct PermissionTarget: Sendable, Equatable {
    /// The object's owner: a user, or the actor of an audit event.
    package var ownerID: UUID?
    /// The role that is given, or that the affected person has.
    package var role: UserRole?
    package var isLastIdentity: Bool

    package init(ownerID: UUID? = nil, role: UserRole? = nil, isLastIdentity: Bool = false) {
        self.ownerID = ownerID
        self.role = role
        self.isLastIdentity = isLastIdentity
    }
}

package enum Permissions {
    /// Whether `principal` has the right in `tenant` (nil: at the platform).
    package static func permits(
        _ principal: Principal, _ right: Right, in tenant: UUID?,
        target: PermissionTarget = PermissionTarget()
    ) -> Permission {
        if let home = principal.tenantID {
            if let tenant, tenant != home { return .notFound }
            if tenant == nil || right.isPlatformOnly { return .forbidden(missing: right.rawValue) }
        }
        if case .key(_, let owner, let scopes) = principal {
            guard let scope = right.scope, scopes.contains(where: { sameBytes($0, scope.rawValue) })
            else { return .forbidden(missing: right.scope?.rawValue ?? right.rawValue) }
            switch owner {
            case .platform: return .allowed
            case .tenant:
                return right.isForTenantKeys ? .allowed : .forbidden(missing: right.rawValue)
            case .user: break
            }
        }
        guard let column = principal.column else { return .forbidden(missing: right.rawValue) }
        let isAllowed =
            switch PermissionTable.reach(column, right) {
            case .all: true
            case .none: false
            case .upTo(let bound): target.role.map { $0 <= bound } ?? true
            case .own:
                target.ownerID != nil && target.ownerID == principal.selfID
                    && !(right == .unlinkIdentities && target.isLastIdentity)
            }
        return isAllowed ? .allowed : .forbidden(missing: right.rawValue)
    }

    /// The one person whose objects the right covers; nil: not limited.
    package static func bound(_ principal: Principal, _ right: Right) -> UUID? {
        guard let column = principal.column, PermissionTable.reach(column, right) == .own else {
            return nil
        }
        return principal.selfID
    }

    /// The rights that this principal has at home, even if only for its own objects.
    package static func rights(_ principal: Principal) -> [String] {
        Right.allCases.filter {
            permits(principal, $0, in: principal.tenantID) == .allowed
                || permits(
                    principal, $0, in: principal.tenantID,
                    target: PermissionTarget(ownerID: principal.selfID)) == .allowed
        }.map(\.rawValue)
    }

    /// The widest role that this principal may give by an invite; nil: none.
    package static func widestInvite(_ principal: Principal, in tenant: UUID) -> UserRole? {
        UserRole.allCases.last {
            permits(principal, .manageInvites, in: tenant, target: PermissionTarget(role: $0))
                == .allowed
        }
    }

    /// Whether `principal` may decide whose sign-in leads to an account of this role. Needs the
    /// right to link, and a role that is not lower: an operator's, or the equivalent of a key's
    /// scopes.
    package static func mayActFor(
        _ principal: Principal, _ role: UserRole, in tenant: UUID
    ) -> Bool {
        guard permits(principal, .linkIdentities, in: tenant) == .allowed else { return false }
        switch principal {
        case .user(_, let own, _), .key(_, .user(_, let own, _), _): return role <= own
        case .operator, .key: return true
        case .anyone: return false
        }
    }

    /// Whether `principal` may grant or revoke this operator role. An operator cannot grant a role
    /// above the own.
    package static func mayGrant(
        _ principal: Principal, _ role: Operator.Role, in tenant: UUID?
    ) -> Bool {
        guard permits(principal, .writeOperators, in: tenant) == .allowed else { return false }
        guard case .key = principal else { return true }
        // A key has no role: its scopes must cover all rights of the role.
        return Right.allCases.allSatisfy { right in
            PermissionTable.reach(.operator(role), right) == .none
                || (tenant != nil && right.isPlatformOnly) || right.scope == nil
                || permits(principal, right, in: tenant) == .allowed
        }
    }

    /// What stays of a key's scopes when another user gets it: none by which the key could do more
    /// than before, and none of which the new owner has no right at all. Catalogue scopes stay.
    package static func scopesKept(
        _ scopes: [String], from old: UserRole, to new: UserRole
    ) -> [String] {
        scopes.filter { text in
            guard old != new,
                let scope = ManagementScope.allCases.first(where: { sameBytes($0.rawValue, text) })
            else { return true }
            func reach(_ role: UserRole, _ right: Right) -> Reach {
                PermissionTable.reach(.user(role), right)
            }
            let rights = scope.rights.filter(\.isForTenantKeys)
            return rights.contains { reach(new, $0) != .none }
                && (new < old || rights.allSatisfy { reach(new, $0) == reach(old, $0) })
        }
    }

    /// The management scopes among `asked` that this principal cannot give to a key: a key never
    /// exceeds its issuer. Catalogue scopes are not limited.
    package static func scopesBeyond(
        _ principal: Principal, asked: [String], in tenant: UUID?
    ) -> [String] {
        asked.filter { text in
            guard
                let scope = ManagementScope.allCases.first(where: { sameBytes($0.rawValue, text) })
            else { return false }
            if case .key(_, _, let own) = principal, !own.contains(where: { sameBytes($0, text) }) {
                return true
            }
            // The issuer must have every right of the scope: a developer who may only draft a policy
            // could otherwise publish one through a key.
            return !scope.rights.filter { tenant == nil || $0.isForTenantKeys }.allSatisfy {
                permits(principal, $0, in: tenant) == .allowed
            }
        }
    }
}
