import Domain
import Postgres
import Text

/// The rows that list one origin for one request, and the tenant's other relevant settings.
package struct CORSRows: Sendable {
    package var rows: [CORSRow] = []
    /// Nil if the request named no tenant or an unknown one.
    package var tenant: UUID?
    /// Nil if the request named no tenant or an unknown one.
    package var tenantStatus: Tenant.Status?
    package var devOrigins = false
    package var privateNetwork = false
}

extension Database {
    package enum CORSOwner: Sendable, Hashable {
        case platform
        /// An id or a slug.
        case tenant(String)
        /// The tenant of the key with this locator.
        case locator(String)
        /// Any active tenant.
        case anyone
    }

    /// One query. `listed`: the origin, and the wildcard that would cover it.
    package func origins(_ listed: [String], of holder: CORSOwner) async throws -> CORSRows {
        var id: UUID?
        var slug: String?
        var locator: String?
        var isEverywhere = false
        switch holder {
        case .platform: break
        case .tenant(let text):
            id = UUID(text)
            if id == nil { slug = text }
        case .locator(let text): locator = text
        case .anyone: isEverywhere = true
        }
        let rows = try await app.read(
            """
            SELECT * FROM origin_rows(\(id), \(slug), \(locator), \(listed), \(isEverywhere))
            """)
        var found = CORSRows()
        for row in rows {
            let tenant: UUID = try row.get(0)
            if tenant != .platform, !isEverywhere {
                let status: Tenant.Status = try row.get(1)
                // A deleted tenant counts as unknown.
                if status == .deleted { continue }
                found.tenant = tenant
                found.tenantStatus = status
                found.devOrigins = try row.get(2)
                found.privateNetwork = try row.get(3)
            }
            guard let text: String = try row.get(4, as: String?.self),
                let origin = try? Origin(configuring: text)
            else { continue }
            found.rows.append(
                CORSRow(
                    origin, credentials: try row.get(5), expiresAt: try row.get(6),
                    isEnabled: try row.get(7)))
        }
        return found
    }
}
