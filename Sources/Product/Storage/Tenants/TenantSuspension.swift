import Domain
import Postgres
import Text

/// The side on which an actor acts on a tenant.
package enum TenantSide: String, Sendable {
    case platform, tenant
}

/// The side that suspended a tenant: its own owner resumes only its own side's suspension. Stored
/// in the audit, in the transaction of the suspension.
extension TenantScope {
    /// Whether the last suspension was the tenant's own.
    package func isSuspendedByItself() async throws(PostgresError) -> Bool {
        try await read(Self.lastSuspension(of: tenant)).isByTenant
    }

    static func lastSuspension(of tenant: UUID) -> SQL {
        """
        SELECT changes->'suspended_by'->>1 = \(TenantSide.tenant.rawValue) FROM audit_events
        WHERE tenant_id = \(tenant) AND action = 'tenant.suspended'
        ORDER BY occurred_at DESC, id DESC LIMIT 1
        """
    }
}

extension Change {
    /// The same for a locked tenant.
    package func isSuspendedByItself() async throws(PostgresError) -> Bool {
        try await query(TenantScope.lastSuspension(of: tenant)).isByTenant
    }

    /// The platform suspends a tenant that suspended itself: from now on only the platform resumes.
    func takeOverSuspension(_ row: TenantRow, _ side: TenantSide) async throws {
        guard row.status == .suspended, side == .platform, try await isSuspendedByItself() else {
            return
        }
        var changes = AuditChanges()
        changes.add("suspended_by", TenantSide.tenant.rawValue, TenantSide.platform.rawValue)
        try await audit(.tenantSuspended, AuditTarget("tenant", tenant, row.name), changes)
    }
}

extension Rows {
    fileprivate var isByTenant: Bool {
        get throws(PostgresError) { try first?.get(0, as: Bool?.self) ?? false }
    }
}
