import Domain

extension Call {
    /// The caller as the domain's principal, for rights that depend on the target.
    package var domainPrincipal: Domain.Principal { principal.inDomain }
}

extension Principal {
    /// `.anyone` if the role is unknown, so that a bad row gives no right.
    package var inDomain: Domain.Principal {
        guard let id else { return .anyone }
        switch kind {
        case .anonymous: return .anyone
        case .operator:
            guard let role = Operator.Role(rawValue: role) else { return .anyone }
            return .operator(id: id, role: role, tenant: tenant)
        case .user:
            guard let role = UserRole(rawValue: role), let tenant else { return .anyone }
            return .user(id: id, role: role, tenant: tenant)
        case .key:
            guard let tenant else { return .key(id: id, owner: .platform, scopes: scopes) }
            guard let user else { return .key(id: id, owner: .tenant(tenant), scopes: scopes) }
            guard let role = UserRole(rawValue: role) else { return .anyone }
            return .key(id: id, owner: .user(id: user, role: role, tenant: tenant), scopes: scopes)
        }
    }
}
