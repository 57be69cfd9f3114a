import Cryptography
import Domain
import JSON
import Postgres
import Text

extension Change {
    /// Gives a complete upload to its job, so that the upload no longer expires.
    package func giveImport(_ id: UUID, to job: UUID) async throws {
        let given = try await query(
            """
            UPDATE imports SET job_id = \(job), expires_at = NULL
            WHERE tenant_id = \(tenant) AND id = \(id) AND job_id IS NULL RETURNING id
            """)
        guard given.count == 1 else { throw StorageFailure.notFound("import") }
    }

    /// Marks a job's import as ended, so that `removeImports` deletes its rows with their passwords
    /// and addresses.
    package func endImport(of job: UUID) async throws {
        try await query(
            """
            UPDATE imports SET expires_at = \(now)
            WHERE tenant_id = \(tenant) AND job_id = \(job)
            """)
    }

    /// Returns the next rows after row number `row`, in order.
    func stagedRows(of id: UUID, after row: Int, limit: Int) async throws -> [StagedRow] {
        try await query(
            """
            SELECT row, document, code, detail FROM import_rows
            WHERE tenant_id = \(tenant) AND import_id = \(id) AND row > \(row)
            ORDER BY row LIMIT \(limit)
            """
        ).all(StagedRow.init)
    }

    /// Finds the first row of the import for each of these keys. Returns the row's number for each
    /// key that occurs. LATERAL looks up each key in the index: the planner's statistics are older
    /// than a new import, so it would otherwise read the whole import.
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
    /// The fault of a row whose content was removed because the person was purged in the meantime.
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

/// Uploads, which store the rows of an import before its job exists.
extension TenantScope {
    /// Seconds without a new row after which an upload counts as abandoned.
    private static let idleSeconds: Int64 = 3600

    /// Begins an upload and returns its id. The caller must end it with `discardImport` or
    /// `Change.giveImport`.
    package func beginImport() async throws -> UUID {
        let (id, now) = (UUID.random(), database.clock())
        _ = try await write(
            """
            INSERT INTO imports (tenant_id, id, created_at, expires_at)
            VALUES (\(tenant), \(id), \(now), \(now.adding(seconds: Self.idleSeconds)))
            """)
        return id
    }

    package func stage(_ rows: [StagedRow], of id: UUID) async throws {
        guard !rows.isEmpty else { return }
        var keys: [(key: Int64, row: Int64)] = []
        var documents: [String] = []
        for row in rows {
            guard case .success(let user) = row.content else {
                documents.append("")
                continue
            }
            documents.append(String(decoding: user.document.encoded(), as: UTF8.self))
            keys += Set(user.keys).map { ($0, Int64(row.row)) }
        }
        let faults = rows.map { row in
            if case .failure(let fault) = row.content { fault } else { ImportFault("", "") }
        }
        try await write(
            """
            UPDATE imports SET expires_at = \(database.clock().adding(seconds: Self.idleSeconds))
            WHERE tenant_id = \(tenant) AND id = \(id)
            """,
            """
            INSERT INTO import_rows (tenant_id, import_id, row, email_key, document, code, detail)
                SELECT i.tenant_id, i.id, r.row, nullif(r.email_key, ''),
                    nullif(r.document, ''), nullif(r.code, ''), nullif(r.detail, '')
                FROM imports i, unnest(\(rows.map { Int64($0.row) })::bigint[],
                    \(rows.map { (try? $0.content.get())?.email.key ?? "" })::text[],
                    \(documents)::text[], \(faults.map(\.code))::text[],
                    \(faults.map(\.detail))::text[]) AS r (row, email_key, document, code, detail)
                WHERE i.tenant_id = \(tenant) AND i.id = \(id)
            """,
            """
            INSERT INTO import_keys (tenant_id, import_id, key, row)
            SELECT i.tenant_id, i.id, k.key, k.row FROM imports i,
                unnest(\(keys.map(\.key))::bigint[], \(keys.map(\.row))::bigint[]) AS k (key, row)
            WHERE i.tenant_id = \(tenant) AND i.id = \(id)
            """)
    }

    /// Removes an upload that was abandoned or is not needed; does nothing if it belongs to a job.
    /// Some rows of a large upload may be left: they are removed later, with the imports that have
    /// ended.
    package func discardImport(_ id: UUID) async throws {
        try await change(by: .system) { change in
            try await change.query(
                """
                UPDATE imports SET expires_at = \(change.now)
                WHERE tenant_id = \(tenant) AND id = \(id) AND job_id IS NULL
                """)
            _ = try await change.removeRows(ofImport: id)
        }
    }
}

extension Database {
    /// Returns the tenant's Cognito pools, followed by those of the platform.
    package func pools(near tenant: UUID) async throws(PostgresError) -> [Provider] {
        try await providers(near: tenant).compactMap(\.provider)
            .filter { $0.kind == .cognito }
            .sorted { $0.tenantID != nil && $1.tenantID == nil }
    }
}
