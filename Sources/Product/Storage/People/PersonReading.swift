import Postgres
import Text

extension TenantScope {
    /// Nil if the tenant has no such user, or if it was merged into another.
    package func personRecords(of id: UUID) async throws -> (UserRow, PersonRecords)? {
        await database.writeSignIns(of: tenant)
        await database.writeKeyUses(of: tenant)
        guard let row = try await user(id) else { return nil }
        let records = try await seeingMerged { transaction in
            try await PersonRecords(of: row, isOwnOnly: false, transaction)
        }
        return (row, records)
    }

    /// Rows of one table as JSON objects: at most `limit`, behind the first `start`.
    package func rows(
        _ table: PersonTable, of records: PersonRecords, from start: Int, limit: Int
    ) async throws -> [String] {
        try await seeingMerged { transaction in
            let rows = try await transaction.query(
                table.page(records, from: start, limit: limit))
            return try rows.map { try $0.get(0, as: String.self) }
        }
    }

    /// What is held about a user: what an erasure would remove.
    package func evidence(of row: UserRow) async throws -> ErasureEvidence {
        try await seeingMerged { try await ErasureEvidence(of: row, $0) }
    }

    private func seeingMerged<Result: Sendable>(
        _ body: (Transaction) async throws -> Result
    ) async throws -> Result {
        try await database.app.transaction(
            settings: [("app.tenant", tenant.description), ("app.merged", "on")], body)
    }
}
