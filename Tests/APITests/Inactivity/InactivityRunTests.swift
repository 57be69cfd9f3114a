import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The job of a rule for inactivity among people, replicas and crashes.
@Suite(.cleansUp) struct InactivityRunTests {
    private static let rule = #"{"suspend_days":30}"#

    /// 1,200 users of whom 60 may be suspended in a day: two batches.
    private func make() async throws -> InactivityFixture {
        let fixture = try await InactivityFixture.make()
        _ = try await fixture.users(1200)
        try await fixture.publish(Self.rule)
        fixture.advance(days: 30)
        try await fixture.service.composition.inactivity.round()
        return fixture
    }

    private func runner(
        _ fixture: InactivityFixture,
        beforeBatch: @escaping @Sendable (JobRow) async throws -> Void
    ) -> JobRunner {
        JobRunner(
            application: fixture.service.composition.application, beforeBatch: beforeBatch)
    }

    @Test func `any number of replicas make one job a day`() async throws {
        let fixture = try await make()
        let replicas = try [fixture.service.replica(), fixture.service.replica()]
        try await fixture.write("DELETE FROM inactivity_days")
        try await fixture.write("DELETE FROM jobs")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for replica in replicas { group.addTask { try await replica.inactivity.round() } }
            try await group.waitForAll()
        }
        #expect(try await fixture.jobs().count == 1)
    }

    @Test func `a job continues after the database was lost, and handles each row once`()
        async throws
    {
        let fixture = try await make()
        let cut = runner(fixture) { job in
            if job.done == 50 { throw PostgresError(.unavailable) }
        }
        await #expect(throws: PostgresError.self) { try await cut.round() }
        #expect(try await fixture.count(.suspended) == 50)
        fixture.clock.advance(seconds: Database.jobLease + 1)
        try await fixture.service.composition.jobs.round()
        #expect(try await fixture.count(.suspended) == 60)
        #expect(try await fixture.audited("user.suspended") == 60)
        let job = try #require(try await fixture.jobs().first)
        #expect(job.status == .done && job.done == 60 && job.total == 60)
    }

    @Test func `switching a rule off stops its running job`() async throws {
        let fixture = try await make()
        let stopped = runner(fixture) { job in
            guard job.done == 50 else { return }
            let ended = try await fixture.put("{}")
            #expect(ended.status == 200)
        }
        try await stopped.round()
        #expect(try await fixture.count(.suspended) == 50)
        #expect(try await fixture.jobs().first?.status == .done)
        try await fixture.run(days: 1)
        #expect(try await fixture.count(.suspended) == 50)
    }

    @Test func `another rule stops it too: its days begin anew`() async throws {
        let fixture = try await make()
        let stopped = runner(fixture) { job in
            if job.done == 50 { try await fixture.publish(#"{"suspend_days":40}"#) }
        }
        try await stopped.round()
        #expect(try await fixture.count(.suspended) == 50)
    }

    @Test func `a suspended tenant's job pauses, and finds nobody when the tenant is back`()
        async throws
    {
        let fixture = try await make()
        let stopped = runner(fixture) { job in
            guard job.done == 50 else { return }
            try await fixture.turn("suspend")
        }
        try await stopped.round()
        let paused = try #require(try await fixture.jobs().first)
        #expect(paused.status == .paused && paused.reason == "tenant_suspended")
        try await fixture.run(days: 1)
        #expect(try await fixture.count(.suspended) == 50)
        try await fixture.turn("resume")
        try await fixture.run(days: 1)
        #expect(try await fixture.jobs().first?.status == .done)
        #expect(try await fixture.count(.suspended) == 50)
    }

    @Test func `an undo resumes and restores everything that has not changed since`() async throws {
        let fixture = try await make()
        try await fixture.service.composition.jobs.round()
        let job = try #require(try await fixture.jobs().first)
        let rows = try await fixture.scope.results(of: job.id, after: 0, limit: 100)
        let ids = rows.compactMap(\.targetID)
        #expect(ids.count == 60 && rows.allSatisfy { $0.detail == "Suspended." })
        #expect(try await fixture.send(.delete, "/\(ids[0])").status == 204)
        #expect(try await fixture.send(.post, "/\(ids[1])/resume").status == 200)
        let undone = try await fixture.act("undo", on: job.id)
        #expect(undone.status == 200, "\(undone.text)")
        try await fixture.service.composition.jobs.round()
        let after = try #require(try await fixture.scope.job(job.id))
        #expect(after.status == .undone && after.undone == 58 && after.kept == 2)
        #expect(after.maker.type == "operator")
        #expect(try await fixture.count(.suspended) == 0)
        #expect(try await fixture.status(ids[0]) == .deleted)
        // A resumption is a use: nobody of them is due on the next day.
        fixture.advance(days: 29)
        #expect(try await fixture.user(ids[5]).status == .active)
        try await fixture.run()
        #expect(try await fixture.status(ids[5]) == .active)
    }

    @Test func `an undone deletion restores the suspended row, a warning cannot be undone`()
        async throws
    {
        let fixture = try await InactivityFixture.make(mails: true)
        let user = try await fixture.users(1)[0]
        try await fixture.publish(#"{"warn_days":30,"suspend_days":31,"delete_days":32}"#)
        try await fixture.run(days: 32)
        #expect(try await fixture.status(user) == .deleted)
        let jobs = try await fixture.jobs()
        #expect(jobs.count == 3)
        #expect(jobs[2].undoUntil == nil)
        #expect(try await fixture.act("undo", on: jobs[2].id).status == 409)
        #expect(try await fixture.act("undo", on: jobs[0].id).status == 200)
        try await fixture.run()
        #expect(try await fixture.status(user) == .suspended)
        // Restored by a person, the account is not the rule's any more.
        try await fixture.run(days: 60)
        #expect(try await fixture.status(user) == .suspended)
    }

    @Test func `a caller who acts on the job needs the rights, and the job itself needs none`()
        async throws
    {
        let fixture = try await make()
        let job = try #require(try await fixture.jobs().first)
        let auditor = try await fixture.operator(.auditor, fixture.tenant)
        for verb in ["pause", "cancel"] {
            let refused = try await fixture.service.send(
                .post, "/v1/tenants/acme/jobs/\(job.id)/\(verb)", as: auditor)
            #expect(refused.status == 403, "\(refused.text)")
        }
        #expect(try await fixture.act("pause", on: job.id).status == 200)
        // No other is made beside it.
        try await fixture.run(days: 2)
        #expect(try await fixture.jobs().count == 1)
        #expect(try await fixture.act("resume", on: job.id).status == 200)
        try await fixture.service.composition.jobs.round()
        let done = try #require(try await fixture.scope.job(job.id))
        #expect(done.status == .done && done.maker.type == "operator")
        #expect(try await fixture.count(.suspended) == 60)
    }

    @Test func `a job of another kind in the system's name has no rights`() async throws {
        let fixture = try await InactivityFixture.make()
        let users = try await fixture.users(2)
        let id = try await fixture.scope.change(by: .system) { change in
            let job = try await change.createJob(
                "users_actions", .object([.init("action", .string("suspend"))]), total: 2,
                by: .system)
            try await change.addRows(to: job.id, "user", users)
            return job.id
        }
        try await fixture.service.composition.jobs.round()
        let job = try #require(try await fixture.scope.job(id))
        #expect(job.status == .paused && job.reason == "rights_lost")
        #expect(try await fixture.count(.suspended) == 0)
    }

    /// The sign-in holds the row while the job waits for it; then the job asks again.
    @Test func `a user who signs in while the job runs is not suspended`() async throws {
        let fixture = try await InactivityFixture.make()
        let user = try await fixture.users(1)[0]
        try await fixture.publish(Self.rule)
        fixture.advance(days: 30)
        try await fixture.service.composition.inactivity.round()
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await fixture.scope.change(by: .system) { change in
                let session = NewSession(
                    tokenHash: [1], client: "relate", method: .oauth, seconds: 3600)
                _ = try await change.startSession(session, of: user)
                group.addTask { try await fixture.service.composition.jobs.round() }
                while try await !fixture.service.database.waitsForLock() { await Task.yield() }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.status(user) == .active)
        let job = try #require(try await fixture.jobs().first)
        #expect(job.status == .done && job.done == 0)
    }
}
