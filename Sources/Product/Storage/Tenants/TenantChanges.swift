import Cryptography
import Domain
import Postgres
import Text

extension Change {
    /// Reserves a name, such as a slug, for this tenant in the directory. Returns false if another
    /// tenant has the name.
    func claim(_ kind: String, _ value: String) async throws(PostgresError) -> Bool {
        let rows = try await query("SELECT directory_claim(\(kind), \(value))")
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    /// The tenant's row, locked until the transaction ends.
    package func lockTenant() async throws -> TenantRow {
        let rows = try await query(
            "SELECT \(TenantRow.columns) FROM tenants WHERE id = \(tenant) FOR UPDATE")
        return try rows.only(TenantRow.init)
    }

    /// Changes the tenant's name, external id, appearance (except the logo) and attributes to those
    /// of `new`, whose other members are ignored. Throws 409 `conflict` if another tenant has the
    /// external id, and `AttributeFaults` for invalid attributes.
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

    /// Sets the status to active, suspended or deleted. If the tenant has this status already, the
    /// row stays unchanged, and only `takeOverSuspension` is called. Throws 409 if the tenant was
    /// deleted too long ago to be restored.
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
                detail: "The tenant was deleted 30 or more days ago, or its purge has begun.",
                id: nil)
        }
        return try await updateTenant(
            row, action: action, status: status, side: status == .suspended ? side : nil)
    }

    private func updateTenant(
        _ row: TenantRow, action: AuditAction, status: Tenant.Status,
        side: TenantSide? = nil
    ) async throws -> TenantRow {
        // The time of the deletion, from which the grace period counts. A second deletion does not
        // change it.
        let deletedAt: Timestamp? = status == .deleted ? row.deletedAt ?? now : nil
        // No account could be used while the tenant was not active, so inactivity is counted from
        // now on.
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

/// Whether an actor acts on a tenant for the platform or for the tenant itself.
package enum TenantSide: String, Sendable {
    case platform, tenant
}

/// Who suspended a tenant: the platform or the tenant itself. A tenant's owner may end only a
/// suspension by the tenant itself. The side is recorded in the audit trail, in the transaction of
/// the suspension.
extension TenantScope {
    /// Whether the tenant itself, and not the platform, made the last suspension.
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
    /// Whether the tenant itself, and not the platform, made the last suspension. This is read in
    /// the transaction of this change.
    package func isSuspendedByItself() async throws(PostgresError) -> Bool {
        try await query(TenantScope.lastSuspension(of: tenant)).isByTenant
    }

    /// If the platform suspends a tenant that had suspended itself, records that only the platform
    /// can now end the suspension.
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

/// Deletes all rows of a purged tenant. This takes several transactions, since a tenant may have
/// millions of rows. If a crash comes between them, the tenant cannot be restored, and the sweep
/// continues the purge. If a caller with the platform's credential writes during the last
/// transaction, an orphaned row may remain; other callers have been refused since the deletion.
extension Database {
    /// The maximum number of rows that one transaction deletes. With so few rows, a statement never
    /// reaches its time limit.
    static let tenantBatch = 5000

    enum PurgeStep: Sendable {
        /// Rows of the tenant are left, so the purge needs a further step.
        case more
        case done
        /// The tenant need not be purged: it was restored, or purged concurrently.
        case notDue
        /// Nothing was deleted, because another replica is sweeping.
        case elsewhere
    }

    /// The token that confirms a purge. It is bound to the tenant's current version, so it becomes
    /// invalid when the tenant changes.
    package func purgeConfirmation(_ row: TenantRow) -> String {
        purgeConfirmation(of: "\(row.id) \(row.version)")
    }

    func purgeConfirmation(of thing: String) -> String {
        Base64URL.encode(
            SHA256.authenticate([3] + Array("purge \(thing)".utf8), key: directoryKey).prefix(16))
    }

    /// Deletes everything of a tenant whose purge has begun.
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
    /// Deletes and redacts rows of the tenant, at most `tenantBatch`. Returns true if none are
    /// left.
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

    /// Makes a deleted tenant impossible to restore and due for the sweep, which completes the
    /// purge. For this, sets the time of the tenant's deletion so far back that the grace period
    /// ended an hour ago. The hour allows for clocks that differ. The audit trail still has the
    /// real time.
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
    /// Sets the logo, or removes it if `logo` is nil.
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
    /// The media type and the content of the logo with this SHA-256 hash, whichever tenant it
    /// belongs to.
    package func logo(_ hash: String) async throws -> (type: String, content: [UInt8])? {
        let rows = try await app.query("SELECT media_type, content FROM directory_logo(\(hash))")
        return try rows.first.map { try ($0.get(0, as: String.self), $0.get(1, as: [UInt8].self)) }
    }
}
