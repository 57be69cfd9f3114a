import Text

package enum Permission: Sendable, Equatable {
    case allowed
    /// The principal lacks a right. `missing` names the scope or right, for the problem's detail.
    case forbidden(missing: String)
    /// The object belongs to another tenant, so its existence is hidden from this principal.
    case notFound
}

/// The object of an action, reduced to the properties on which rights depend.
package struct PermissionTarget: Sendable, Equatable {
    /// The owner of the object. For an audit event this is the actor.
    package var ownerID: UUID?
    /// The role to give, or the role of the affected person.
    var role: UserRole?
    var isLastIdentity: Bool

    package init(ownerID: UUID? = nil, role: UserRole? = nil, isLastIdentity: Bool = false) {
        self.ownerID = ownerID
        self.role = role
        self.isLastIdentity = isLastIdentity
    }
}

package enum Permissions {
    /// Returns whether `principal` has the right in `tenant`; a nil `tenant` stands for the
    /// platform.
    package static func permits(
        _ principal: Principal, _ right: Right, in tenant: UUID?,
        target: PermissionTarget = PermissionTarget()
    ) -> Permission {
        if let home = principal.tenantID {
            if let tenant, tenant != home { return .notFound }
            if tenant == nil || right.isPlatformOnly { return .forbidden(missing: right.rawValue) }
        }
        if case .key(_, let owner, let scopes, _) = principal {
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

    /// Returns the principal's `selfID` if the right covers only the principal's own objects;
    /// otherwise `nil`.
    package static func bound(_ principal: Principal, _ right: Right) -> UUID? {
        guard let column = principal.column, PermissionTable.reach(column, right) == .own else {
            return nil
        }
        return principal.selfID
    }

    /// Returns the names of the rights that this principal has at its own tenant or the platform,
    /// including rights that cover only its own objects.
    package static func rights(_ principal: Principal) -> [String] {
        Right.allCases.filter {
            permits(principal, $0, in: principal.tenantID) == .allowed
                || permits(
                    principal, $0, in: principal.tenantID,
                    target: PermissionTarget(ownerID: principal.selfID)) == .allowed
        }.map(\.rawValue)
    }

    /// Returns the widest role that this principal may give to a user. To give a role, the
    /// principal must have all of the role's rights that permit a change, except rights that cover
    /// only own objects. Members have no such rights, so every principal may give `member`. A key
    /// that is bound to addresses, origins or a rate may not give `admin`. The same limit applies
    /// to other changes that give a user more control, such as a new address, sign-in or password,
    /// or the restoring of a deleted user.
    package static func widestRole(_ principal: Principal, in tenant: UUID) -> UserRole {
        UserRole.allCases.last { lacking(principal, for: $0, in: tenant).isEmpty } ?? .member
    }

    /// Returns what the principal lacks in order to give this role, or to act on a user who has it:
    /// the names of scopes or rights, and a text if the principal is a key with bounds. Empty if
    /// nothing is missing.
    package static func lacking(
        _ principal: Principal, for role: UserRole, in tenant: UUID?
    ) -> [String] {
        var names: [String] = []
        for right in Right.allCases where right.writes {
            let isHeld: Bool
            switch PermissionTable.reach(.user(role), right) {
            case .none, .own: continue
            case .all: isHeld = permits(principal, right, in: tenant, role: .admin)
            case .upTo(let bound): isHeld = permits(principal, right, in: tenant, role: bound)
            }
            guard !isHeld else { continue }
            let name = missing(principal, right)
            if !names.contains(where: { sameBytes($0, name) }) { names.append(name) }
        }
        if role == .admin, case .key(_, _, _, let limits) = principal, limits.isBound {
            names.append("no bound of addresses, origins or rate")
        }
        return names
    }

    private static func permits(
        _ principal: Principal, _ right: Right, in tenant: UUID?, role: UserRole
    ) -> Bool {
        permits(principal, right, in: tenant, target: PermissionTarget(role: role)) == .allowed
    }

    /// Returns what the principal lacks for the right: the name of the scope if the principal is a
    /// key without that scope, otherwise the name of the right.
    private static func missing(_ principal: Principal, _ right: Right) -> String {
        guard case .key(_, _, let scopes, _) = principal, let scope = right.scope,
            !scopes.contains(where: { sameBytes($0, scope.rawValue) })
        else { return right.rawValue }
        return scope.rawValue
    }

    /// Returns the widest role that this principal may give by an invite; `nil` if it may give
    /// none.
    package static func widestInvite(_ principal: Principal, in tenant: UUID) -> UserRole? {
        UserRole.allCases.last {
            permits(principal, .manageInvites, in: tenant, role: $0)
                && lacking(principal, for: $0, in: tenant).isEmpty
        }
    }

    /// Whether `principal` may decide which sign-in leads to an account with this role. The
    /// principal needs the right to link sign-ins, and all rights of the role that permit a change.
    package static func mayActFor(
        _ principal: Principal, _ role: UserRole, in tenant: UUID
    ) -> Bool {
        permits(principal, .linkIdentities, in: tenant) == .allowed
            && lacking(principal, for: role, in: tenant).isEmpty
    }

    /// Whether `principal` may create a key that acts as this user, or see such a key's secret
    /// again. True for the user, and for those who may decide which sign-in leads to the account.
    package static func mayHoldKeys(
        _ principal: Principal, of user: UUID, _ role: UserRole, in tenant: UUID
    ) -> Bool {
        switch principal {
        case .user(user, _, tenant), .key(_, .user(user, _, tenant), _, _): true
        default: mayActFor(principal, role, in: tenant)
        }
    }

    /// Whether `principal` may grant or revoke this operator role. Operators cannot grant a role
    /// above their own.
    package static func mayGrant(
        _ principal: Principal, _ role: Operator.Role, in tenant: UUID?
    ) -> Bool {
        guard permits(principal, .writeOperators, in: tenant) == .allowed else { return false }
        guard case .key(_, _, _, let limits) = principal else { return true }
        // An operator whom a key creates is not limited by the key's bounds. So a bound key may not
        // create an owner or an admin.
        if limits.isBound, role == .owner || role == .admin { return false }
        // A key has no role to compare, so its scopes must cover all rights of the granted role.
        return Right.allCases.allSatisfy { right in
            PermissionTable.reach(.operator(role), right) == .none
                || (tenant != nil && right.isPlatformOnly) || right.scope == nil
                || permits(principal, right, in: tenant) == .allowed
        }
    }

    /// Returns the scopes that a key keeps when another user becomes its owner. The key loses each
    /// scope with which it could do more than before, and each scope whose rights the new owner
    /// lacks entirely. Scopes of the tenant's catalogue stay.
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

    /// Returns the scopes among `asked` that this principal cannot give to a key of `tenant` (nil
    /// for the platform). A key never gives a scope beyond its own, not even from the tenant's
    /// catalogue.
    package static func scopesBeyond(
        _ principal: Principal, asked: [String], in tenant: UUID?
    ) -> [String] {
        asked.filter { !mayGive(principal, $0, in: tenant) }
    }

    private static func mayGive(_ principal: Principal, _ text: String, in tenant: UUID?) -> Bool {
        guard let scope = ManagementScope(named: text) else {
            return mayGiveOfCatalogue(principal, text, in: tenant)
        }
        if case .key(_, _, let own, _) = principal, !own.contains(where: { sameBytes($0, text) }) {
            return false
        }
        if scope.isAdminEquivalent, !lacking(principal, for: .admin, in: tenant).isEmpty {
            return false
        }
        // The issuer must have every right of the scope. Otherwise a developer who may only draft a
        // policy could publish one through a key.
        return scope.rights.filter { tenant == nil || $0.isForTenantKeys }.allSatisfy {
            permits(principal, $0, in: tenant) == .allowed
        }
    }

    /// Whether `principal` may give the catalogue scope `text` to a key. A person may give it. A
    /// tenant's key may give it if the key has it. A platform key has no catalogue scopes, but may
    /// give the scope if the key has all rights of an admin of the tenant.
    private static func mayGiveOfCatalogue(
        _ principal: Principal, _ text: String, in tenant: UUID?
    ) -> Bool {
        guard case .key(_, let owner, let own, _) = principal else { return true }
        if own.contains(where: { sameBytes($0, text) }) { return true }
        return owner == .platform && lacking(principal, for: .admin, in: tenant).isEmpty
    }
}

/// How far a right reaches for one role.
enum Reach: Sendable, Equatable {
    case none, own, all
    /// The right applies only if the role to give, or the role of the affected person, is at most
    /// the associated role.
    case upTo(UserRole)
}

/// A column of the table of permissions: an operator's or a user's role.
enum Column: Sendable, Hashable {
    case `operator`(Operator.Role)
    case user(UserRole)

    static let order: [Column] =
        [
            .operator(.owner), .operator(.admin), .operator(.developer), .operator(.support),
            .operator(.auditor), .user(.admin), .user(.manager), .user(.member),
        ]
}

/// The table of permissions: how far each right reaches for each role.
enum PermissionTable {
    static func reach(_ column: Column, _ right: Right) -> Reach {
        guard let at = Column.order.firstIndex(of: column) else { return .none }
        return row(right)[at]
    }

    private static func row(_ right: Right) -> [Reach] {
        let y = Reach.all
        let n = Reach.none
        let o = Reach.own
        let m = Reach.upTo(.member)
        let g = Reach.upTo(.manager)
        // Columns: own adm dev sup aud | admin manager member
        return switch right {
        case .readTenant, .readUsers, .readInvites, .readDecisions: [y, y, y, y, y, y, y, o]
        case .manageInvites: [y, y, n, m, n, y, g, n]
        case .createUsers, .editUsers, .approveUsers, .resumeUsers: [y, y, n, n, n, y, n, n]
        case .suspendUsers, .endSessions: [y, y, n, y, n, y, n, n]
        case .renameUser: [y, y, n, n, n, y, o, o]
        case .deleteUsers, .restoreUsers, .linkIdentities: [y, y, n, n, n, y, n, n]
        case .unlinkIdentities: [y, y, n, n, n, y, n, o]
        case .purgeUsers: [y, n, n, n, n, n, n, n]
        // A caller who may revoke a key must also be able to find it.
        case .listKeys: [y, y, y, y, y, y, o, o]
        case .writeKeys: [y, y, y, n, n, y, o, o]
        case .revokeKeys: [y, y, y, y, n, y, o, o]
        case .verifyKeys, .signUpHook: [y, y, y, n, n, y, n, n]
        case .readOrigins, .readClients: [y, y, y, n, y, y, n, n]
        case .writeOrigins, .writeClients: [y, y, y, n, n, n, n, n]
        case .evaluate, .evaluateOrigins: [y, y, y, y, y, y, n, n]
        case .readPolicy, .readProviders: [y, y, y, n, y, n, n, n]
        case .draftPolicy: [y, y, y, n, n, n, n, n]
        case .writePolicy, .writeProviders, .editTenant: [y, y, n, n, n, n, n, n]
        case .readAudit: [y, y, o, n, y, y, n, o]
        case .readOperators, .writeOperators, .suspendTenant, .deleteTenant, .exportPeople,
            .erasePeople:
            [y, n, n, n, n, n, n, n]
        case .createTenant, .verifyDomainByAssertion, .purgeTenant, .writePlatformProviders,
            .writePlatformOrigins, .writePlatformKeys, .reportBounces:
            [y, y, n, n, n, n, n, n]
        }
    }
}
