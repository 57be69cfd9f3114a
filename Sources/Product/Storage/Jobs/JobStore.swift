import Domain
import JSON
import Postgres
import Text

/// The filters of a list of jobs.
package struct JobFilter: Sendable {
    package var status: JobRow.Status?
    package var kind: String?

    package init(status: JobRow.Status? = nil, kind: String? = nil) {
        self.status = status
        self.kind = kind
    }

    fileprivate func source(_ rows: SQL) -> SQL {
        var sql: SQL = "jobs WHERE \(rows)"
        if let status { sql += " AND status = \(status.rawValue)" }
        if let kind { sql += " AND kind = \(kind)" }
        return sql
    }
}

extension Database {
    /// The jobs of all tenants.
    package func jobs(
        _ list: ListQuery, _ filter: JobFilter
    ) async throws(PostgresError) -> ListPage<JobRow> {
        let statement = ListStatement(columns: JobRow.columns, source: filter.source("true"))
        return try await readLagging(statement.page(list), in: nil).page(list, JobRow.init)
    }

    /// Whose job it is; nil: there is none.
    package func tenant(ofJob id: UUID) async throws(PostgresError) -> UUID? {
        try await platform.read("SELECT tenant_id FROM jobs WHERE id::text = \(id.description)")
            .first?.get(0)
    }
}

extension TenantScope {
    package func jobs(
        _ list: ListQuery, _ filter: JobFilter
    ) async throws(PostgresError) -> ListPage<JobRow> {
        let statement = ListStatement(
            columns: JobRow.columns, source: filter.source("tenant_id = \(tenant)"),
            isWide: filter.status == nil && filter.kind == nil)
        return try await readLagging(statement.page(list)).page(list, JobRow.init)
    }

    package func job(_ id: UUID) async throws(PostgresError) -> JobRow? {
        let rows = try await read(
            "SELECT \(JobRow.columns) FROM jobs WHERE tenant_id = \(tenant) AND id = \(id)")
        return try rows.first.map(JobRow.init)
    }

    /// The rows behind a number, in their order.
    package func results(
        of job: UUID, after row: Int, limit: Int, status: JobResult.Status? = nil
    ) async throws(PostgresError) -> [JobResult] {
        let only: SQL = if let status { " AND status = \(status.rawValue)" } else { "" }
        return try await read(
            """
            SELECT \(JobResult.reported(in: tenant)) FROM job_rows WHERE tenant_id = \(tenant)
                AND job_id = \(job) AND row > \(row)\(only) ORDER BY row LIMIT \(limit)
            """
        ).all(JobResult.ofReport)
    }

    /// At most 10,001 are counted.
    package func resultCount(
        of job: UUID, status: JobResult.Status? = nil
    ) async throws(PostgresError) -> ListTotal {
        let only: SQL = if let status { " AND status = \(status.rawValue)" } else { "" }
        let rows = try await read(
            """
            SELECT count(*) FROM (SELECT 1 FROM job_rows WHERE tenant_id = \(tenant)
                AND job_id = \(job)\(only) LIMIT \(ListTotal.most + 1)) AS capped
            """)
        return ListTotal(counted: try rows.first?.get(0) ?? 0)
    }
}

extension Change {
    /// A job that waits for its turn; its rows follow by `addRows`. Throws `TooManyJobs`.
    package func createJob(
        _ kind: String, _ parameters: JSONValue, total: Int?, by maker: JobMaker,
        isDryRun: Bool = false, state: JSONValue? = nil
    ) async throws -> JobRow {
        try await requireRoomForJob(of: total ?? 0)
        let row = try await query(
            """
            INSERT INTO jobs (tenant_id, id, kind, dry_run, total, parameters, state,
                created_by_type, created_by_id, created_by_name, actor_type, actor_id, actor_name,
                actor_home, due_at, created_at)
            VALUES (\(tenant), \(UUID.random()), \(kind), \(isDryRun), \(total),
                \(JSONB(parameters)), \(state.map { JSONB($0) }), \(maker.type), \(maker.id),
                \(maker.name), \(maker.type), \(maker.id), \(maker.name), \(maker.home), \(now),
                \(now))
            RETURNING \(JobRow.columns)
            """
        ).only(JobRow.init)
        try await audit(.jobCreated, row.target)
        return row
    }

    /// One after another, so that no two count the same jobs.
    private func requireRoomForJob(of total: Int) async throws {
        try await query("SELECT pg_advisory_xact_lock(hashtextextended(\("jobs \(tenant)"), 0))")
        let rows = try await query(
            """
            SELECT count(*) FILTER (WHERE status IN ('queued', 'running', 'paused')),
                coalesce(sum(total), 0)::bigint
            FROM jobs WHERE tenant_id = \(tenant)
            """)
        guard let row = rows.first else { return }
        let (live, kept): (Int, Int) = try row.columns()
        guard live < JobLimits.live else { throw TooManyJobs.live }
        guard kept + total <= JobLimits.kept else { throw TooManyJobs.rows }
    }

    /// Rows that wait, numbered from 1, each about one object.
    package func addRows(
        to job: UUID, _ type: String, _ targets: [UUID], after last: Int = 0
    ) async throws {
        try await query(
            """
            INSERT INTO job_rows (tenant_id, job_id, row, status, target_type, target_id)
            SELECT anchor.id, \(job), \(last) + t.at, 'waiting', \(type), t.id
            FROM \(SQL.anchor(of: tenant)), unnest(\(targets)::uuid[]) WITH ORDINALITY AS t (id, at)
            WHERE anchor.id = \(tenant)
            """)
    }

    /// Rows that wait, each as it was asked for; `emailKey` empty: it names no person.
    package func addRows(
        to job: UUID, _ inputs: [(row: Int, emailKey: String, input: JSONValue)]
    ) async throws {
        let texts = inputs.map { String(decoding: $0.input.encoded(), as: UTF8.self) }
        try await query(
            """
            INSERT INTO job_rows (tenant_id, job_id, row, status, input, email_key)
            SELECT anchor.id, \(job), t.at, 'waiting', t.input::jsonb, nullif(t.person, '')
            FROM \(SQL.anchor(of: tenant)), unnest(\(inputs.map { Int64($0.row) })::bigint[], \(texts)::text[],
                \(inputs.map(\.emailKey))::text[]) AS t (at, input, person)
            WHERE anchor.id = \(tenant)
            """)
    }

    /// The job's row, locked for this transaction.
    package func lockJob(_ id: UUID) async throws -> JobRow {
        let rows = try await query(
            """
            SELECT \(JobRow.columns) FROM jobs WHERE tenant_id = \(tenant) AND id = \(id)
            FOR UPDATE
            """)
        guard let row = rows.first else { throw StorageFailure.notFound("job") }
        return try JobRow(row)
    }
}
