import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What people, suspensions and lost rights do to a job.
@Suite(.cleansUp) struct JobStateTests {
    /// Runs `count` batches, then does `act`.
    private func interrupt(
        _ fixture: JobFixture, after count: Int, _ act: @escaping @Sendable () async throws -> Void
    ) async throws {
        let runner = fixture.runner(beforeBatch: { job in
            if job.done == count * 20 { try await act() }
        })
        try await runner.round()
    }

    @Test func `a paused job stops behind its batch, and goes on where it was`() async throws {
        let fixture = try await JobFixture.make()
        let id = try await fixture.job()
        try await interrupt(fixture, after: 2) {
            try await fixture.change(id) { try await $0.pauseJob($1) }
        }
        #expect(try await fixture.row(id).status == .paused)
        #expect(try await fixture.row(id).reason == "requested")
        try await fixture.runner().round()
        #expect(try await fixture.named("x") == 40)
        let other = try await fixture.maker(name: "other")
        try await fixture.change(id) { try await $0.resumeJob($1, by: other) }
        try await fixture.runner().round()
        let job = try await fixture.row(id)
        #expect(job.status == .done && job.maker == other && job.createdByName == "maker")
        #expect(try await fixture.named("x") == 100)
    }

    @Test func `a cancelled job keeps what is done, which can be undone`() async throws {
        let fixture = try await JobFixture.make()
        let maker = try await fixture.maker()
        let id = try await fixture.job(by: maker)
        try await interrupt(fixture, after: 3) {
            try await fixture.change(id) { try await $0.cancelJob($1) }
        }
        #expect(try await fixture.row(id).status == .cancelled)
        #expect(try await fixture.named("x") == 60)
        #expect(try await fixture.rows(id, .waiting) == 40)
        try await fixture.change(id) { try await $0.undoJob($1, by: maker) }
        try await fixture.runner().round()
        let job = try await fixture.row(id)
        #expect(job.status == .undone && job.undone == 60 && job.kept == 0)
        #expect(try await fixture.named("") == 100)
    }

    @Test func `an undo leaves rows that have changed, and goes on after a failure`() async throws {
        let fixture = try await JobFixture.make()
        let maker = try await fixture.maker()
        let id = try await fixture.job(by: maker)
        try await fixture.runner().round()
        let users = try await fixture.users()
        _ = try await fixture.scope.change(by: .system) { change in
            try await change.query(
                "/* test */ UPDATE users SET name = 'new' WHERE id = ANY (\(Array(users[3..<10])))")
        }
        try await fixture.change(id) { try await $0.undoJob($1, by: maker) }
        let cut = fixture.runner(beforeBatch: { job in
            if job.undone == 40 { throw PostgresError(.unavailable) }
        })
        await #expect(throws: PostgresError.self) { try await cut.round() }
        #expect(try await fixture.row(id).isUndoing)
        fixture.endLeases()
        try await fixture.runner().round()
        let job = try await fixture.row(id)
        #expect(job.status == .undone && job.undone == 93 && job.kept == 7 && job.done == 100)
        #expect(job.undoUntil == nil && !job.isUndoing)
        #expect(try await fixture.rows(id, .kept) == 7)
        #expect(try await fixture.named("new") == 7)
        #expect(try await fixture.named("") == 93)
    }

    @Test func `an undo is possible for 30 days, and not twice`() async throws {
        let fixture = try await JobFixture.make(users: 5)
        let maker = try await fixture.maker()
        let id = try await fixture.job(by: maker)
        try await fixture.runner().round()
        let end = fixture.clock.now
        fixture.clock.advance(seconds: 30 * 86_400 - 1)
        #expect(fixture.clock.now < end.adding(seconds: JobRow.keptSeconds))
        try await fixture.change(id) { try await $0.undoJob($1, by: maker) }
        try await fixture.runner().round()
        await #expect(throws: WrongJobState.self) {
            try await fixture.change(id) { try await $0.undoJob($1, by: maker) }
        }
        let late = try await fixture.job(by: maker)
        try await fixture.runner().round()
        fixture.clock.advance(seconds: 30 * 86_400 + 1)
        await #expect(throws: WrongJobState.self) {
            try await fixture.change(late) { try await $0.undoJob($1, by: maker) }
        }
    }

    @Test func `a job whose maker was demoted or removed pauses`() async throws {
        let fixture = try await JobFixture.make()
        let maker = try await fixture.maker()
        let id = try await fixture.job(by: maker)
        try await interrupt(fixture, after: 1) {
            _ = try await fixture.scope.change(by: .system) { change in
                try await change.query(
                    "/* test */ UPDATE operators SET role = 'auditor' WHERE id::text = \(maker.id)")
            }
        }
        var job = try await fixture.row(id)
        #expect(job.status == .paused && job.reason == "rights_lost" && job.done == 20)
        // Only who has the rights makes it go on.
        let other = try await fixture.maker(.support, name: "other")
        try await fixture.change(id) { try await $0.resumeJob($1, by: other) }
        try await interrupt(fixture, after: 3) {
            _ = try await fixture.scope.change(by: .system) { change in
                try await change.query(
                    "/* test */ DELETE FROM operators WHERE id::text = \(other.id)")
            }
        }
        job = try await fixture.row(id)
        #expect(job.status == .paused && job.reason == "rights_lost" && job.done == 60)
        #expect(try await fixture.named("x") == 60)
    }

    @Test func `a job whose key was revoked pauses`() async throws {
        let fixture = try await JobFixture.make()
        for path in ["/v1/tenants/acme/api-keys", "/v1/api-keys"] {
            let made = try await fixture.service.manage(
                .post, path, #"{"name":"k","scopes":["users:write"]}"#)
            let key = try #require(made["id"]?.string)
            let isPlatform = path == "/v1/api-keys"
            let id = try await fixture.job(
                by: JobMaker(
                    type: "key", id: key, name: "k", home: isPlatform ? nil : fixture.tenant))
            try await interrupt(fixture, after: 1) {
                try await fixture.service.manage(.post, "\(path)/\(key)/revoke", "{}")
            }
            let job = try await fixture.row(id)
            #expect(job.reason == "rights_lost" && job.done == 20, "\(path)")
            try await fixture.change(id) { try await $0.cancelJob($1) }
        }
    }

    @Test func `a suspended tenant's jobs pause, and go on when it is active again`()
        async throws
    {
        let fixture = try await JobFixture.make()
        let maker = try await fixture.maker()
        let id = try await fixture.job(by: maker)
        let next = try await fixture.job(by: maker)
        try await interrupt(fixture, after: 1) {
            try await fixture.service.manage(.post, "/v1/tenants/acme/suspend", "{}")
        }
        for job in [id, next] {
            let row = try await fixture.row(job)
            #expect(row.status == .paused && row.reason == "tenant_suspended")
        }
        #expect(try await fixture.named("x") == 20)
        try await fixture.service.manage(.post, "/v1/tenants/acme/resume", "{}")
        try await fixture.runner().round()
        for job in [id, next] { #expect(try await fixture.row(job).status == .done) }
        #expect(try await fixture.named("xx") == 100)
    }

    @Test func `each state of a job permits exactly its actions`() async throws {
        let fixture = try await JobFixture.make(users: 3)
        let maker = try await fixture.maker()
        typealias Act = @Sendable (Change, JobRow) async throws -> JobRow
        let acts: [(String, Act)] = [
            ("pause", { try await $0.pauseJob($1) }),
            ("resume", { try await $0.resumeJob($1, by: maker) }),
            ("cancel", { try await $0.cancelJob($1) }),
            ("undo", { try await $0.undoJob($1, by: maker) }),
        ]
        let permitted: [(JobRow.Status, undoing: Bool, Set<String>)] = [
            (.queued, false, ["pause", "cancel"]), (.running, false, ["pause", "cancel"]),
            (.paused, false, ["resume", "cancel"]), (.done, false, ["undo"]),
            (.cancelled, false, ["undo"]), (.failed, false, ["undo"]), (.undone, false, []),
            (.queued, true, ["pause"]), (.running, true, ["pause"]), (.paused, true, ["resume"]),
        ]
        for (status, undoing, due) in permitted {
            for (name, act) in acts {
                let id = try await fixture.job(by: maker)
                _ = try await fixture.scope.change(by: .system) { change in
                    try await change.query(
                        """
                        /* test */ UPDATE jobs SET status = \(status.rawValue),
                            is_undoing = \(undoing), undo_until = '2999-01-01' WHERE id = \(id)
                        """)
                }
                var isDone = true
                do { try await fixture.change(id, act) } catch is WrongJobState { isDone = false }
                #expect(isDone == due.contains(name), "\(name) of \(status), undoing: \(undoing)")
                _ = try await fixture.scope.change(by: .system) { change in
                    try await change.query("/* test */ DELETE FROM jobs WHERE id = \(id)")
                }
            }
        }
    }

    @Test func `a tenant has at most 20 jobs that are not done`() async throws {
        let fixture = try await JobFixture.make(users: 1)
        let maker = try await fixture.maker()
        for _ in 0..<JobLimits.live { _ = try await fixture.job(by: maker) }
        await #expect(throws: TooManyJobs.self) { _ = try await fixture.job(by: maker) }
        try await fixture.runner().round()
        _ = try await fixture.job(by: maker)
    }

    @Test func `a tenant keeps at most 50,000,000 rows of jobs`() async throws {
        let fixture = try await JobFixture.make(users: 1)
        let maker = try await fixture.maker()
        let first = try await fixture.job(by: maker)
        func keep(_ rows: Int) async throws {
            _ = try await fixture.scope.change(by: .system) {
                try await $0.query(
                    "/* test */ UPDATE jobs SET total = \(rows), status = 'done' WHERE id = \(first)"
                )
            }
        }
        try await keep(JobLimits.kept)
        await #expect(throws: TooManyJobs.rows) { _ = try await fixture.job(by: maker) }
        try await keep(JobLimits.kept - fixture.users().count)
        _ = try await fixture.job(by: maker)
    }
}
