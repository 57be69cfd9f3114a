import Postgres
import Runtime
import TestSupport
import Testing

@Suite(.cleansUp) struct BudgetTests {
    @Test(arguments: [(6, 1), (6, 8), (8, 1), (12, 2), (36, 8), (40, 3), (100, 16)])
    func `a plan gives out what there is, and the first loop lacks nothing`(
        limit: Int, loops: Int
    ) {
        let plan = ConnectionPlan(limit: limit, loops: loops)
        let given = plan.app + plan.lookups + plan.platform
        #expect(given.reduce(0, +) + plan.spare + 1 == limit)
        #expect(plan.spare >= 1)
        #expect(plan.app[0] == 2 && plan.lookups[0] == 1 && plan.platform[0] == 1)
        #expect(plan.app.allSatisfy { $0 == 0 || $0 == 2 })
    }

    @Test func `by default every loop has connections of its own`() {
        for loops in 1...32 {
            let plan = ConnectionPlan(limit: ConnectionPlan.standard(loops: loops), loops: loops)
            #expect((plan.app + plan.lookups + plan.platform).allSatisfy { $0 > 0 })
        }
    }

    /// How many connections a client of that name has open.
    private static func open(_ name: String, by other: Postgres) async throws -> Int {
        try await other.written(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = \(name)")
    }

    private static func counted(
        _ budget: ConnectionBudget, name: String, reserved: [Int], in database: TestDatabase
    ) -> Postgres {
        var configuration = PostgresConfiguration(conninfo: database.administrator)
        configuration.applicationName = name
        configuration.budget = budget
        configuration.growsAt = PostgresConfiguration.loadedAt
        configuration.idleTimeout = 50
        configuration.acquireTimeout = 20_000
        let postgres = Postgres(
            configuration: configuration, loops: Loops.shared, reserved: reserved)
        CleanUp.atEnd { await postgres.close() }
        return postgres
    }

    @Test func `many callers on every loop stay within the budget, and all get their turn`()
        async throws
    {
        let (other, database) = try await makeDatabase()
        let counted = Self.counted(
            ConnectionBudget(spare: 2), name: "counted", reserved: [2, 2], in: database)
        let most = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<60 {
                group.addTask(executorPreference: Loops.shared[number % 2]) {
                    try await counted.transaction {
                        _ = try await $0.query("SELECT pg_sleep(0.01)")
                        return try await $0.query(
                            """
                            SELECT count(*)::int FROM pg_stat_activity
                            WHERE application_name = 'counted'
                            """
                        )[0].get(0, as: Int.self)
                    }
                }
                group.addTask(executorPreference: Loops.shared[number % 2]) {
                    try await counted.one("SELECT 0")
                }
            }
            var most = 0
            for try await seen in group { most = max(most, seen) }
            return most
        }
        #expect(most > 2 && most <= 6)
        // What is not needed is closed: one reader of each loop stays.
        var left = most
        let clock = ContinuousClock()
        let start = clock.now
        while left > 2, clock.now - start < .seconds(10) {
            left = try await Self.open("counted", by: other)
        }
        #expect(left == 2)
    }

    @Test func `a loop without connections is served by another's`() async throws {
        let (other, database) = try await makeDatabase()
        let counted = Self.counted(
            ConnectionBudget(spare: 0), name: "guest", reserved: [2, 0], in: database)
        let seen = try await withThrowingTaskGroup(of: Int.self, returning: Int?.self) {
            group in
            group.addTask(executorPreference: Loops.shared[1]) {
                let read: Int = try await counted.one("SELECT 20")
                let written: Int = try await counted.written("SELECT 1")
                return try await counted.transaction {
                    try await $0.query("SELECT \(read + written)::int")[0].get(0, as: Int.self)
                }
            }
            return try await group.next()
        }
        #expect(seen == 21)
        #expect(try await Self.open("guest", by: other) <= 2)
    }

    @Test func `a connection that one pool does not need goes to a pool that waits`() async throws {
        let (_, database) = try await makeDatabase()
        let budget = ConnectionBudget(spare: 1)
        let one = Self.counted(budget, name: "one", reserved: [2, 0], in: database)
        let two = Self.counted(budget, name: "two", reserved: [2, 0], in: database)
        func bothAtOnce(_ postgres: Postgres) async throws -> Int {
            try await postgres.transaction { first in
                let a = try await first.query("SELECT 1::int")[0].get(0, as: Int.self)
                return try await postgres.transaction { second in
                    let b = try await second.query("SELECT 2::int")[0].get(0, as: Int.self)
                    return a + b
                }
            }
        }
        // Each needs the one spare connection for its second transaction.
        for _ in 0..<3 {
            for pool in [one, two] {
                let sum = try await bothAtOnce(pool)
                #expect(sum == 3)
            }
        }
    }
}
