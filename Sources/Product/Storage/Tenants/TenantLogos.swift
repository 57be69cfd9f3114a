import Cryptography
import Domain
import Postgres
import Text

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
