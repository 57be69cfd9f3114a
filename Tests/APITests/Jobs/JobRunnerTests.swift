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

/// A job's rows are handled once each, whatever happens to its runners.
@Suite(.cleansUp) struct JobRunnerTests {
    @Test func `a job handles each of its rows once and says so`() async throws {
        let fixture = try await JobFixture.make(users: 105)
        let id = try await fixture.job()
        try await fixture.runner().round()
        let job = try await fixture.row(id)
        #expect(job.status == .done && job.done == 105 && job.failed == 0 && job.total == 105)
        #expect(job.finishedAt != nil && job.undoUntil != nil)
        #expect(try await fixture.named("x") == 105)
        #expect(try await fixture.rows(id, .done) == 105)
    }

    @Test func `a dry run of a job says what would happen and writes nothing`() async throws {
        let fixture = try await JobFixture.make()
        let id = try await fixture.job(isDryRun: true)
        try await fixture.runner().round()
        let job = try await fixture.row(id)
        #expect(job.status == .done && job.done == 100 && job.undoUntil == nil)
        #expect(try await fixture.named("") == 100)
    }

    @Test func `a runner that lost its lease commits nothing`() async throws {
        let fixture = try await JobFixture.make()
        let id = try await fixture.job()
        let other = fixture.runner(on: try fixture.service.replica())
        let batches = Atomic<Int>(0)
        let slow = fixture.runner(beforeBatch: { _ in
            guard batches.add(1, ordering: .relaxed).newValue == 2 else { return }
            fixture.endLeases()
            _ = try await other.slice()
        })
        try await slow.round()
        #expect(try await fixture.row(id).status == .done)
        #expect(try await fixture.named("x") == 100)
        #expect(batches.load(ordering: .relaxed) == 2)
    }

    @Test func `a batch whose connection is killed is done again by another, each row once`()
        async throws
    {
        let fixture = try await JobFixture.make()
        let id = try await fixture.job()
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        let kills = Atomic<Int>(0)
        var kind = Marking()
        kind.before = { row, change in
            guard [35, 73].contains(row), kills.add(1, ordering: .relaxed).newValue <= 2 else {
                return
            }
            let pid = try await change.query("/* test */ SELECT pg_backend_pid()").first?
                .get(0, as: Int.self)
            _ = try await administrator.read(
                "SELECT pg_terminate_backend(\(pid ?? 0)::integer), pg_sleep(0)")
        }
        for _ in 0..<2 {
            await #expect(throws: PostgresError.self) { try await fixture.runner(kind).round() }
            #expect(try await fixture.row(id).status == .running)
            fixture.endLeases()
        }
        try await fixture.runner(kind, on: try fixture.service.replica()).round()
        let job = try await fixture.row(id)
        #expect(job.status == .done && job.done == 100)
        #expect(try await fixture.named("x") == 100)
    }

    /// Each process dies before its third batch, and batches are single rows after two deaths.
    @Test func `a job goes on however often its process dies, as long as rows are done`()
        async throws
    {
        let fixture = try await JobFixture.make(users: 20)
        let id = try await fixture.job(by: try await fixture.maker())
        _ = try await fixture.scope.change(by: .system) {
            try await $0.query("/* test */ UPDATE jobs SET attempts = 2 WHERE id = \(id)")
        }
        for _ in 0..<9 {
            let batches = Atomic<Int>(0)
            let dying = fixture.runner(beforeBatch: { _ in
                guard batches.add(1, ordering: .relaxed).newValue > 2 else { return }
                throw PostgresError(.unavailable)
            })
            await #expect(throws: PostgresError.self) { try await dying.round() }
            fixture.endLeases()
        }
        #expect(try await fixture.row(id).done == 18)
        try await fixture.runner().round()
        let job = try await fixture.row(id)
        #expect(job.status == .done && job.done == 20)
    }

    @Test func `replicas that race for jobs run one of a tenant at a time, each row once`()
        async throws
    {
        let fixture = try await JobFixture.make(users: 60)
        let maker = try await fixture.maker()
        let first = try await fixture.job(by: maker)
        let second = try await fixture.job(by: maker)
        let replica = try fixture.service.replica()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<6 {
                let composition = number % 2 == 0 ? nil : replica
                group.addTask {
                    let runner = fixture.runner(
                        on: composition,
                        beforeBatch: { _ in
                            let running = try await fixture.base.count(
                                "jobs WHERE status = 'running'")
                            #expect(running <= 1)
                        })
                    try await runner.round()
                }
            }
            try await group.waitForAll()
        }
        // A runner that came when the other job was running found nothing due.
        try await fixture.runner().round()
        for id in [first, second] { #expect(try await fixture.row(id).done == 60) }
        #expect(try await fixture.named("xx") == 60)
    }

    @Test func `a batch that fails is tried again, and ends the job when it fails for good`()
        async throws
    {
        struct Broken: Error {}
        let fixture = try await JobFixture.make()
        let id = try await fixture.job()
        var kind = Marking()
        kind.before = { row, _ in if row == 51 { throw Broken() } }
        for _ in 0..<20 where try await fixture.row(id).status != .failed {
            try? await fixture.runner(kind).round()
            fixture.clock.advance(seconds: 10)
        }
        let job = try await fixture.row(id)
        #expect(job.status == .failed && job.reason == "internal_error" && job.done == 50)
        #expect(try await fixture.named("x") == 50)
    }

    @Test func `a job that storage refuses again and again fails, and does not run forever`()
        async throws
    {
        let fixture = try await JobFixture.make(users: 5)
        let id = try await fixture.job()
        let runner = fixture.runner(beforeBatch: { _ in throw StorageFailure.versionMismatch })
        for _ in 0..<20 where try await fixture.row(id).status != .failed {
            try? await runner.round()
            fixture.endLeases()
        }
        #expect(try await fixture.row(id).status == .failed)
    }

    @Test func `a stopped runner hands its job over at once`() async throws {
        let fixture = try await JobFixture.make()
        let id = try await fixture.job()
        let runner = Mutex<JobRunner?>(nil)
        let made = fixture.runner(beforeBatch: { _ in runner.withLock { $0 }?.stop() })
        runner.withLock { $0 = made }
        _ = try await made.slice()
        #expect(try await fixture.row(id).done == 20)
        try await fixture.runner(on: try fixture.service.replica()).round()
        #expect(try await fixture.row(id).status == .done)
        #expect(try await fixture.named("x") == 100)
    }
}
