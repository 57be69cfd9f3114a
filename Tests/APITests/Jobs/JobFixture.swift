import API
import Domain
import Gatehouse
import JSON
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// Writes an `x` behind each user's name, so that a row that was handled twice shows.
struct Marking: JobKind {
    let name = "marking"
    var batch: Int = 20
    /// Called for each row before it is written.
    var before: @Sendable (Int, Change) async throws -> Void = { _, _ in }

    func rights(_ job: JobRow) -> [Right] { job.isUndoing ? [.restoreUsers] : [.suspendUsers] }

    func step(_ work: JobWork, _ application: Application) async throws -> JobStep {
        let rows = try await work.waiting()
        var results: [JobResult] = []
        for row in rows {
            results.append(
                try await work.row(row.row) {
                    try await before(row.row, work.change)
                    try await work.change.query(
                        """
                        UPDATE users SET name = coalesce(name, '') || 'x'
                        WHERE tenant_id = \(work.job.tenant) AND id = \(row.targetID ?? .platform)
                        """)
                    return JobResult(
                        row: row.row, .done, targetType: "user", targetID: row.targetID,
                        effect: .string("x"))
                })
        }
        return JobStep(results, isLast: rows.count < work.limit)
    }

    func undo(
        _ row: JobResult, _ work: JobWork, _ application: Application
    ) async throws -> JobResult {
        let undone = try await work.change.query(
            """
            UPDATE users SET name = NULL
            WHERE tenant_id = \(work.job.tenant) AND id = \(row.targetID ?? .platform) AND name = 'x'
            """)
        return undone.affected == 1
            ? JobResult(row: row.row, .undone)
            : JobResult(row: row.row, .kept, code: "changed", detail: "The name has changed.")
    }
}

/// A tenant with many users, and jobs that mark them.
struct JobFixture {
    let base: UserFixture
    let clock: TestClock
    var service: TestService { base.service }
    var tenant: UUID { base.tenant.id }
    var scope: TenantScope { service.storage.scope(tenant) }

    static func make(users: Int = 100) async throws -> JobFixture {
        let clock = TestClock()
        let fixture = JobFixture(base: try await UserFixture.make(clock: clock), clock: clock)
        if users > 0 { try await fixture.service.storage.addUsers(1...users, to: fixture.tenant) }
        return fixture
    }

    func runner(
        _ kind: Marking = Marking(), on composition: Composition? = nil,
        beforeBatch: @escaping @Sendable (JobRow) async throws -> Void = { _ in }
    ) -> JobRunner {
        JobRunner(
            application: (composition ?? service.composition).application,
            kinds: JobKinds([kind]), beforeBatch: beforeBatch)
    }

    func maker(_ role: Operator.Role = .owner, name: String = "maker") async throws -> JobMaker {
        let person = try await service.storage.createOperator(
            email: "\(name)@operators.example", emailKey: "\(name)@operators.example", name: name,
            role: role, tenant: tenant, passwordHash: nil, by: .system)
        return JobMaker(
            type: "operator", id: person.id.description, name: name, home: tenant)
    }

    func users() async throws -> [UUID] {
        try await scope.read(
            "SELECT id FROM users WHERE tenant_id = \(tenant) ORDER BY created_at, email_key"
        ).map { try $0.get(0) }
    }

    /// A job that marks every user.
    func job(by maker: JobMaker? = nil, isDryRun: Bool = false) async throws -> UUID {
        let maker = if let maker { maker } else { try await self.maker() }
        let users = try await users()
        return try await scope.change(by: .system) { change in
            let job = try await change.createJob(
                "marking", .object([]), total: users.count, by: maker, isDryRun: isDryRun)
            try await change.addRows(to: job.id, "user", users)
            return job.id
        }
    }

    func row(_ id: UUID) async throws -> JobRow { try #require(await scope.job(id)) }

    func change(
        _ id: UUID, _ body: @Sendable (Change, JobRow) async throws -> JobRow
    ) async throws {
        _ = try await scope.change(by: .system) { try await body($0, $0.lockJob(id)) }
    }

    /// How many users have this name.
    func named(_ name: String) async throws -> Int {
        try await base.count("users WHERE coalesce(name, '') = \(name)")
    }

    func rows(_ id: UUID, _ status: JobResult.Status) async throws -> Int {
        try await base.count("job_rows WHERE job_id = \(id) AND status = \(status.rawValue)")
    }

    /// As if each runner's process had died.
    func endLeases() { clock.advance(seconds: Database.jobLease + 1) }
}
