import Cryptography
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

/// Deletes a purged tenant for good, in several transactions, since it may have millions of rows. A
/// crash between them leaves a tenant that cannot be restored: the sweep continues. A write with
/// the platform's own credential during the very last one may leave an orphaned row; every other
/// caller is refused since the deletion.
extension Database {
    /// The most rows that one transaction deletes, well within a statement's time.
    static let tenantBatch = 5000

    enum PurgeStep: Sendable {
        /// Rows are left.
        case more
        case done
        /// Restored, or purged concurrently.
        case notDue
        /// Another replica is sweeping.
        case elsewhere
    }

    /// The confirmation of a purge: bound to the tenant as read, so that it is valid for no other
    /// and ends with the next change.
    package func purgeConfirmation(_ row: TenantRow) -> String {
        purgeConfirmation(of: "\(row.id) \(row.version)")
    }

    func purgeConfirmation(of thing: String) -> String {
        Base64URL.encode(
            SHA256.authenticate([3] + Array("purge \(thing)".utf8), key: directoryKey).prefix(16))
    }

    /// Continues until nothing is left of a tenant whose purge was begun.
    package func purgeTenant(_ tenant: UUID, by actor: Actor) async throws {
        while case .more = try await purgeStep(tenant, deletedBy: clock(), by: actor) {}
    }

    func purgeStep(
        _ tenant: UUID, deletedBy end: Timestamp, by actor: Actor, isSweep: Bool = false
    ) async throws -> PurgeStep {
        try await scope(tenant).change(by: actor) { change -> PurgeStep in
            if isSweep, try await !Self.takeSweepLock(change.transaction) { return .elsewhere }
            let found = try await change.query(
                """
                SELECT name FROM tenants WHERE id = \(tenant) AND status = 'deleted'
                    AND deleted_at <= \(end) FOR UPDATE
                """)
            guard let name: String = try found.first?.get(0) else { return .notDue }
            guard try await change.purgeRows() else { return .more }
            try await change.query("DELETE FROM tenants WHERE id = \(tenant)")
            try await change.audit(.tenantPurged, AuditTarget("tenant", tenant, name))
            return .done
        }
    }
}

extension Change {
    /// Removes and redacts rows of the tenant, up to the limit; whether none is left.
    fileprivate func purgeRows() async throws -> Bool {
        var left = Database.tenantBatch
        let tables = try await query("SELECT relation, by_tenant FROM tenant_tables()")
        for row in tables {
            let (table, isByTenant): (String, Bool) = try row.columns()
            let function: SQL = isByTenant ? "tenant_table_remove" : "coordinator_table_remove"
            left -= try await query("SELECT \(function)(\(tenant), \(table), \(left))")
                .only { row throws(PostgresError) in try row.get(0) }
            if left <= 0 { return false }
        }
        let platform = try await query("SELECT id::text FROM operators WHERE tenant_id IS NULL")
        let names = try platform.map { row throws(PostgresError) in try row.get(0, as: String.self)
        }
        let redacted: Int = try await query(
            "SELECT audit_redact_tenant(\(tenant), \(names), \(Database.tenantBatch))"
        ).only { row throws(PostgresError) in try row.get(0) }
        return redacted < Database.tenantBatch
    }

    /// From now on the tenant cannot be restored, and the sweep completes the purge: its days count
    /// as over, plus an hour, since clocks differ. The audit keeps the time of its deletion.
    package func beginPurge(_ row: TenantRow) async throws {
        try await query(
            """
            UPDATE tenants SET deleted_at = least(deleted_at,
                \(now.adding(seconds: -Retention.deleted - 3600))), version = version + 1,
                updated_at = \(now)
            WHERE id = \(tenant)
            """)
        try await audit(.tenantPurgeBegun, AuditTarget("tenant", tenant, row.name))
    }
}

extension Change {
    /// nil: no logo from now on.
    package func setLogo(_ logo: Logo?, of row: TenantRow) async throws -> TenantRow {
        let hash = logo.map { Hex.encode(SHA256.hash($0.content)) }
        guard hash != row.appearance.logo else {
            alreadyApplied()
            return row
        }
        if let logo, let hash {
            try await query(
                "SELECT directory_put_logo(\(hash), \(logo.format.rawValue), \(logo.content))")
        } else {
            try await query("SELECT directory_drop_logo()")
        }
        let rows = try await query(
            """
            UPDATE tenants SET logo_hash = \(hash), version = version + 1, updated_at = \(now)
            WHERE id = \(tenant) RETURNING \(TenantRow.columns)
            """)
        var changes = AuditChanges()
        changes.add("logo", row.appearance.logo, hash)
        try await audit(.tenantUpdated, AuditTarget("tenant", tenant, row.name), changes)
        return try rows.only(TenantRow.init)
    }
}

extension Database {
    /// The media type and the content of the logo with this SHA-256, of whichever tenant.
    package func logo(_ hash: String) async throws -> (type: String, content: [UInt8])? {
        let rows = try await app.query("SELECT media_type, content FROM directory_logo(\(hash))")
        return try rows.first.map { try ($0.get(0, as: String.self), $0.get(1, as: [UInt8].self)) }
    }
}
