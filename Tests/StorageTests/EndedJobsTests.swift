import Domain
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// Jobs go with their rows when they can no longer be undone.
@Suite(.cleansUp) struct EndedJobsTests {
    @Test func `a job goes 30 days after its end, with its rows, and not while it is undone`()
        async throws
    {
        let clock = TestClock()
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        let storage = service.storage
        let maker = JobMaker(type: "operator", id: "", name: "", home: nil)
        func make(rows: Int) async throws -> UUID {
            try await storage.scope(tenant.id).change(by: .system) { change in
                let job = try await change.createJob(
                    "users_actions", .object([]), total: rows, by: maker)
                try await change.addRows(
                    to: job.id, "user", (0..<rows).map { _ in UUID.random() })
                return job.id
            }
        }
        func cancel(_ id: UUID) async throws {
            _ = try await storage.scope(tenant.id).change(by: .system) { change in
                try await change.cancelJob(change.lockJob(id))
            }
        }
        let (old, other, live) = (
            try await make(rows: 2500), try await make(rows: 3), try await make(rows: 3)
        )
        try await cancel(old)
        clock.advance(seconds: 60)
        try await cancel(other)
        clock.advance(seconds: JobRow.keptSeconds - 30)
        var passed = PassedOver("jobs")
        #expect(try await storage.removeJobs(keptUntil: clock.now, &passed) == 1)
        let scope = storage.scope(tenant.id)
        #expect(try await scope.job(old) == nil)
        #expect(try await scope.resultCount(of: old).value == 0)
        #expect(try await scope.resultCount(of: other).value == 3)
        clock.advance(seconds: 60)
        #expect(try await storage.removeJobs(keptUntil: clock.now, &passed) == 1)
        #expect(try await scope.job(live) != nil)
    }
}
