import Cryptography
import JSON
import Postgres
import Text

/// The rows of an upload, before its job.
extension TenantScope {
    /// Seconds after which an upload without a further row counts as broken off.
    private static let idleSeconds: Int64 = 3600

    /// Begins an upload; `discardImport` or `Change.giveImport` follows.
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

    /// Removes an upload that broke off, or that is not needed: one that is a job's stays. What is left
    /// of a large one is removed with the imports that ended.
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
