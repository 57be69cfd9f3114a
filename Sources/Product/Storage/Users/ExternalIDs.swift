import Postgres
import Text

/// The ids of users in the customer's own system.
extension Change {
    /// 409 `conflict` with the id of the live user, other than `row`, who has the external id.
    func requireFree(_ externalID: String?, for row: UserRow? = nil) async throws {
        guard let externalID else { return }
        let rows = try await query(
            """
            SELECT id FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND status <> 'deleted'
            """)
        guard let other: UUID = try rows.first?.get(0), other != row?.id else { return }
        throw Self.externalIDTaken(by: other)
    }

    /// The same for an id, or an address, that another transaction took since it was found free.
    func refusingTakenID(_ update: () async throws -> Rows) async throws -> Rows {
        do {
            return try await update()
        } catch let error as PostgresError where error.isUniqueViolation {
            guard error.constraint == "users_live_email" else {
                throw Self.externalIDTaken(by: nil)
            }
            throw StorageFailure.conflict(
                code: "email_taken", detail: "A user of this tenant has the address.", id: nil)
        }
    }

    private static func externalIDTaken(by user: UUID?) -> StorageFailure {
        .conflict(
            code: "conflict", detail: "Another user of this tenant has the external id.", id: user)
    }
}
