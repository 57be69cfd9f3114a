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
        let facts = try await importFacts(rows, by: rules, in: database)
        let schema = try await attributeSchema().schema
        var new: [ImportCandidate] = []
        for (row, verdict) in zip(rows, try await verdicts(on: rows, facts, by: rules, schema)) {
            switch verdict {
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

    /// What becomes of each row. The ids that new users take are claimed with them: one that an import
    /// into any tenant has claimed since they were read is not free.
    private func verdicts(
        on rows: [StagedRow], _ facts: ImportFacts, by rules: ImportRules, _ schema: AttributeSchema
    ) async throws -> [ImportFacts.Verdict] {
        var facts = facts
        let verdicts = rows.map { facts.verdict(on: $0, by: rules, schema) }
        let wanted = verdicts.compactMap(\.fileID)
        guard !wanted.isEmpty else { return verdicts }
        let claimed = try await query("SELECT directory_claim_ids(\(wanted))")
            .all { row throws(PostgresError) in try row.get(0, as: UUID.self) }
        guard claimed.count < wanted.count else { return verdicts }
        facts.free.subtract(Set(wanted).subtracting(claimed))
        return rows.map { facts.verdict(on: $0, by: rules, schema) }
    }
}
