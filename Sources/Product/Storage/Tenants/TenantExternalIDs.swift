import Postgres
import Text

/// The ids of tenants in the platform's own system.
extension Database {
    /// 409 `conflict` with the id of the tenant, other than `tenant`, that has the external id.
    package func requireFree(_ externalID: String?, for tenant: UUID? = nil) async throws {
        guard let externalID else { return }
        let rows = try await platform.read(
            "SELECT id FROM tenants WHERE external_id = \(externalID)")
        guard let other: UUID = try rows.first?.get(0), other != tenant else { return }
        throw TenantRow.externalIDTaken(by: other)
    }
}

extension Change {
    /// Claims the id for this tenant, which gives up another one; nil: it has none.
    func claim(externalID: String?) async throws {
        let rows = try await query("SELECT directory_claim_external_id(\(externalID))")
        guard try rows.only({ row throws(PostgresError) in try row.get(0) }) else {
            throw TenantRow.externalIDTaken(by: nil)
        }
    }
}

extension TenantRow {
    /// The same for an id that another transaction took since it was found free.
    static func refusingTakenID(_ write: () async throws -> Rows) async throws -> Rows {
        do {
            return try await write()
        } catch let error as PostgresError where error.isUniqueViolation {
            throw externalIDTaken(by: nil)
        }
    }

    fileprivate static func externalIDTaken(by tenant: UUID?) -> StorageFailure {
        .conflict(code: "conflict", detail: "Another tenant has the external id.", id: tenant)
    }
}
