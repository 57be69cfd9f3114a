import Domain
import Postgres
import Text

extension Change {
    /// The rights that a job's maker has at this moment, which stay until the transaction ends; nil
    /// if the credential is no longer good.
    func principal(of maker: JobMaker) async throws -> Principal? {
        // It has no right of anybody: only a kind that asks it for none goes on.
        if maker.isSystem { return .anyone }
        guard let id = UUID(maker.id) else { return nil }
        switch maker.type {
        case "operator": return try await operatorPrincipal(id)
        case "user":
            guard maker.home == tenant, let role = try await role(ofActive: id) else { return nil }
            return .user(id: id, role: role, tenant: tenant)
        case "key": return try await keyPrincipal(id, of: maker.home)
        default: return nil
        }
    }

    private func operatorPrincipal(_ id: UUID) async throws -> Principal? {
        let rows = try await query(
            """
            SELECT \(OperatorRow.columns) FROM operators o
            WHERE o.id = \(id) AND o.status <> 'suspended' FOR SHARE
            """)
        guard let row = try rows.first.map(OperatorRow.init) else { return nil }
        return .operator(id: id, role: row.role, tenant: row.tenant)
    }

    private func role(ofActive user: UUID) async throws -> UserRole? {
        try await query(
            """
            SELECT role FROM users WHERE tenant_id = \(tenant) AND id = \(user)
                AND status = 'active' FOR SHARE
            """
        ).first?.get(0)
    }

    private func keyPrincipal(_ id: UUID, of home: UUID?) async throws -> Principal? {
        guard let key = try await holdAPIKey(id, of: home ?? .platform)?.key, key.revokedAt == nil,
            key.ownerDeletedAt == nil, key.expiresAt.map({ now < $0 }) ?? true
        else { return nil }
        var owner = Principal.KeyOwner.platform
        switch key.owner {
        case .platform: break
        case .tenant(let tenant): owner = .tenant(tenant)
        case .user(let user):
            guard home == tenant, let role = try await role(ofActive: user) else { return nil }
            owner = .user(id: user, role: role, tenant: tenant)
        }
        return .key(id: id, owner: owner, scopes: key.scopes, limits: key.bounds.limits)
    }
}
