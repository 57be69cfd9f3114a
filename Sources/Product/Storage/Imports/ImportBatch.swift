import Domain
import Postgres
import Text

extension Change {
    /// One batch: what becomes of the next rows behind `position`. New users are written by one
    /// statement for each table, known ones by `update`, one by one.
    package func importBatch(
        by rules: ImportRules, after position: Int, limit: Int, in database: Database,
        update: (_ row: Int, () async throws -> JobResult) async throws -> JobResult
    ) async throws -> (results: [JobResult], isLast: Bool) {
        let rows = try await stagedRows(of: rules.id, after: position, limit: limit)
        var results: [JobResult] = []
        let facts = try await importFacts(rows, of: rules.id, in: database)
        let schema = try await attributeSchema().schema
        var new: [ImportCandidate] = []
        for row in rows {
            switch facts.verdict(on: row, by: rules, schema) {
            case .result(let result): results.append(result)
            case .create(let candidate): new.append(candidate)
            case .update(let candidate, let known):
                results.append(
                    try await update(row.row) {
                        try await updateKnown(known, from: candidate, by: rules, in: database)
                    })
            }
        }
        results += try await insertUsers(new, by: rules, schema, in: database)
        return (results.sorted { $0.row < $1.row }, rows.count < limit)
    }
}
