import Domain
import JSON
import Postgres
import Text

/// A job: work on many rows that goes on after the response to its request.
package struct JobRow: ListedRow {
    package enum Status: String, Sendable, CaseIterable {
        case queued, running, paused, cancelled, done, failed, undone

        /// Whether the job still has work to do.
        package var isLive: Bool { [.queued, .running, .paused].contains(self) }
    }

    package var id: UUID
    package var tenant: UUID
    package var kind: String
    package var status: Status
    package var isDryRun: Bool
    /// Whether the job's effects are being undone.
    package var isUndoing: Bool
    /// The number of rows; `nil` while it is not known yet.
    package var total: Int?
    package var done: Int
    package var failed: Int
    package var undone: Int
    /// The number of rows that an undo left unchanged.
    package var kept: Int
    /// The job's settings from its request, which never change.
    package var parameters: JSONValue
    /// The progress that the job's kind stores in addition to `position`.
    package var state: JSONValue
    package var position: Int
    /// Why the job is paused (a `JobPause`) or has failed; `nil` otherwise.
    package var reason: String?
    package var attempts: Int
    package var createdByType: String
    package var createdByID: String
    package var createdByName: String
    /// The credential in whose name the job acts. Its rights are checked at each batch.
    package var maker: JobMaker
    var fence: Int
    /// The microseconds that runners have spent on the job.
    package var worked: Int
    package var version: Int
    package var createdAt: Timestamp
    package var startedAt: Timestamp?
    package var finishedAt: Timestamp?
    /// The time until which the job can be undone, exclusive; `nil` if there is nothing to undo.
    package var undoUntil: Timestamp?

    /// Seconds for which a job and its rows are kept after its end. Until then the job can be
    /// undone.
    package static let keptSeconds: Int64 = 30 * 86_400

    static let columns: SQL =
        """
        id, tenant_id, kind, status, dry_run, is_undoing, total, done, failed, undone, kept,
        parameters::text, state::text, position, reason, attempts, created_by_type, created_by_id,
        created_by_name, actor_type, actor_id, actor_name, actor_home, fence, worked_us, version,
        created_at, started_at, finished_at, undo_until
        """

    init(_ row: Row) throws(PostgresError) {
        (id, tenant, kind) = (try row.get(0), try row.get(1), try row.get(2))
        guard let status = Status(rawValue: try row.get(3)) else {
            throw PostgresError(.decoding, "status")
        }
        self.status = status
        (isDryRun, isUndoing, total) = (try row.get(4), try row.get(5), try row.get(6))
        (done, failed, undone, kept) = (
            try row.get(7), try row.get(8), try row.get(9), try row.get(10)
        )
        (parameters, state) = (try row.json(11), try row.json(12))
        (position, reason, attempts) = (try row.get(13), try row.get(14), try row.get(15))
        (createdByType, createdByID) = (try row.get(16), try row.get(17))
        createdByName = try row.get(18)
        maker = JobMaker(
            type: try row.get(19), id: try row.get(20), name: try row.get(21),
            home: try row.get(22))
        (fence, worked, version) = (try row.get(23), try row.get(24), try row.get(25))
        (createdAt, startedAt) = (try row.get(26), try row.get(27))
        (finishedAt, undoUntil) = (try row.get(28), try row.get(29))
    }

    /// The job as the target of audit events.
    var target: AuditTarget { AuditTarget("job", id, kind) }
}

/// The filters of a list of jobs.
package struct JobFilter: Sendable {
    var status: JobRow.Status?
    var kind: String?

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
    /// Returns one page of the jobs of all tenants.
    package func jobs(
        _ list: ListQuery, _ filter: JobFilter
    ) async throws(PostgresError) -> ListPage<JobRow> {
        let statement = ListStatement(columns: JobRow.columns, source: filter.source("true"))
        return try await readLagging(statement.page(list), in: nil).page(list, JobRow.init)
    }

    /// Returns the tenant of a job; `nil` if there is no such job.
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

    /// Returns the results of the rows after row number `row`, in order.
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

    /// Returns the number of the job's results. If there are more than 10,000, it counts only to
    /// 10,001.
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
    /// Creates a queued job; `addRows` adds its rows. Throws `TooManyJobs` if the tenant has
    /// reached a limit.
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

    /// Throws `TooManyJobs` if the tenant has no room for a job with this many rows. Takes a lock,
    /// so that no other transaction counts at the same time.
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

    /// Adds waiting rows, each for one object. Their numbers follow `last`, so they begin with 1 by
    /// default.
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

    /// Adds waiting rows, each with its number and its input. An empty `emailKey` means that the
    /// row names no person.
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

    /// Returns the job's row, locked for this transaction.
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

/// The limits of a tenant's jobs.
package enum JobLimits {
    /// The maximum number of jobs of a tenant that are queued, running or paused.
    package static let live = 20
    /// The maximum number of rows of a bulk action.
    package static let rows = 100_000
    /// The maximum number of rows of all jobs of a tenant together, including ended jobs that are
    /// kept for their reports. It is enough for ten imports of the largest size.
    package static let kept = 50_000_000
    /// The maximum number of rows of one batch. Each row needs a savepoint, and PostgreSQL holds
    /// only 64 savepoints of a transaction in memory.
    package static let batch = 50
}

/// The limit that the tenant has reached.
package enum TooManyJobs: Error, Sendable {
    case live
    /// All the tenant's jobs, including the new one, would have too many rows.
    case rows
}

/// The credential in whose name a job acts.
package struct JobMaker: Sendable, Equatable {
    /// The credential's type: `operator`, `key`, `user`, or `system` for a rule of the tenant's
    /// policy.
    package var type: String
    package var id: String
    package var name: String
    /// The tenant that the credential belongs to; `nil` for the platform.
    var home: UUID?

    /// The service itself. A rule of the tenant's policy acts in this name, so that the rule still
    /// acts after the person who published the policy has left.
    package static let system = JobMaker(
        type: Actor.system.type, id: Actor.system.id, name: Actor.system.name, home: nil)

    package var isSystem: Bool { self == .system }

    package init(type: String, id: String, name: String, home: UUID?) {
        self.type = type
        self.id = id
        self.name = name
        self.home = home
    }

    var actor: Actor { Actor(type: type, id: id, name: name, requestID: "", ip: nil) }
}

extension Change {
    /// Returns the current rights of a job's maker; `nil` if the credential is no longer valid. The
    /// rights cannot change until the transaction ends.
    func principal(of maker: JobMaker) async throws -> Principal? {
        // The system has no rights, so only jobs that require none can run in its name.
        if maker.isSystem { return .anyone }
        guard let id = UUID(maker.id) else { return nil }
        switch maker.type {
        case "operator": return try await operatorPrincipal(id)
        case "user":
            guard maker.home == tenant, let role = try await role(ofActive: id) else { return nil }
            return .user(id: id, role: role, tenant: tenant)
        case "key": return try await keyPrincipal(id, of: maker.home)
        default: return nil
        }
    }

    private func operatorPrincipal(_ id: UUID) async throws -> Principal? {
        let rows = try await query(
            """
            SELECT \(OperatorRow.columns) FROM operators o
            WHERE o.id = \(id) AND o.status <> 'suspended' FOR SHARE
            """)
        guard let row = try rows.first.map(OperatorRow.init) else { return nil }
        return .operator(id: id, role: row.role, tenant: row.tenant)
    }

    private func role(ofActive user: UUID) async throws -> UserRole? {
        try await query(
            """
            SELECT role FROM users WHERE tenant_id = \(tenant) AND id = \(user)
                AND status = 'active' FOR SHARE
            """
        ).first?.get(0)
    }

    private func keyPrincipal(_ id: UUID, of home: UUID?) async throws -> Principal? {
        guard let key = try await holdAPIKey(id, of: home ?? .platform)?.key, key.revokedAt == nil,
            key.ownerDeletedAt == nil, key.expiresAt.map({ now < $0 }) ?? true
        else { return nil }
        var owner = Principal.KeyOwner.platform
        switch key.owner {
        case .platform: break
        case .tenant(let tenant): owner = .tenant(tenant)
        case .user(let user):
            guard home == tenant, let role = try await role(ofActive: user) else { return nil }
            owner = .user(id: user, role: role, tenant: tenant)
        }
        return .key(id: id, owner: owner, scopes: key.scopes, limits: key.bounds.limits)
    }
}
