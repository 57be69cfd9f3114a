import Postgres
import Synchronization
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct DatabaseClockTests {
    private static let start = Timestamp(microseconds: 1_800_000_000_000_000)

    @Test func `a clock goes by PostgreSQL's, and small differences change nothing`() {
        let told = Mutex<[Int64]>([])
        let clock = DatabaseClock(
            { Self.start }, changed: { difference in told.withLock { $0.append(difference) } })
        clock.learn(Timestamp(microseconds: Self.start.microseconds + 200_000), within: 1000)
        #expect(clock.now == Self.start)
        clock.learn(Self.start.adding(seconds: -90), within: 2_000_000)
        #expect(clock.now.microseconds == Self.start.microseconds - 90_000_000 + 1000)
        // A slow answer tells no more than its own time.
        clock.learn(Self.start.adding(seconds: -91), within: 4_000_000_000)
        #expect(clock.now.microseconds == Self.start.microseconds - 90_000_000 + 1000)
        clock.learn(Self.start, within: 1000)
        #expect(clock.now == Self.start)
        #expect(told.withLock { $0 } == [-89_999_000, 0])
    }

    @Test func `a replica whose clock is ahead learns PostgreSQL's with its first lease`()
        async throws
    {
        let database = try await TestDatabase.make()
        let postgres = database.client(as: database.app)
        let clock = DatabaseClock({ Timestamp.systemClock().adding(seconds: 90) })
        let replica = Replica(
            postgres: postgres, lease: .seconds(60), report: { clock.learn($0, within: $1) })
        replica.start()
        CleanUp.atEnd { await replica.stop() }
        while !replica.isTrusted { _ = try await postgres.query("SELECT 1") }
        let rows = try await postgres.query("SELECT clock_timestamp()")
        let theirs = try #require(rows.first).get(0, as: Timestamp.self)
        #expect(abs(clock.now.microseconds - theirs.microseconds) < 10_000_000)
    }
}
