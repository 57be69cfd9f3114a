import Postgres

extension Change {
    /// One row of many: if `body` throws, what it wrote is taken back, and the transaction goes on.
    package func savepoint<Result>(_ body: () async throws -> Result) async throws -> Result {
        queryLater("SAVEPOINT row")
        do {
            let result = try await body()
            queryLater("RELEASE SAVEPOINT row")
            return result
        } catch {
            try await query("ROLLBACK TO SAVEPOINT row")
            throw error
        }
    }
}
