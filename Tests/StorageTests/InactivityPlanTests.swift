import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// How a page of the users whom a rule for inactivity may be about is read, in a table that was never counted.
@Suite(.cleansUp) struct InactivityPlanTests {
    @Test(arguments: [500, 5000])
    func `a page reads its own users alone`(_ limit: Int) async throws {
        let service = try await TestService.make()
        let scope = service.storage.scope(try await service.makeTenant("acme").id)
        try await service.storage.addUsers(1...20000, to: scope.tenant)
        let now = service.storage.clock()
        let page = InactivityReading.page(
            of: scope.tenant, after: nil, limit: limit, activeUntil: now)
        let plan = try await scope.change(by: .system) { change in
            try await change.query("/* test */ EXPLAIN (ANALYZE, TIMING off) " + page).all {
                (row) throws(PostgresError) in try row.get(0, as: String.self)
            }
        }
        let read = plan.filter { $0.contains(" on users") }
        #expect(!read.isEmpty && read.allSatisfy { $0.contains("Index Scan using users_pkey") })
        #expect(!plan.contains { $0.contains("rows=20000") }, "\(plan.joined(separator: "\n"))")
    }
}
