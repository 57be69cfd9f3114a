import Domain
import Postgres
import Text

extension Change {
    /// Claims a name in the directory for this tenant; false if another holds it.
    func claim(_ kind: String, _ value: String) async throws(PostgresError) -> Bool {
        let rows = try await query("SELECT directory_claim(\(kind), \(value))")
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    /// Locks the tenant's row for this transaction.
    package func lockTenant() async throws -> TenantRow {
        let rows = try await query(
            "SELECT \(TenantRow.columns) FROM tenants WHERE id = \(tenant) FOR UPDATE")
        return try rows.only(TenantRow.init)
    }

    /// `new`: the row with another name, external id, appearance (but for its logo) or attributes;
    /// its other members are not read.
    /// 409 `conflict` if another tenant has the external id. Throws `AttributeFaults`.
    package func editTenant(_ row: TenantRow, to new: TenantRow) async throws -> TenantRow {
        var changes = AuditChanges()
        changes.add("name", row.name, new.name)
        changes.add("external_id", row.externalID, new.externalID)
        changes.add("appearance_name", row.appearance.name, new.appearance.name)
        changes.add("appearance_accent", row.appearance.accent, new.appearance.accent)
        changes.add(row.attributes, new.attributes)
        if changes.isEmpty {
            alreadyApplied()
            return row
        }
        if new.attributes != row.attributes { try new.attributes.requireWithinLimits() }
        let rows = try await TenantRow.refusingTakenID {
            try await query(
                """
                UPDATE tenants SET name = \(new.name), external_id = \(new.externalID),
                    appearance_name = \(new.appearance.name),
                    appearance_accent = \(new.appearance.accent),
                    public_attributes = \(new.attributes.public.text),
                    private_attributes = \(new.attributes.private.text),
                    version = version + 1, updated_at = \(now)
                WHERE id = \(tenant) RETURNING \(TenantRow.columns)
                """)
        }
        if new.externalID != row.externalID { try await claim(externalID: new.externalID) }
        try await audit(.tenantUpdated, AuditTarget("tenant", tenant, new.name), changes)
        return try rows.only(TenantRow.init)
    }

    /// `status`: active, suspended or deleted. The same status again changes nothing. 409 for a
    /// tenant that was deleted too long ago to be restored.
    package func setTenantStatus(
        _ row: TenantRow, _ status: Tenant.Status, action: AuditAction,
        by side: TenantSide = .platform
    ) async throws -> TenantRow {
        if row.status == status {
            try await takeOverSuspension(row, side)
            alreadyApplied()
            return row
        }
        if let deletedAt = row.deletedAt, now >= deletedAt.adding(seconds: Retention.deleted) {
            throw StorageFailure.conflict(
                code: "conflict",
                detail: "The tenant was deleted 30 days ago or longer, or its purge has begun.",
                id: nil)
        }
        return try await updateTenant(
            row, action: action, status: status, side: status == .suspended ? side : nil)
    }

    private func updateTenant(
        _ row: TenantRow, action: AuditAction, status: Tenant.Status,
        side: TenantSide? = nil
    ) async throws -> TenantRow {
        // The days count from the deletion: another change of a deleted tenant keeps its time.
        let deletedAt: Timestamp? = status == .deleted ? row.deletedAt ?? now : nil
        // Meanwhile no account could be used.
        let isBack = status == .active
        let rows = try await query(
            """
            UPDATE tenants SET status = \(status), deleted_at = \(deletedAt),
                inactivity_since = CASE WHEN \(isBack) AND inactivity_since IS NOT NULL
                    THEN \(now) ELSE inactivity_since END, version = version + 1, updated_at = \(now)
            WHERE id = \(tenant) RETURNING \(TenantRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("status", row.status, status)
        changes.add("suspended_by", nil, side?.rawValue)
        try await audit(action, AuditTarget("tenant", tenant, row.name), changes)
        return try rows.only(TenantRow.init)
    }
}
