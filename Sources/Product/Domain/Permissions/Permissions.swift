import Text

package enum Permission: Sendable, Equatable {
    case allowed
    /// `missing` names the scope or the right, for the problem's detail.
    case forbidden(missing: String)
    /// The object belongs to another tenant and is hidden from this principal.
    case notFound
}

/// The object of an action, as far as rights depend on it.
package struct PermissionTarget: Sendable, Equatable {
    /// The object's owner: a user, or the actor of an audit event.
    package var ownerID: UUID?
    /// The role to give, or the role of the affected person.
    package var role: UserRole?
    package var isLastIdentity: Bool

    package init(ownerID: UUID? = nil, role: UserRole? = nil, isLastIdentity: Bool = false) {
        self.ownerID = ownerID
        self.role = role
        self.isLastIdentity = isLastIdentity
    }
}

package enum Permissions {
    /// Whether `principal` has the right in `tenant`; nil is the platform.
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

    /// The one person to whose objects the right is limited; `nil` if it is not limited.
    package static func bound(_ principal: Principal, _ right: Right) -> UUID? {
        guard let column = principal.column, PermissionTable.reach(column, right) == .own else {
            return nil
        }
        return principal.selfID
    }

    /// The rights that this principal has in its own scope, including those only over its own
    /// objects.
    package static func rights(_ principal: Principal) -> [String] {
        Right.allCases.filter {
            permits(principal, $0, in: principal.tenantID) == .allowed
                || permits(
                    principal, $0, in: principal.tenantID,
                    target: PermissionTarget(ownerID: principal.selfID)) == .allowed
        }.map(\.rawValue)
    }

    /// The widest role that this principal may give to a user, or may act on if the act gives or
    /// moves control (role, address, sign-ins, password, restoring). The principal must have every
    /// writing right of the role, except rights over own objects; a bound key covers no admin.
    /// `member` has no such right, so it is always covered. An act that only takes something away
    /// requires no role.
    package static func widestRole(_ principal: Principal, in tenant: UUID) -> UserRole {
        UserRole.allCases.last { lacking(principal, for: $0, in: tenant).isEmpty } ?? .member
    }

    /// What the principal lacks to give or act on this role: a key's scopes, a person's rights, or
    /// freedom from bounds. Empty if nothing is missing.
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

    /// The scope that a key lacks, otherwise the right that its owner lacks.
    private static func missing(_ principal: Principal, _ right: Right) -> String {
        guard case .key(_, _, let scopes, _) = principal, let scope = right.scope,
            !scopes.contains(where: { sameBytes($0, scope.rawValue) })
        else { return right.rawValue }
        return scope.rawValue
    }

    /// The widest role that this principal may give by an invite; `nil` if it may give none.
    package static func widestInvite(_ principal: Principal, in tenant: UUID) -> UserRole? {
        UserRole.allCases.last {
            permits(principal, .manageInvites, in: tenant, role: $0)
                && lacking(principal, for: $0, in: tenant).isEmpty
        }
    }

    /// Whether `principal` may decide whose sign-in leads to an account with this role. It requires
    /// the right to link, and covering the role.
    package static func mayActFor(
        _ principal: Principal, _ role: UserRole, in tenant: UUID
    ) -> Bool {
        permits(principal, .linkIdentities, in: tenant) == .allowed
            && lacking(principal, for: role, in: tenant).isEmpty
    }

    /// Whether `principal` may create a key that acts as this user, or get its secret again: the
    /// user themselves, and those who may act for the user.
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
        // The bounds of a key do not limit an operator whom the key creates.
        if limits.isBound, role == .owner || role == .admin { return false }
        // A key has no role, so its scopes must cover all rights of the role.
        return Right.allCases.allSatisfy { right in
            PermissionTable.reach(.operator(role), right) == .none
                || (tenant != nil && right.isPlatformOnly) || right.scope == nil
                || permits(principal, right, in: tenant) == .allowed
        }
    }

    /// The scopes that a key keeps when another user becomes its owner. It loses those by which it
    /// could do more than before, and those for which the new owner has no right at all. Catalogue
    /// scopes stay.
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

    /// The scopes among `asked` that this principal cannot give to a key of `tenant` (nil for the
    /// platform). A key never exceeds its issuer, also in its tenant's own catalogue.
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

    /// A key can give the catalogue scopes that it has. The platform's keys can have none; they can
    /// give what an admin of the tenant could, if they cover an admin.
    private static func mayGiveOfCatalogue(
        _ principal: Principal, _ text: String, in tenant: UUID?
    ) -> Bool {
        guard case .key(_, let owner, let own, _) = principal else { return true }
        if own.contains(where: { sameBytes($0, text) }) { return true }
        return owner == .platform && lacking(principal, for: .admin, in: tenant).isEmpty
    }
}

/// How far one right of the table reaches in one column.
package enum Reach: Sendable, Equatable {
    case none, own, all
    /// Only if the role to give, or the role of the affected person, is at most this one.
    case upTo(UserRole)
}

/// A column of the table of permissions.
package enum Column: Sendable, Hashable {
    case `operator`(Operator.Role)
    case user(UserRole)

    static let order: [Column] =
        [
            .operator(.owner), .operator(.admin), .operator(.developer), .operator(.support),
            .operator(.auditor), .user(.admin), .user(.manager), .user(.member),
        ]
}

/// The table of permissions, by right and role.
package enum PermissionTable {
    package static func reach(_ column: Column, _ right: Right) -> Reach {
        guard let at = Column.order.firstIndex(of: column) else { return .none }
        return row(right)[at]
    }

    private static func row(_ right: Right) -> [Reach] {
        let y = Reach.all
        let n = Reach.none
        let o = Reach.own
        let m = Reach.upTo(.member)
        let g = Reach.upTo(.manager)
        // own adm dev sup aud | admin manager member
        return switch right {
        case .readTenant, .readUsers, .readInvites, .readDecisions: [y, y, y, y, y, y, y, o]
        case .manageInvites: [y, y, n, m, n, y, g, n]
        case .createUsers, .editUsers, .approveUsers, .resumeUsers: [y, y, n, n, n, y, n, n]
        case .suspendUsers, .endSessions: [y, y, n, y, n, y, n, n]
        case .renameUser: [y, y, n, n, n, y, o, o]
        case .deleteUsers, .restoreUsers, .linkIdentities: [y, y, n, n, n, y, n, n]
        case .unlinkIdentities: [y, y, n, n, n, y, n, o]
        case .purgeUsers: [y, n, n, n, n, n, n, n]
        // A person who may revoke a key must be able to find it.
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
