import Cryptography
import Domain
import Postgres
import Text

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
