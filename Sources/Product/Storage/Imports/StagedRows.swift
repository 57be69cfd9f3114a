import JSON
import Postgres
import Text

extension Change {
    /// The upload is complete: from now on it is the job's.
    package func giveImport(_ id: UUID, to job: UUID) async throws {
        let given = try await query(
            """
            UPDATE imports SET job_id = \(job), expires_at = NULL
            WHERE tenant_id = \(tenant) AND id = \(id) AND job_id IS NULL RETURNING id
            """)
        guard given.count == 1 else { throw StorageFailure.notFound("import") }
    }

    /// Rows, passwords and addresses of an import that has ended: `removeImports` deletes them.
    package func endImport(of job: UUID) async throws {
        try await query(
            """
            UPDATE imports SET expires_at = \(now)
            WHERE tenant_id = \(tenant) AND job_id = \(job)
            """)
    }

    /// The next rows, in their order.
    func stagedRows(of id: UUID, after row: Int, limit: Int) async throws -> [StagedRow] {
        try await query(
            """
            SELECT row, document, code, detail FROM import_rows
            WHERE tenant_id = \(tenant) AND import_id = \(id) AND row > \(row)
            ORDER BY row LIMIT \(limit)
            """
        ).all(StagedRow.init)
    }

    /// The first row of the import that has each of these keys. One probe of the index for each: the
    /// planner, whose figures of a new import are old, would else read the whole import.
    func firstRows(of id: UUID, _ keys: [Int64]) async throws -> [Int64: Int] {
        let rows = try await query(
            """
            SELECT w.key, f.row FROM unnest(\(keys)::bigint[]) AS w (key), LATERAL (
                SELECT k.row FROM import_keys k WHERE k.tenant_id = \(tenant)
                    AND k.import_id = \(id) AND k.key = w.key ORDER BY k.row LIMIT 1) AS f
            """)
        var first: [Int64: Int] = [:]
        for row in rows { first[try row.get(0, as: Int64.self)] = try row.get(1, as: Int.self) }
        return first
    }
}

extension StagedRow {
    /// Redacted: the person was purged meanwhile.
    private static let purged = ImportFault(
        "user_deleted", "The person was removed for good while the import waited.")

    init(_ found: Row) throws(PostgresError) {
        row = try found.get(0)
        if let text = try found.get(1, as: String?.self) {
            guard let document = try? JSONValue(parsing: Array(text.utf8)),
                let user = ImportedUser(document)
            else { throw PostgresError(.decoding, "document") }
            content = .success(user)
        } else if let code = try found.get(2, as: String?.self) {
            content = .failure(ImportFault(code, try found.get(3, as: String?.self) ?? ""))
        } else {
            content = .failure(Self.purged)
        }
    }
}
